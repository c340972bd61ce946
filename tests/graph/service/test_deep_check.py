"""`doctor --deep`: each kind of damage is made, and found by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from support.stored_edits import random_facts, store_edit
from thinkeval.cypher.run import Database
from thinkeval.editing.covariance import Covariance
from thinkeval.editing.covariance import files as covariances
from thinkeval.editing.covariance.statistics import Source
from thinkeval.editing.deltas import EditEffect, files
from thinkeval.editing.organism.report import RecallReport
from thinkeval.loaders.records import digest
from thinkeval.service.base.database import silent
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments import deep
from thinkeval.service.experiments.deep import Finding, examine
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.plan import query_digests


@pytest.fixture
def mine(test_settings: Settings, tmp_path: Path) -> Settings:
    return test_settings.model_copy(update={"home": tmp_path / "home", "cache": tmp_path / "cache"})


def saved(mine: Settings, name: str, value: float = 1.0) -> str:
    effect = EditEffect(deltas={"layer.weight": torch.full((3, 4), value)})
    meta = files.DeltaMeta(weights_digest="w", method="rome", edit=name)
    return files.save(effect, mine.home / "deltas" / f"{name}.safetensors", meta)


def stored(db: Database, mine: Settings, prefix: str, name: str) -> str:
    edit = f"{prefix}-{name}"
    about = {"saved": True, "digest": saved(mine, edit)}
    provenance = {"delta": about, "queries": query_digests()}
    store_edit(db, edit, random_facts(0), dataset=prefix, provenance=provenance)
    return edit


def found(db: Database, mine: Settings) -> dict[str, Finding]:
    return {each.check: each for each in examine(db, mine, silent)}


def test_damage_of_a_users_data_is_found_and_left(
    db: Database, graph_id: str, mine: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deep, "_NAMED", 10**6)  # edits of other tests have other homes
    datasets.store(db, datasets.read("hogwarts", name=graph_id))
    whole, bad, other, gone, wrong, cut = (
        stored(db, mine, graph_id, name)
        for name in ("whole", "bad", "other", "gone", "wrong", "cut")
    )
    before = found(db, mine)
    assert graph_id not in "".join(each.found for each in before.values())
    deltas = mine.home / "deltas"
    path = deltas / f"{bad}.safetensors"
    body = bytearray(path.read_bytes())
    body[-3] ^= 1
    path.write_bytes(body)
    saved(mine, other, 2.0)
    (deltas / f"{gone}.safetensors").unlink()
    saved(mine, f"{graph_id}-nobody")
    with db._session("WRITE") as session:
        session.run(
            "MATCH ()-[f:FACT {graph: $edit}]->() SET f.likelihood_post = 0.5", edit=wrong
        ).consume()
        session.run(
            "MATCH ()-[f:FACT {graph: $edit, role: 'fact'}]->() REMOVE f.likelihood_post",
            edit=cut,
        ).consume()
        session.run(
            "MATCH (g:Graph {id: $edit}) CREATE (h:Graph {id: $id})"
            " SET h += g {.kind, .dataset, .complete, .created_at}",
            edit=whole, id=f"{graph_id}-unrecorded",
        ).consume()  # fmt: skip
    files_before = {each: each.read_bytes() for each in deltas.iterdir()}
    after = found(db, mine)
    updates = after["saved updates"]
    assert not updates.ok
    assert f"1 damaged: {bad}" in updates.found
    assert f"1 other than the scored ones: {other}" in updates.found
    assert f"{graph_id}-nobody" in after["updates without an edit"].found
    lacking = after["edits whose update is gone"].found
    assert [each for each in (whole, bad, other, gone, wrong, cut) if each in lacking] == [gone]
    assert f"{wrong}: " in after["metrics of edits"].found
    assert f"{cut}: " in after["metrics of edits"].found
    assert f"{graph_id}-unrecorded" in after["graphs without an edit"].found
    for name in ("saved updates", "updates without an edit", "edits whose update is gone",
                 "metrics of edits", "graphs without an edit"):  # fmt: skip
        assert (after[name].ok, bool(after[name].remedy)) == (False, True)
    assert whole not in updates.found
    assert {each: each.read_bytes() for each in deltas.iterdir()} == files_before


def test_damaged_files_of_the_cache_are_deleted_and_whole_ones_stay(
    db: Database, mine: Settings
) -> None:
    folder = mine.cache / "covariance"
    source = Source("w", "texts", "float32", 0)
    for name, value in (("good", 1.0), ("nan", float("nan")), ("cut", 1.0)):
        matrix = torch.full((4, 4), value)
        covariances.save(Covariance({"m": matrix}, source, 10), folder / f"{name}.safetensors")
    cut = folder / "cut.safetensors"
    cut.write_bytes(cut.read_bytes()[:-8])
    recall = RecallReport(1, 1, 1.0, 1.0, None, 1.0, None, None, None)
    for name in ("whole", "bad", "unread"):
        place = mine.cache / "organisms" / name
        place.mkdir(parents=True)
        (place / "config.json").write_text("{" if name == "bad" else "{}")
        (place / "tokenizer.json").write_text("{}")
        (place / "model.safetensors").write_bytes((folder / "good.safetensors").read_bytes())
        (place / "recall.json").write_text(json.dumps({"recall": recall.as_dict(), "seconds": 1.0}))
    (mine.cache / "organisms" / "unread" / "recall.json").write_text("{}")
    (mine.cache / "organisms" / ".being-written.partial").mkdir()
    (mine.cache / "chat").mkdir()
    (mine.cache / "chat" / "a.json").write_text('{"a": ')
    (mine.cache / "templates").mkdir()
    (mine.cache / "templates" / "b.json").write_text("{")
    groups = [["{}"], ["A text. {}"]]
    for name, kept in (("c", digest(groups)), ("other", digest([["{}"]]))):
        about = json.dumps({"templates": groups, "digest": kept})
        (mine.cache / "templates" / f"{name}.json").write_text(about)
    (mine.cache / "own-samples").mkdir()
    for name, texts in (("d", [[1, 2]]), ("flipped", [[1, 3]])):
        about = {"start": [0], "texts": texts} | {
            "digest": digest({"start": [0], "texts": [[1, 2]]})
        }
        (mine.cache / "own-samples" / f"{name}.json").write_text(json.dumps(about))
    (mine.cache / "mend").mkdir()  # a file of tensors, but no hypernetwork
    (mine.cache / "mend" / "e.safetensors").write_bytes((folder / "good.safetensors").read_bytes())
    after = found(db, mine)
    assert after["covariances"].found.startswith("3 checked, 2 damaged and deleted: cut")
    assert [path.name for path in folder.iterdir()] == ["good.safetensors"]
    assert after["organisms"].found == "3 checked, 2 damaged and deleted: bad, unread"
    assert (mine.cache / "organisms" / ".being-written.partial").is_dir()
    assert after["chosen chat modes"].found == "1 checked, 1 damaged and deleted: a.json"
    assert after["context templates"].found == (
        "3 checked, 2 damaged and deleted: b.json, other.json"
    )
    assert after["texts of models"].found == "2 checked, 1 damaged and deleted: flipped.json"
    assert after["MEND editors"].found == "1 checked, 1 damaged and deleted: e.safetensors"
    assert all(after[name].ok for name in ("covariances", "organisms", "chosen chat modes"))
    again = found(db, mine)
    assert again["covariances"].found == "1 checked"
    assert again["organisms"].found == "1 checked"
