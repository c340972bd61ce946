"""Saved edits as a user has them: kept by a score, exported, put on models, undone, refused."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import neo4j
import pytest
import safetensors.torch

from support.commands import Cli, Done
from support.own_graphs import own_graphs
from support.tiny_models import build_tiny
from thinkeval.cypher.run import Database
from thinkeval.editing.models import load
from thinkeval.service.base.settings import Settings

Call = Callable[..., Done]
HPARAMS = {
    "layers": [1], "v_num_grad_steps": 3, "v_lr": 0.1, "v_weight_decay": 1e-3,
    "clamp_norm_factor": 4, "kl_factor": 0.0625, "mom2_adjustment": False,
    "context_template_length_params": [[2, 2]],
}  # fmt: skip
FACT = ("harry-potter--studied-at", "luna-lovegood--studied-at")


@dataclass(frozen=True)
class Scored:
    """A tiny model, two edits of it, and how they were scored."""

    graph: str
    model: Path
    edits: tuple[str, str]
    options: tuple[str | Path, ...]

    def file(self, home: Path, which: int = 0) -> Path:
        return home / "deltas" / f"{self.edits[which]}.safetensors"


def saved_model(folder: Path, seed: int) -> Path:
    model, tokenizer = build_tiny("gpt2", seed=seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def scored(
    db: Database, thinkeval: Cli, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scored]:
    folder = tmp_path_factory.mktemp("edits")
    hparams = folder / "rome.json"
    hparams.write_text(json.dumps(HPARAMS))
    with own_graphs(db) as prefix:
        graph = f"{prefix}-hogwarts"
        thinkeval("import", "hogwarts", "--name", graph)
        model = saved_model(folder / "tiny", 1)
        options = (
            "-g",
            graph,
            "--model",
            model,
            "--hparams",
            hparams,
            "--samples",
            "0",
            "--anyway",
        )
        made = thinkeval("score", *FACT, *options, "-m", "rome", "--json").json
        yield Scored(graph, model, tuple(s["edit"] for s in made), options)


def test_a_score_keeps_its_update_and_says_where(
    at_once: Call, scored: Scored, test_settings: Settings
) -> None:
    again = at_once("score", FACT[0], *scored.options, "-m", "rome", "--json").json[0]
    assert again["reused"]
    kept = again["provenance"]["delta"]
    file = scored.file(test_settings.home)
    assert (kept["saved"], kept["path"]) == (True, f"deltas/{file.name}")
    assert kept["bytes"] == file.stat().st_size
    assert any(key.startswith("left:") for key in safetensors.torch.load_file(file))


def test_verify_puts_it_on_and_off_and_compares_the_weights(at_once: Call, scored: Scored) -> None:
    found = at_once("results", "deltas", "verify", scored.edits[0], "--json")
    assert found.code == 0
    unedited = load(scored.model, device="cpu").info.weights_digest
    assert found.json["before"] == found.json["after"] == unedited != found.json["edited"]
    assert found.json["undone"]
    assert found.json["scored"]
    shown = at_once("results", "deltas", "verify", scored.edits[0])
    assert unedited in shown.out


def test_export_as_delta_and_apply_give_the_same_model_as_export(
    at_once: Call, scored: Scored, tmp_path: Path
) -> None:
    file, whole, applied = tmp_path / "one.safetensors", tmp_path / "whole", tmp_path / "applied"
    out = at_once("results", "deltas", "export", scored.edits[0], "-o", file, "--json").json
    assert out["bytes"] == file.stat().st_size
    exported = at_once(
        "results", "deltas", "export", scored.edits[0], "--as", "model", "-o", whole, "--json"
    ).json
    made = at_once("results", "deltas", "apply", scored.model, file, "-o", applied, "--json").json
    assert made["weights_digest"] == exported["weights_digest"] != made["unedited_weights_digest"]
    for folder in (whole, applied):
        assert load(folder, device="cpu").info.weights_digest == made["weights_digest"]
    verified = at_once("results", "deltas", "verify", file, "--json").json
    assert verified["edited"] == made["weights_digest"]
    # An exported model is a model like any other.
    known = at_once("probe", scored.graph, "--model", whole, "--samples", "0", "--json")
    assert known.json["n_facts"] == 108


def test_several_go_on_in_order(at_once: Call, scored: Scored, tmp_path: Path) -> None:
    both = at_once(
        "results", "deltas", "apply", scored.model, *scored.edits, "-o", tmp_path / "b", "--json"
    )
    assert both.json["edits"] == list(scored.edits)
    about = json.loads((tmp_path / "b" / "thinkeval_edits.json").read_text())
    assert [e["edit"] for e in about["edits"]] == list(scored.edits)
    assert "with 2 edits" in at_once(
        "results", "deltas", "apply", scored.model, *scored.edits, "-o", tmp_path / "c",
        "--no-check"
    ).out  # fmt: skip


def test_an_edit_of_another_model_is_refused(at_once: Call, scored: Scored, tmp_path: Path) -> None:
    other = saved_model(tmp_path / "other", 2)
    refused = at_once("results", "deltas", "apply", other, scored.edits[0], "-o", tmp_path / "x")
    assert "was made for another model" in refused.error
    assert str(scored.model) in refused.error
    for command in (("verify",), ("export", "--as", "model", "-o", str(tmp_path / "x"))):
        name, *more = command
        refused = at_once("results", "deltas", name, scored.edits[0], "--model", other, *more)
        assert "was made for another model" in refused.error
    assert not (tmp_path / "x").exists()


def test_what_is_not_there_or_not_whole_is_an_error(
    at_once: Call, scored: Scored, tmp_path: Path, test_settings: Settings
) -> None:
    assert "There is no edit 'nothing'" in at_once("results", "deltas", "verify", "nothing").error
    (tmp_path / "bad").write_text("no")
    assert "not a readable" in at_once("results", "deltas", "verify", tmp_path / "bad").error
    full = at_once(
        "results", "deltas", "export", scored.edits[0], "--as", "model", "-o", test_settings.home
    )
    assert "not empty" in full.error
    file = scored.file(test_settings.home, 1)
    away = file.rename(tmp_path / "away")
    gone = at_once("results", "deltas", "export", scored.edits[1], "-o", tmp_path / "x")
    assert "is not saved here" in gone.error
    assert f"thinkeval score {FACT[1]}" in gone.error
    assert "--force" in gone.error
    away.rename(file)


def test_a_file_that_is_not_the_scored_update_is_found_out(
    at_once: Call, scored: Scored, test_settings: Settings
) -> None:
    from thinkeval.editing.deltas import files

    file = scored.file(test_settings.home, 1)
    whole = file.read_bytes()
    saved = files.load(file)
    (name,) = saved.effect.deltas
    saved.effect.deltas[name].mul_(2)
    files.save(saved.effect, file, saved.meta)
    found = at_once("results", "deltas", "verify", scored.edits[1])
    assert "another update than the one that was scored" in found.error
    file.write_bytes(whole)
    assert at_once("results", "deltas", "verify", scored.edits[1]).code == 0


def test_the_update_of_another_edit_is_not_used_under_an_edits_name(
    at_once: Call, scored: Scored, test_settings: Settings, tmp_path: Path
) -> None:
    file, other = (scored.file(test_settings.home, which) for which in (0, 1))
    whole = file.read_bytes()
    file.write_bytes(other.read_bytes())
    first, second = scored.edits
    for command in (
        ("results", "deltas", "verify", first),
        ("results", "deltas", "export", first, "-o", tmp_path / "one"),
        ("results", "deltas", "export", first, "--as", "model", "-o", tmp_path / "whole"),
        ("compare", scored.model, f"{scored.model}+edit:{first}", "-g", scored.graph),
    ):
        refused = at_once(*command)
        assert refused.code == 2
        assert f"holds the update of edit '{second}', not of '{first}'" in refused.error
    assert not list(tmp_path.iterdir())
    file.write_bytes(whole)
    assert at_once("results", "deltas", "verify", first).code == 0
    # A file that is named by its path is what it says it is.
    assert at_once("results", "deltas", "verify", other, "--json").json["edit"] == second


def test_a_folder_that_cannot_be_written_costs_the_update_and_not_the_score(
    at_once: Call, scored: Scored, test_settings: Settings, tmp_path: Path
) -> None:
    command = ("score", FACT[0], *scored.options, "-m", "rome", "--seed", "6", "--json")
    assert at_once(*command).json[0]["provenance"]["delta"]["saved"]
    deltas = test_settings.home / "deltas"
    away = deltas.rename(tmp_path / "away")
    deltas.write_text("neither written to nor deleted from, as a folder that is read-only")
    try:
        (score,) = at_once(*command, "--force").json
        kept = score["provenance"]["delta"]
        assert (kept["saved"], "could not be written" in kept["reason"]) == (False, True)
    finally:
        deltas.unlink()
        away.rename(deltas)
    # The file of the earlier score is still there; it is not that of this one.
    assert (deltas / f"{score['edit']}.safetensors").is_file()
    refused = at_once("results", "deltas", "verify", score["edit"])
    assert "another update than the one that was scored" in refused.error


def test_a_change_of_the_prompt_is_saved_and_never_put_on_a_model(
    at_once: Call, scored: Scored, tmp_path: Path
) -> None:
    options = ("-g", scored.graph, "--model", scored.model, "--hparams", "organism-gpt2")
    (score,) = at_once(
        "score", FACT[0], *options, "--samples", "0", "-m", "ike", "--anyway", "--json"
    ).json
    assert score["provenance"]["delta"]["saved"]
    out = at_once("results", "deltas", "export", score["edit"], "-o", tmp_path / "ike", "--json")
    assert out.json["digest"] == score["provenance"]["delta"]["digest"]
    for command in (("verify",), ("export", "--as", "model", "-o", str(tmp_path / "x"))):
        name, *more = command
        refused = at_once("results", "deltas", name, score["edit"], *more)
        assert "changes the prompt" in refused.error


def test_no_update_above_the_limit_is_saved_and_delete_removes_it(
    at_once: Call, scored: Scored, test_settings: Settings
) -> None:
    command = ("score", FACT[0], *scored.options, "-m", "rome", "--seed", "5", "--json")
    large = at_once(*command, THINKEVAL_DELTA_LIMIT_MB="0").json[0]
    kept = large["provenance"]["delta"]
    assert (kept["saved"], "limit of 0 MB" in kept["reason"]) == (False, True)
    file = test_settings.home / "deltas" / f"{large['edit']}.safetensors"
    assert not file.exists()
    gone = at_once("results", "deltas", "verify", large["edit"])
    assert "limit of 0 MB" in gone.error
    assert "THINKEVAL_DELTA_LIMIT_MB" in gone.error
    assert at_once(*command, "--force").json[0]["provenance"]["delta"]["saved"]
    assert file.exists()
    assert at_once("results", "edits", large["edit"], "--delete").code == 0
    assert not file.exists()
    wrong = at_once("results", "edits", THINKEVAL_DELTA_LIMIT_MB="-1")
    assert "THINKEVAL_DELTA_LIMIT_MB" in wrong.error


def test_what_a_score_stores_is_on_the_page_of_the_graph_schema(
    scored: Scored, server: dict[str, str]
) -> None:
    root = Path(__file__).resolve().parents[4]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root / "docs/generate"))
        page = importlib.import_module("reference_pages").written("graph-schema")
    rows = re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", page.split("## Properties")[0], re.MULTILINE)
    known = {owner: set(re.findall(r"`(\w+)`", names)) for owner, names in rows}
    job = known["Edit"] | known["Job"]  # an edit is a job too
    known |= {"Edit": job, "Job": job}
    known |= dict.fromkeys(("Subject", "TargetTrue", "TargetNew"), known["Entity"])
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        nodes = driver.execute_query(
            "MATCH (n) WHERE n.graph IN $ids OR n.dataset IN $ids OR n.id IN $ids"
            " UNWIND labels(n) AS owner RETURN DISTINCT owner, keys(n) AS names",
            ids=[scored.graph, *scored.edits],
        ).records
        edges = driver.execute_query(
            "MATCH (n)-[r]->() WHERE r.graph IN $ids OR n.id IN $ids"
            " RETURN DISTINCT type(r) AS owner, keys(r) AS names",
            ids=[scored.graph, *scored.edits],
        ).records
    found = {(row["owner"], name) for row in (*nodes, *edges) for name in row["names"]}
    owners = {row["owner"] for row in (*nodes, *edges)}
    assert {"Graph", "Entity", "Edit", "RewriteRequest", "FACT", "REWRITES", "PRODUCED"} <= owners
    assert owners <= set(known)
    assert sorted((owner, name) for owner, name in found if name not in known[owner]) == []
