"""docs/reference/methods.md: the editing methods with paper, formula and hyperparameters."""

from __future__ import annotations

import ast
import json
from importlib.resources import files
from typing import Any

from reference_pages.markdown import anchor, blocks, cell, code, docstring, inline, table
from thinkeval.editing import architectures, hparams, registry

KINDS = {
    "weights": "changes weights",
    "prompt": "puts demonstrations before the prompt",
    "control": "a control",
}


def names() -> list[str]:
    """The methods that ship with ThinkEval."""
    return [name for name in registry.names() if registry.info(name).origin == "built in"]


def page() -> str:
    """The Markdown: a table of the methods, then one section each."""
    infos = [registry.info(name) for name in names()]
    rows = [
        (f"[`{i.name}`](#{anchor(i.name)})", KINDS[i.kind], cell(i.doc), cell(i.paper))
        for i in infos
    ]
    return blocks(
        "# Editing methods",
        f"The {len(rows)} editing methods, each with its paper, what it computes, and its"
        " hyperparameters.",
        "`thinkeval model methods NAME` prints a method's hyperparameters, `--set key=value` sets"
        " one and"
        " `--hparams FILE` takes a file of them ([file formats](file-formats.md#hyperparameters))."
        " [Hyperparameters](../how-to/hyperparameters.md) tells how to find values for another"
        " model. Other packages add methods by the entry point group `thinkeval.methods`.",
        table(("Method", "Kind", "What it does", "Paper"), rows),
        f"Methods that change weights edit models of these architectures (`model_type` of the"
        f" configuration): {', '.join(map(code, architectures.names()))}. Controls and in-context"
        " editing take any decoder.",
        *map(_section, names()),
    )


def _section(name: str) -> str:
    info = registry.info(name)
    facts = [
        ("Paper", inline(info.paper)),
        ("Kind", KINDS[info.kind]),
        ("Further answers as targets (`--append-loss`)", _yes(registry.takes_objective(name))),
        ("Trained before it edits", _yes(bool(_constant(name, "NEEDS_HYPERNETWORK")))),
    ]
    return blocks(
        f"## {name}",
        docstring(_doc(name)),
        "\n".join(f"- {head}: {text}" for head, text in facts if text),
        _hyperparameters(name),
        _shipped(name),
    )


def _yes(found: bool) -> str:
    return "yes" if found else ""


def _source(name: str) -> ast.Module:
    text = (files("thinkeval.editing.methods") / f"{name}.py").read_text(encoding="utf-8")
    return ast.parse(text)


def _doc(name: str) -> str:
    return ast.get_docstring(_source(name)) or ""


def _constant(name: str, wanted: str) -> Any:
    for node in _source(name).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == wanted for each in node.targets
        ):
            return ast.literal_eval(node.value)
    return None


def _hyperparameters(name: str) -> str:
    rows = [
        (code(key), code(each.type), _default(each.default), cell(each.meaning))
        for key, each in hparams.entries(name).items()
    ]
    if not rows:
        return "It has no hyperparameters."
    return blocks("**Hyperparameters**", table(("Key", "Type", "Default", "Meaning"), rows))


def _default(text: str) -> str:
    if not text.startswith("default "):
        return text
    return code(text.removeprefix("default "))


def _shipped(name: str) -> str:
    """The values that ship, one column a model; keys that all files leave at null are left out."""
    models = hparams.available(name)
    if not models:
        return ""
    folder = files("thinkeval.editing.hparams") / name
    values = {
        model: json.loads((folder / f"{model}.json").read_text(encoding="utf-8"))
        for model in models
    }
    modules = {"layer_module_tmp", "mlp_module_tmp", "attn_module_tmp", "rewrite_module_tmp"}
    modules |= {"ln_f_module", "lm_head_module", "model_name"}
    keys = [key for key in hparams.entries(name) if key not in modules]
    rows = [
        (
            code(key),
            *(_json(values[model][key]) if key in values[model] else "" for model in models),
        )
        for key in keys
        if any(key in each for each in values.values())
    ]
    return blocks("**Values that ship, by model**", table(("Key", *map(code, models)), rows))


def _json(value: Any) -> str:
    return code(json.dumps(value, ensure_ascii=False))
