"""The cache is safe to delete while a runtime has the model in memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.editing import models
from thinkeval.editing.organism import store
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.hyperparameters import chosen_for
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit


@pytest.mark.usefixtures("hogwarts")
def test_edits_go_on_after_the_organisms_folder_is_deleted(
    runtime: Runtime, organism: RuntimeModel, tmp_path: Path
) -> None:
    shutil.copytree(organism.source, tmp_path / "organisms" / Path(organism.source).name)
    settings = runtime.settings.model_copy(update={"cache": tmp_path})
    with own_graphs(runtime.db) as prefix, Runtime(settings) as own:
        graph = hogwarts_as(own.db, f"{prefix}-hogwarts")
        rewrite = next(
            each
            for each in datasets.list_rewrites(own.db, graph)
            if each.id.startswith("harry-potter--studied-at")
        )

        def score(method: str, steps: int) -> str:
            request = ScoreRequest.of(
                rewrite=rewrite, graph=graph, model="organism:on=hogwarts", method=method,
                samples=0, overrides={"v_num_grad_steps": steps},
            )  # fmt: skip
            return score_edit(own, request).edit

        first = score("rome", 3)
        shutil.rmtree(tmp_path)
        assert score("rome", 4) != first
        assert score("memit", 3)
        model = own.model("organism:on=hogwarts", graph)
        assert model.source.startswith(str(tmp_path))
        for method in ("rome", "memit", "alphaedit", "mend"):
            assert chosen_for(own, method, model, None) == chosen_for(own, method, organism, None)


@pytest.mark.parametrize("left", ["all", "weights"])
@pytest.mark.usefixtures("hogwarts")
def test_an_organism_is_made_again_that_is_deleted_while_it_is_read(
    runtime: Runtime,
    organism: RuntimeModel,
    tmp_path: Path,
    left: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`left`: files that are there when the folder is looked at; no tokenizer when it is read."""
    folder = tmp_path / "organisms" / Path(organism.source).name
    shutil.copytree(organism.source, folder)
    asked = 0
    load = models.load

    def lose_tokenizer(*args: object, **options: object) -> object:
        nonlocal asked
        asked += 1
        (folder / "tokenizer.json").unlink(missing_ok=True)
        return load(*args, **options)

    def train_again(path: Path, *args: object) -> object:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(organism.source, path)
        monkeypatch.setattr(models, "load", load)
        return store.stored(path)

    monkeypatch.setattr(store, "_train_into", train_again)
    if left == "weights":
        (folder / "tokenizer.json").unlink()
    else:
        monkeypatch.setattr(models, "load", lose_tokenizer)
    settings = runtime.settings.model_copy(update={"cache": tmp_path})
    with Runtime(settings) as own:
        loaded = own.model("organism", "hogwarts").loaded
    assert asked == (left == "all")
    assert loaded.info.weights_digest == organism.loaded.info.weights_digest
