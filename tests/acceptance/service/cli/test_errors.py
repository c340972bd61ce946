"""Bad input on the command line: exit 2; one line with what, where, what to do; nothing stored."""

from __future__ import annotations

import copy
import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli, Done, Mine
from support.tiny_models import build_tiny
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database

Call = Callable[..., Done]
DEMO = "harry-potter--studied-at"
HOGWARTS = "Hogwarts School of Witchcraft and Wizardry"

RECORD: dict[str, Any] = {
    "case_id": 0,
    "requested_rewrite": [
        {
            "prompt": "{} studied at",
            "subject": "Ann",
            "target_true": {"str": "Harvard"},
            "target_new": {"str": "Yale"},
        }
    ],
    "chain": {
        "questions": ["Who is Ann's friend?", "Where did Bo study?"],
        "answers": ["Bo", "Harvard"],
        "prompts": ["{} is a friend of", "{} studied at"],
        "subjects": ["Ann", "Bo"],
    },
    "broader_context": {
        "questions": ["Where did Bo study?"],
        "answers": ["Harvard"],
        "prompts": ["{} studied at"],
        "subjects": ["Bo"],
    },
}
"""One record in the layout of KnowGIC."""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture(autouse=True)
def _nothing_is_stored(db: Database, mine: Mine) -> Iterator[None]:
    """Whatever fails leaves the data set alone, and no graph of anything else."""
    yield
    ours = [
        g
        for g in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)
        if g.graph.startswith(mine.prefix)
    ]
    assert {g.kind for g in ours} <= {"dataset", "model"}
    assert [g.graph for g in ours if g.kind == "dataset"] == [mine.graph]


FILES: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "truncated JSON": ("chains.json", json.dumps([RECORD])[:200], ()),
    "not text": ("chains.json", b"\xff\xfe\x00\x01", ()),
    "empty": ("chains.json", "", ()),
    "JSON of another kind": ("chains.json", '{"a": 1}', ()),
    "no record": ("chains.json", "[]", ()),
    "truncated YAML": ("graph.yaml", "Ann:\n  knows: [Bo, Cy]\nBo:\n  knows: [A", ("line",)),
    "YAML of another kind": ("graph.yaml", "- 1\n- 2\n", ()),
    "a relation without objects": ("graph.yaml", "Ann:\n  knows: {Bo: Cy}\n", ("Ann",)),
    "a key twice": ("graph.yaml", "Ann:\n  knows: [Bo]\nAnn:\n  hates: [Cy]\n", ("'Ann'",)),
    "a CSV without its columns": ("facts.csv", "a,b\n1,2\n", ()),
    "another ending": ("facts.xlsx", "PK", ()),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_bad_file_is_named(at_once: Call, mine: Mine, tmp_path: Path, kind: str) -> None:
    name, content, parts = FILES[kind]
    path = write(tmp_path, name, content)
    line = at_once("import", path, "--name", f"{mine.prefix}-bad").error
    for part in (str(path), *parts):
        assert part in line


def _without(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        inner: Any = record
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_without("requested_rewrite"), "requested_rewrite"),
        (_without("requested_rewrite", 0, "subject"), "subject"),
        (_without("requested_rewrite", 0, "target_new", "str"), "target_new"),
        (_without("chain"), "chain"),
        (_without("chain", "answers"), "answers"),
        (_without("chain", "answers", 0), "answers"),
    ],
)
def test_record_and_field_are_named(
    at_once: Call,
    mine: Mine,
    tmp_path: Path,
    change: Callable[[dict[str, Any]], None],
    field: str,
) -> None:
    broken = copy.deepcopy(RECORD)
    change(broken)
    path = write(tmp_path, "chains.json", json.dumps([RECORD, RECORD, broken]))
    line = at_once("import", path, "--name", f"{mine.prefix}-bad").error
    assert str(path) in line
    assert "record 2" in line
    assert field in line


def test_what_is_not_there_is_named(at_once: Call, tmp_path: Path) -> None:
    assert "nothing.json" in at_once("import", tmp_path / "nothing.json").error
    assert str(tmp_path) in at_once("import", tmp_path).error
    assert "'knowgic'" in at_once("import", "hogwarts", "--format", "knowgik").error


def test_other_content_of_a_name_that_is_taken(at_once: Call, mine: Mine, tmp_path: Path) -> None:
    path = write(tmp_path, "chains.json", json.dumps([RECORD]))
    assert "--replace" in at_once("import", path, "--name", mine.graph).error


ASKED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "unknown graph": (
        ("graph", "rewrites", "hogwart"),
        ("'hogwart'", "'hogwarts'", "thinkeval results graphs"),
    ),
    "unknown graph to score": (("score", "-g", "hogwart", "--all"), ("'hogwarts'",)),
    "unknown graph to delete": (("results", "graphs", "hogwart", "--delete"), ("'hogwarts'",)),
    "unknown method": (
        ("model", "methods", "rmoe"),
        ("'rmoe'", "'rome'", "thinkeval model methods"),
    ),
    "unknown metric": (("db", "queries", "metrics/irf"), ("metrics/ifr", "thinkeval db queries")),
    "unknown measure": (("results", "chains", "x", "--measure", "likelyhood"), ("likelihood",)),
    "unknown edit": (
        ("results", "chains", "rome-harry-potter-0"),
        ("rome-harry-potter-0", "edits"),
    ),
    "unknown edit to report": (("report", "nothing"), ("'nothing'", "thinkeval results edits")),
    "unknown edit to delete": (("results", "edits", "nothing", "--delete"), ("'nothing'",)),
    "unknown edit of a query": (
        ("db", "queries", "metrics/ifr", "--edit", "nothing"),
        ("'nothing'",),
    ),
    "unknown command": (("scroe",), ("scroe",)),
    "unknown option": (("results", "graphs", "--jason"), ("--jason",)),
    "no argument": (
        (
            "results",
            "chains",
        ),
        ("edit",),
    ),
    "chains of too many steps": (("results", "chains", "x", "--steps", "6"), ("--steps",)),
    "embedded commands on another's server": (("db", "stop"), ("THINKEVAL_NEO4J_URI",)),
}


@pytest.mark.usefixtures("hogwarts")
@pytest.mark.parametrize("what", ASKED)
def test_an_unknown_name_is_answered_with_what_there_is(at_once: Call, what: str) -> None:
    args, parts = ASKED[what]
    done = at_once(*args)
    for part in parts:
        assert part in done.error
    assert done.out == ""


def test_an_edit_is_suggested(at_once: Call, mine: Mine, db: Database) -> None:
    known = {e.id for e in db.read(rows.EditRow, "edits/list_edits")}
    args = ("score", DEMO, "-g", mine.graph, "--model", mine.model, "-m", "none", "--samples", "0")
    edit = at_once(*args, "--json").json[0]["edit"]
    try:
        assert f"'{edit}'" in at_once("results", "chains", f"{edit[:-1]}x").error
        assert "--measure likelihood" in at_once("results", "chains", edit, "--measure", "p").error
        assert "'xlsx'" in at_once("report", edit, "-f", "xlsx").error
        assert "/nowhere/" in at_once("report", edit, "-o", "/nowhere/table.md").error
    finally:
        if edit not in known:
            at_once("results", "edits", edit, "--delete")


SCORED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "unknown method": ((DEMO, "-m", "memt"), ("'memt'", "'memit'")),
    "unknown rewrite": (("harry-poter",), ("harry-poter", "'Harry Potter'?")),
    "a name that several go by": (("harry",), ("harry-potter--studied-at", "sorted-into")),
    "no rewrite": ((), ("--all", "--subject")),
    "a rewrite and all of them": ((DEMO, "--all"), ("--all",)),
    "unknown hyperparameter": ((DEMO, "--set", "v_lrr=1"), ("'v_lrr'", "'v_lr'")),
    "a hyperparameter without value": ((DEMO, "--set", "v_lr"), ("v_lr", "key=value")),
    "a hyperparameter that is no number": ((DEMO, "--set", "v_lr=fast"), ("v_lr",)),
    "a hyperparameter that is not YAML": ((DEMO, "--set", "v_lr=[1"), ("v_lr",)),
    "hyperparameters of an unknown name": ((DEMO, "--hparams", "gpt3"), ("gpt3",)),
    "unknown number type": ((DEMO, "--dtype", "float31"), ("float31", "float32")),
    "unknown way to ask": ((DEMO, "--ask", "song"), ("song", "cloze")),
    "negative samples": ((DEMO, "--samples", "-1"), ("samples",)),
    "too long chains": ((DEMO, "--max-steps", "6"), ("--max-steps",)),
    "unknown bare": ((DEMO, "--bare", "some"), ("some", "listed")),
    "unknown unit": ((DEMO, "--unit", "chain"), ("chain", "record")),
    "a limit that is no number": ((DEMO, "--max-ifr", "low"), ("--max-ifr",)),
    "a file for a table": ((DEMO, "-o", "scores.txt"), ("-o", "--csv")),
    "a corpus that is not there": ((DEMO, "--covariance", "no.txt"), ("no.txt", "UTF-8")),
    "a misspelt subject": (
        ("--subject", "Ron Weasly", "--relation", "studied at", "--target-true", HOGWARTS,
         "--target-new", "Beauxbatons Academy of Magic"),
        ("Ron Weasly", "Did you mean 'Ron Weasley'"),
    ),
    "a rewrite without targets": (("--subject", "Ron Weasley"), ("--target-true", "--relation")),
    "a rewrite without subject": (
        ("--relation", "studied at", "--target-true", "a", "--target-new", "b"),
        ("--subject",),
    ),
    "an unknown relation": (
        ("--subject", "Ron Weasley", "--relation", "studied", "--target-true", "a",
         "--target-new", "b"),
        ("'studied at'",),
    ),
    "a prompt without slot": (
        ("--subject", "Ron Weasley", "--prompt", "Ron studied at", "--target-true", HOGWARTS,
         "--target-new", "Durmstrang"),
        ("{}", "Ron studied at"),
    ),
    "a prompt with two slots": (
        ("--subject", "Ron Weasley", "--prompt", "{} and {} studied at", "--target-true", HOGWARTS,
         "--target-new", "Durmstrang"),
        ("{}", "exactly once"),
    ),
    "an empty target": (
        ("--subject", "Ron Weasley", "--relation", "studied at", "--target-true", HOGWARTS,
         "--target-new", ""),
        ("--target-new",),
    ),
    "a blank target": (
        ("--subject", "Ron Weasley", "--relation", "studied at", "--target-true", HOGWARTS,
         "--target-new", " "),
        ("target",),
    ),
    "a blank subject": (
        ("--subject", " ", "--relation", "studied at", "--target-true", HOGWARTS,
         "--target-new", "Durmstrang"),
        ("subject",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SCORED)
def test_a_score_that_cannot_be_taken(at_once: Call, mine: Mine, db: Database, what: str) -> None:
    args, parts = SCORED[what]
    before = {e.id for e in db.read(rows.EditRow, "edits/list_edits")}
    done = at_once("score", "-g", mine.graph, "--model", mine.model, "--seed", "9", *args)
    for part in parts:
        assert part in done.error
    assert done.out == ""
    assert {e.id for e in db.read(rows.EditRow, "edits/list_edits")} == before


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("organism:gpt2:speed=1", ("speed=1", "steps=600")),
        ("organism:bert", ("bert", "gpt2")),
        ("./no-such-folder", ("no-such-folder",)),
        ("no-such-owner/no-such-model", ("no-such-owner/no-such-model", "hub")),
    ],
)
def test_a_model_that_is_not_there(
    at_once: Call, mine: Mine, model: str, parts: tuple[str, ...]
) -> None:
    line = at_once("score", "-g", mine.graph, "--model", model, DEMO).error
    for part in parts:
        assert part in line


def saved(folder: Path, name: str, model: Any, tokenizer: Any) -> Path:
    """A model folder; without weights or tokenizer where there is none."""
    path = folder / name
    if model is not None:
        model.save_pretrained(path)
    if tokenizer is not None:
        tokenizer.save_pretrained(path)
    return path


def tiny_opt(vocabulary: int) -> Any:
    """A decoder-only model of an architecture that nobody has written an adapter for."""
    import torch
    from transformers import OPTConfig, OPTForCausalLM

    with torch.random.fork_rng(devices=[]):
        return OPTForCausalLM(
            OPTConfig(
                vocab_size=vocabulary, hidden_size=16, word_embed_proj_dim=16, ffn_dim=32,
                num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=128,
            )
        )  # fmt: skip


def test_a_model_folder_that_lacks_something(
    at_once: Call, mine: Mine, tmp_path: Path, tiny_gpt2: tuple[Any, Any]
) -> None:
    model, tokenizer = tiny_gpt2
    score = ("score", DEMO, "-g", mine.graph, "--hparams", "gpt2-xl", "--model")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "config.json" in at_once(*score, empty).error
    whole = saved(tmp_path, "whole", model, tokenizer)
    (whole / "model.safetensors").rename(tmp_path / "weights")
    line = at_once(*score, whole).error
    assert str(whole) in line
    assert "weights" in line
    cut = (tmp_path / "weights").read_bytes()[:5000]
    write(whole, "model.safetensors", cut)
    assert str(whole) in at_once(*score, whole).error
    mute = saved(tmp_path, "mute", model, None)
    assert "tokenizer" in at_once(*score, mute).error


def test_an_architecture_without_an_adapter(
    thinkeval: Cli, mine: Mine, db: Database, tmp_path: Path
) -> None:
    """In a process of its own: loading another architecture must not print anything either."""
    _, tokenizer = build_tiny("gpt2")
    path = saved(tmp_path, "opt", tiny_opt(len(tokenizer)), tokenizer)
    done = thinkeval.process(
        "score", DEMO, "-g", mine.graph, "--hparams", "gpt2-xl", "--model", path,
        "--samples", "0", code=2,
    )  # fmt: skip
    assert "opt" in done.error
    assert "editing/architectures" in done.error


def test_a_model_without_published_hyperparameters(
    at_once: Call, mine: Mine, tmp_path: Path, tiny_gpt2: tuple[Any, Any]
) -> None:
    """The suggestion is used, with a notice on the standard error and in the record."""
    path = saved(tmp_path, "mine", *tiny_gpt2)
    asked = ("score", DEMO, "-g", mine.graph, "--model", path, "-m", "fine_tuning", "--anyway",
             "--samples", "0", "--set", "num_steps=1", "--json")  # fmt: skip
    done, again = at_once(*asked), at_once(*asked)
    assert done.err.startswith("No published hyperparameters of fine_tuning for mine; used")
    (score,), (stored,) = done.json, again.json
    assert score["provenance"]["hparams_notice"] == done.err.strip()
    assert score["provenance"]["hparams"]["num_steps"] == 1
    assert (stored["edit"], stored["reused"]) == (score["edit"], True)
    assert "notice" not in at_once(*asked[:-1], "-m", "none").out


def test_a_method_without_a_file_takes_the_suggestion(
    at_once: Call, mine: Mine, tmp_path: Path, tiny_gpt2: tuple[Any, Any]
) -> None:
    path = saved(tmp_path, "mine", *tiny_gpt2)
    file = tmp_path / "tuned_ft.yaml"
    at_once("model", "hparams", "suggest", path, "-m", "fine_tuning", "-o", file)
    asked = ("-g", mine.graph, "--model", path, "-m", "fine_tuning", "-m", "rome", "--anyway",
             "--samples", "0", "--hparams", file, "--json")  # fmt: skip
    done = at_once("score", DEMO, *asked)
    assert "hyperparameters of rome for mine; used the suggestion" in done.err
    assert "of fine_tuning" not in done.err
    swept = at_once("sweep", DEMO, *asked)
    assert set(swept.json["edits"]) == {edit["edit"] for edit in done.json}
    brief = r"efficacy \S+, IFR \S+, Preservation \S+"
    assert re.search(rf"^ *[\d.]+ s  2 of 2: rome on .+, seed 0\): {brief}$", swept.err, re.M)
    line = at_once("score", DEMO, *asked, "--hparams", write(tmp_path, "kn.json", "{}")).error
    assert "kn.json has hyperparameters of none of the methods fine_tuning, rome" in line


def test_a_hyperparameter_file_is_named(at_once: Call, mine: Mine, tmp_path: Path) -> None:
    score = ("score", DEMO, "-g", mine.graph, "--model", mine.model, "--hparams")
    assert "no.json" in at_once(*score, tmp_path / "no.json").error
    assert "bad.json" in at_once(*score, write(tmp_path, "bad.json", "{")).error
    unknown = write(tmp_path, "unknown.json", '{"layer": [1]}')
    line = at_once(*score, unknown).error
    assert str(unknown) in line
    assert "'layers'" in line


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("THINKEVAL_NEO4J_URI", "bolt://127.0.0.1:{free}", "thinkeval db start"),
        ("THINKEVAL_NEO4J_URI", "postgres://127.0.0.1:1", "bolt://"),
        ("THINKEVAL_NEO4J_URI", "http://127.0.0.1:{free}", "bolt://"),
        ("THINKEVAL_NEO4J_PASSWORD", "wrong", "THINKEVAL_NEO4J_PASSWORD"),
        ("THINKEVAL_QUERY_TIMEOUT_S", "soon", "THINKEVAL_QUERY_TIMEOUT_S"),
        ("THINKEVAL_QUERY_TIMEOUT_S", "-1", "THINKEVAL_QUERY_TIMEOUT_S"),
        ("THINKEVAL_DEVICE", "tpu9", "tpu9"),
    ],
)
def test_settings_that_do_not_work_are_named(
    at_once: Call, mine: Mine, variable: str, value: str, part: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = str(taken.getsockname()[1])
    args = ("probe", mine.graph, "--model", mine.model, "--samples", "0")
    line = at_once(*args, **{variable: value.format(free=free)}).error
    assert part in line


def test_a_wrong_option_names_the_help_of_its_command(thinkeval: Cli) -> None:
    for words, help_ in (
        (("serve", "--nothing"), "thinkeval serve --help"),
        (("graph", "rules", "nothing"), "thinkeval graph rules --help"),
        (("nothing",), "thinkeval --help"),
    ):
        told = thinkeval.process(*words, code=2).error
        assert "nothing" in told
        assert told.endswith(f"See `{help_}`.")
