"""Models of equal weights with other rotary positions: nothing stored of one serves the other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import SecretStr

from support.edit_methods import HPARAMS
from support.own_graphs import hogwarts_as, own_graphs
from support.tiny_models import build_tiny
from thinkeval.editing import covariance as collected
from thinkeval.editing import hparams as hparams_files
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.covariance import Covariance
from thinkeval.editing.errors import CovarianceError, DeltaError, HypernetworkError
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.datasets import Dataset
from thinkeval.service.scoring import deltas, method_inputs
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit
from thinkeval.service.states.opened import load_state
from thinkeval.service.states.spec import StateIn

MEND = {
    "layers": [1], "rank": 4, "edit_lr": -1e-3, "lr": 1e-3, "lr_lr": 1e-2, "batch_size": 4,
    "accumulate_bs": 1, "max_iters": 2, "val_interval": 2, "val_steps": 2, "n_locality": 2,
}  # fmt: skip
LAYERS = [1]


@dataclass
class Twins:
    """Two copies of a tiny Llama, of which the second has another `rope_theta`."""

    runtime: Runtime
    dataset: Dataset
    one: Path
    other: Path

    def model(self, folder: Path) -> RuntimeModel:
        return self.runtime.model(str(folder), self.dataset)

    def covariance(self, folder: Path, text: str | None = None) -> Covariance:
        model = self.model(folder)
        corpus = method_inputs.resolve(self.runtime, self.dataset, text, model, LAYERS)
        found = method_inputs.covariance_of(self.runtime, corpus, model, LAYERS)
        assert found is not None
        return found

    def request(self, folder: Path, method: str, **options: object) -> ScoreRequest:
        rewrite = datasets.list_rewrites(self.runtime.db, self.dataset.id)[0]
        return ScoreRequest.of(
            rewrite, graph=self.dataset.id, model=str(folder), method=method,
            samples=0, max_steps=1, anyway=True, **options,
        )  # fmt: skip


@pytest.fixture(scope="module")
def twins(
    server: dict[str, str], test_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Twins]:
    folder = tmp_path_factory.mktemp("twins")
    for part in build_tiny("llama", seed=3, scale=8):
        part.save_pretrained(folder / "one")
    shutil.copytree(folder / "one", folder / "other")
    config = json.loads((folder / "other" / "config.json").read_text())
    config["rope_parameters"] |= {"rope_theta": 3.0}
    (folder / "other" / "config.json").write_text(json.dumps(config))
    settings = test_settings.model_copy(
        update={
            "home": folder / "home",
            "cache": folder / "cache",
            "neo4j_uri": server["THINKEVAL_NEO4J_URI"],
            "neo4j_user": server["THINKEVAL_NEO4J_USER"],
            "neo4j_password": SecretStr(server["THINKEVAL_NEO4J_PASSWORD"]),
        }
    )
    with Runtime(settings) as runtime, own_graphs(runtime.db) as prefix:
        dataset = datasets.dataset(runtime.db, hogwarts_as(runtime.db, f"{prefix}-hogwarts"))
        found = Twins(runtime, dataset, folder / "one", folder / "other")
        infos = [found.model(each).loaded.info for each in (found.one, found.other)]
        assert infos[0].weights_digest == infos[1].weights_digest
        yield found


def test_a_collected_covariance_is_not_that_of_the_other(twins: Twins) -> None:
    # Of the same texts: each model has own samples of its own.
    one, other = twins.covariance(twins.one, "graph"), twins.covariance(twins.other, "graph")
    assert one.digest != other.digest
    (module,) = one
    assert not torch.allclose(one[module], other[module], rtol=1e-3)
    loaded = twins.model(twins.other).loaded
    lines = method_inputs.resolve(
        twins.runtime, twins.dataset, "graph", twins.model(twins.other), LAYERS
    ).source
    fresh = collected.collect(loaded.model, loaded.tokenizer, lines, LAYERS)  # pyrefly: ignore
    assert torch.allclose(other[module], fresh[module], rtol=1e-5)


def test_an_imported_covariance_is_not_that_of_the_other(twins: Twins, tmp_path: Path) -> None:
    module, _, weight = adapter_for(twins.model(twins.one).loaded.model).mlp_out(1)
    name = weight.removesuffix(".weight")
    keys = np.random.default_rng(0).normal(size=(99, module.in_features)).astype(np.float32)
    file = tmp_path / f"{name}_float32_mom2_100.npz"
    np.savez(file, **{"mom2.mom2": keys.T @ keys, "mom2.count": 99, "sample_size": 9})
    method_inputs.import_published(
        twins.runtime, twins.dataset.id, str(twins.one), file, None, "float32"
    )
    assert list(twins.covariance(twins.one, "imported")) == [name]
    with pytest.raises(CovarianceError, match="no statistics"):
        twins.covariance(twins.other, "imported")


def test_a_saved_edit_is_not_put_on_the_other(twins: Twins, tmp_path: Path) -> None:
    file = tmp_path / "random.json"
    file.write_text(json.dumps(HPARAMS["random_delta"]))
    request = twins.request(twins.one, "random_delta", hparams=str(file))
    edit = score_edit(twins.runtime, request).edit
    assert deltas.verify(twins.runtime, edit).undone
    with pytest.raises(DeltaError, match="same weights with another configuration"):
        deltas.verify(twins.runtime, edit, model=str(twins.other))
    with pytest.raises(DeltaError, match="same weights with another configuration"):
        deltas.export_model(twins.runtime, [edit], tmp_path / "out", model=str(twins.other))
    assert not (tmp_path / "out").exists()
    state = StateIn(model=str(twins.other), edits=(edit,))
    with (
        pytest.raises(DeltaError, match="same weights with another configuration"),
        load_state(twins.runtime, state, twins.dataset),
    ):
        pass


def test_a_stored_hypernetwork_is_not_that_of_the_other(twins: Twins, tmp_path: Path) -> None:
    file = tmp_path / "mend.json"
    file.write_text(json.dumps(MEND))
    values = hparams_files.load("mend", str(file))
    one, other = (
        method_inputs.wanted(twins.runtime, twins.dataset, twins.model(each), values)
        for each in (twins.one, twins.other)
    )
    assert one.path != other.path
    method_inputs.train(twins.runtime, one, twins.model(twins.one), values)
    assert not other.path.exists()
    # The file itself, named as the archive of the hyperparameters.
    file.write_text(json.dumps(MEND | {"archive": str(one.path)}))
    score_edit(twins.runtime, twins.request(twins.one, "mend", hparams=str(file)))
    with pytest.raises(HypernetworkError, match="another configuration or tokenizer"):
        score_edit(twins.runtime, twins.request(twins.other, "mend", hparams=str(file)))
