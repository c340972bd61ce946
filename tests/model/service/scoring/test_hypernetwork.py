"""The hypernetwork as the service keeps it: trained once, found again, never of what is scored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from support.own_graphs import hogwarts_as, own_graphs
from support.tiny_models import build_tiny
from thinkeval.cypher import rows
from thinkeval.editing import hparams as hparams_files
from thinkeval.editing.errors import HypernetworkError
from thinkeval.editing.mend import store
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.base.settings import Settings
from thinkeval.service.cli import main
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.requests import OwnRewrite
from thinkeval.service.graphs.requests import rewrites as chosen_rewrites
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring import method_inputs
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.scoring.score import score_edit

HPARAMS = {
    "layers": [1],
    "rank": 4,
    "edit_lr": -1e-3,
    "lr": 1e-3,
    "lr_lr": 1e-2,
    "batch_size": 4,
    "accumulate_bs": 1,
    "max_iters": 4,
    "val_interval": 2,
    "val_steps": 4,
    "n_locality": 2,
}


@dataclass
class Place:
    """A random tiny model on disk, a cache of the test's own, the demo graph under its own id."""

    runtime: Runtime
    graph: str
    model: str
    hparams: str
    rewrites: list[RewriteRequest]

    def request(self, rewrite: RewriteRequest | None = None, **changes: Any) -> ScoreRequest:
        values: dict[str, Any] = {
            "graph": self.graph,
            "model": self.model,
            "method": "mend",
            "hparams": self.hparams,
            "samples": 0,
            "max_steps": 1,
            "anyway": True,  # it knows nothing
        }
        return ScoreRequest.of(rewrite or self.rewrites[0], **values | changes)

    def score(self, rewrite: RewriteRequest | None = None, **changes: Any) -> Score:
        return score_edit(self.runtime, self.request(rewrite, **changes))

    def files(self) -> list[Path]:
        return sorted((self.runtime.settings.cache / "mend").glob("*.safetensors"))

    def wanted(self, held: tuple[tuple[str, str], ...] = ()) -> method_inputs.Wanted:
        model = self.runtime.model(self.model, self.graph)
        values = hparams_files.load("mend", self.hparams)
        dataset = datasets.dataset(self.runtime.db, self.graph)
        return method_inputs.wanted(self.runtime, dataset, model, values, held)


@pytest.fixture(scope="module")
def place(
    server: dict[str, str], test_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("mend")
    model, tokenizer = build_tiny("gpt2", seed=3, scale=8, n_layers=2)
    model.save_pretrained(folder / "tiny")
    tokenizer.save_pretrained(folder / "tiny")
    (folder / "mend.json").write_text(json.dumps(HPARAMS), encoding="utf-8")
    settings = test_settings.model_copy(
        update={
            "cache": folder / "cache",
            "neo4j_uri": server["THINKEVAL_NEO4J_URI"],
            "neo4j_user": server["THINKEVAL_NEO4J_USER"],
            "neo4j_password": SecretStr(server["THINKEVAL_NEO4J_PASSWORD"]),
        }
    )
    with Runtime(settings) as runtime, own_graphs(runtime.db) as prefix:
        graph = hogwarts_as(runtime.db, f"{prefix}-hogwarts")
        rewrites = datasets.list_rewrites(runtime.db, graph)
        yield Place(runtime, graph, str(folder / "tiny"), str(folder / "mend.json"), rewrites)


@pytest.fixture(scope="module")
def first(place: Place) -> Score:
    return place.score()


def test_a_score_trains_the_hypernetwork_and_leaves_the_model(place: Place, first: Score) -> None:
    loaded = place.runtime.model(place.model, place.graph).loaded
    assert weights_digest(loaded.model) == loaded.info.weights_digest
    assert [path.stem.split("-")[-1] for path in place.files()] == [
        first.provenance["hypernetwork"]
    ]
    about = store.about(place.files()[0])
    assert about.weights_digest == loaded.info.weights_digest
    assert about.graph == place.graph
    assert about.steps == 4
    assert set(about.before) == set(about.after) == {"loss", "edit", "locality", "efficacy"}
    assert about.key == place.wanted().key


def test_it_is_found_again_by_every_rewrite(place: Place, first: Score) -> None:
    before = [path.stat().st_mtime_ns for path in place.files()]
    second = place.score(place.rewrites[1])
    assert second.provenance["hypernetwork"] == first.provenance["hypernetwork"]
    assert [path.stat().st_mtime_ns for path in place.files()] == before
    again = place.score()
    assert (again.edit, again.reused) == (first.edit, True)


def test_no_rewrite_of_the_graph_is_among_its_facts(place: Place, first: Score) -> None:
    trained = {(f.subject, f.relation) for f in place.wanted().facts}
    facts = datasets.stored_graph(place.runtime.db, place.graph).facts
    everything = {(f.subject, f.relation) for f in facts}
    assert everything - trained == {(r.subject, r.relation) for r in place.rewrites}


OWN = OwnRewrite(
    subject="Draco Malfoy",
    relation="studied at",
    target_true="Hogwarts School of Witchcraft and Wizardry",
    target_new="Durmstrang Institute",
)


def test_a_rewrite_of_ones_own_is_held_out_too(place: Place, first: Score) -> None:
    mine = chosen_rewrites(place.runtime.db, place.graph, [], OWN, everything=False)[0]
    score = place.score(mine)
    assert score.provenance["hypernetwork"] != first.provenance["hypernetwork"]
    assert score.provenance["hypernetwork"] in {p.stem.split("-")[-1] for p in place.files()}
    held = place.wanted(((mine.subject, mine.relation),))
    assert score.provenance["hypernetwork"] == held.key
    left_out = set(place.wanted().facts) - set(held.facts)
    assert {(f.subject, f.relation) for f in left_out} == {("Draco Malfoy", "studied at")}


def test_a_seed_of_training_is_another_hypernetwork_and_edit(place: Place, first: Score) -> None:
    other = place.score(overrides={"train_seed": 1})
    assert other.edit != first.edit
    assert other.provenance["hypernetwork"] != first.provenance["hypernetwork"]


def test_a_named_archive_is_used_and_is_part_of_the_edit(place: Place, first: Score) -> None:
    path = next(p for p in place.files() if first.provenance["hypernetwork"] in p.name)
    score = place.score(overrides={"archive": str(path)})
    assert score.provenance["hypernetwork"] == f"file {store.file_digest(path)}"
    assert score.edit != first.edit
    mine, theirs = (s.get("efficacy", "likelihood") for s in (score, first))
    assert mine is not None
    assert theirs is not None
    assert mine.value == theirs.value


def test_an_archive_of_another_model_is_refused_before_anything_is_recorded(
    place: Place, tmp_path: Path
) -> None:
    network, about = store.load(place.files()[0])
    path = tmp_path / "other.safetensors"
    store.save(network, store.About(**{**vars_of(about), "weights_digest": "0" * 64}), path)
    known = place.runtime.db.read(rows.EditRow, "edits/list_edits", dataset=place.graph)
    with pytest.raises(HypernetworkError, match="another model") as caught:
        place.score(overrides={"archive": str(path)})
    assert "thinkeval model train-mend" in caught.value.remedy
    assert place.runtime.db.read(rows.EditRow, "edits/list_edits", dataset=place.graph) == known


def vars_of(about: store.About) -> dict[str, Any]:
    return {name: getattr(about, name) for name in store.About.__dataclass_fields__}


def test_a_large_model_is_told_the_command(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method_inputs, "SMALL", 1000)
    mine = chosen_rewrites(
        place.runtime.db,
        place.graph,
        [],
        OwnRewrite("Viktor Krum", "studied at", None, "Durmstrang Institute", "Gryffindor"),
        everything=False,
    )[0]
    with pytest.raises(HypernetworkError, match="no hypernetwork is stored") as caught:
        place.score(mine, overrides={"rank": 3})
    command = (
        f"thinkeval model train-mend {place.graph} --model {place.model} --set rank=3 --hparams"
    )
    assert command in caught.value.remedy
    assert '--subject "Viktor Krum" --relation "studied at"' in caught.value.remedy


def test_the_command_trains_and_finds(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = place.runtime.settings
    secret = settings.neo4j_password
    monkeypatch.setenv("THINKEVAL_CACHE", str(settings.cache))
    monkeypatch.setenv("THINKEVAL_NEO4J_URI", settings.neo4j_uri or "")
    monkeypatch.setenv("THINKEVAL_NEO4J_USER", settings.neo4j_user)
    monkeypatch.setenv("THINKEVAL_NEO4J_PASSWORD", secret.get_secret_value() if secret else "")
    words = ["model", "train-mend", place.graph, "--model", place.model, "--hparams", place.hparams]
    told = []
    for extra in (["--set", "train_seed=7"], ["--set", "train_seed=7"]):
        with pytest.raises(SystemExit) as ended:
            main.main([*words, *extra, "--json"])
        assert ended.value.code == 0
        told.append(json.loads(capsys.readouterr().out))
    assert [t["from cache"] for t in told] == [False, True]
    assert told[0]["file"] == told[1]["file"]
    assert store.about(told[0]["file"]).seed == 7
    assert told[0]["facts trained on"] == len(place.wanted().facts)
    with pytest.raises(SystemExit) as ended:
        main.main([*words, "--subject", "Viktor Krum"])
    assert ended.value.code == 2
    assert "belong together" in capsys.readouterr().err
