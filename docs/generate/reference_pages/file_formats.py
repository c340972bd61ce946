"""docs/reference/file-formats.md: the files that ThinkEval reads and writes."""

from __future__ import annotations

import ast
from importlib.resources import files
from pathlib import Path

from reference_pages.markdown import anchor, blocks, cell, code, docstring, inline, table
from thinkeval.loaders.formats import formats

MORE: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    "Rules": (
        "`thinkeval graph rules add`",
        ("loaders/rules_yaml.py", "loaders/rule_records.py"),
        "yaml",
        "If-Then rules written by hand, as YAML.",
    ),
    "Knowledge sets": (
        "`thinkeval lab depedit import` and `export`",
        ("loaders/depedit.py", "loaders/depedit_records.py", "loaders/depedit_published.py"),
        "text",
        "DepEdit's JSONL: one knowledge set a line.",
    ),
    "Hyperparameters": (
        "`--hparams FILE`",
        (
            "editing/hparams/yaml_file.py",
            "editing/hparams/__init__.py",
            "editing/hparams/published.py",
        ),
        "text",
        "Hyperparameters of one method, as YAML or JSON.",
    ),
    "Saved edits": (
        "`thinkeval results deltas export`, `apply`, `verify`",
        ("editing/deltas/files.py", "editing/deltas/export.py"),
        "text",
        "The update of an edit with its provenance, as safetensors.",
    ),
    "Layouts of a grown graph": (
        "`thinkeval graph grow export`",
        ("service/growth/export.py",),
        "text",
        "KnowGIC's records of chains, and tables for a spreadsheet.",
    ),
}
"""Files besides the data sets: command, modules whose docstrings describe it, language, summary."""

TITLES = {
    "graph_yaml": "Graph (YAML)",
    "triples": "Tables and triples",
    "knowgic": "KnowGIC",
    "counterfact": "CounterFact",
    "zsre": "zsRE",
    "peak": "PEAK",
    "mquake": "MQuAKE",
    "knowedit": "KnowEdit",
    "easyedit_results": "EasyEdit results",
    "ripple_edits": "RippleEdits",
    "tofu": "TOFU",
    "rwku": "RWKU",
    "hallu_edit_bench": "HalluEditBench",
    "lre": "LRE relations",
}

LANGUAGE = {"graph_yaml": "yaml", "lre": "json"}


def page() -> str:
    """The Markdown: data sets by format, then the other files."""
    found = formats()
    order = sorted(found, key=lambda key: (list(TITLES).index(key) if key in TITLES else 99, key))
    rows = [
        (f"[{_title(key)}](#{anchor(_title(key))})", code(key), cell(found[key].summary))
        for key in order
    ]
    rows += [(f"[{title}](#{anchor(title)})", "", inline(each[3])) for title, each in MORE.items()]
    return blocks(
        "# File formats",
        f"The {len(found)} formats of data sets that `thinkeval import` reads, and the other files"
        " that ThinkEval reads and writes.",
        "The format of a data set is recognised from the file; `--format KEY` names it. Every merge"
        " and repair is reported, and a record that cannot be used is refused with its place and"
        " reason. `thinkeval import PATH` and *Data* in the web UI read the same files.",
        "Records in JSON are one list, JSON lines (`.jsonl` or `.json`), or the only list of an"
        ' object, as in `{"data": [...]}`.',
        table(("Format", "Key", "Content"), rows),
        *(_format(key, found[key].options) for key in order),
        *(_other(title) for title in MORE),
    )


def _title(key: str) -> str:
    return TITLES.get(key, key)


def _doc(path: str) -> str:
    room, _, rest = path.partition("/")
    text = Path(str(files(f"thinkeval.{room}") / rest)).read_text(encoding="utf-8")
    doc = ast.get_docstring(ast.parse(text)) or ""
    return doc.removesuffix("Frozen records in plain Python.")


def _format(key: str, options: tuple[str, ...]) -> str:
    named = ", ".join(code(f"--{each.replace('_', '-')}") for each in options)
    return blocks(
        f"## {_title(key)}",
        docstring(_doc(f"loaders/{key}.py"), LANGUAGE.get(key, "text")),
        f"Options of the import: {named}." if named else "",
    )


def _other(title: str) -> str:
    command, paths, language, _ = MORE[title]
    return blocks(
        f"## {title}",
        f"Read or written by {command}.",
        *(docstring(_doc(path), language) for path in paths),
    )
