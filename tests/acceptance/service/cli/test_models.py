"""Key statistics as a user has them: from texts, from published files, used by a score."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from support.commands import Cli, Done
from support.own_graphs import own_graphs
from support.tiny_models import build_tiny
from thinkeval.cypher.run import Database
from thinkeval.editing.models import load

Call = Callable[..., Done]
MODULE = "transformer.h.1.mlp.c_proj"
HPARAMS = {
    "layers": [1], "v_num_grad_steps": 2, "v_lr": 0.1, "v_weight_decay": 1e-3,
    "clamp_norm_factor": 4, "kl_factor": 0.0625, "mom2_adjustment": True,
    "context_template_length_params": [[2, 2]],
}  # fmt: skip


@dataclass(frozen=True)
class Mine:
    graph: str
    model: Path
    hparams: Path
    score: tuple[str | Path, ...]


@pytest.fixture(scope="module")
def mine(db: Database, thinkeval: Cli, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mine]:
    folder = tmp_path_factory.mktemp("covariance")
    model, tokenizer = build_tiny("gpt2", seed=1)
    model.save_pretrained(folder / "tiny")
    tokenizer.save_pretrained(folder / "tiny")
    (folder / "rome.json").write_text(json.dumps(HPARAMS))
    with own_graphs(db) as prefix:
        graph = f"{prefix}-hogwarts"
        thinkeval("import", "hogwarts", "--name", graph)
        yield Mine(graph, folder / "tiny", folder / "rome.json", (
            "score", "harry-potter--studied-at", "-g", graph, "--model", folder / "tiny",
            "--hparams", folder / "rome.json", "--samples", "0", "-m", "rome", "--anyway", "--json",
        ))  # fmt: skip


@pytest.fixture
def own_cache(tmp_path: Path) -> dict[str, str]:
    """A cache of this test's own."""
    return {"THINKEVAL_CACHE": str(tmp_path / "cache")}


def published(folder: Path, name: str, size: int = 128, seed: int = 0) -> Path:
    keys = np.random.default_rng(seed).normal(size=(4 * size, size)).astype(np.float32)
    file = folder / name
    np.savez(file, **{
        "mom2.constructor": "util.runningstats.SecondMoment()", "mom2.count": len(keys),
        "mom2.mom2": keys.T @ keys, "sample_size": 100000,
    })  # fmt: skip
    return file


def test_published_statistics_are_imported_and_scored_with(
    at_once: Call, mine: Mine, own_cache: dict[str, str], tmp_path: Path
) -> None:
    file = published(tmp_path, f"{MODULE}_float32_mom2_100000.npz")
    command = ("model", "covariance", "import", file, "--model", mine.model)
    (row,) = at_once(*command, "--json", **own_cache).json
    digest = load(mine.model, device="cpu").info.weights_digest
    assert (row["module"], row["d_in"], row["texts"]) == (MODULE, 128, 100000)
    assert (row["origin"], row["weights_digest"]) == ("imported", digest)
    shown = at_once(*command, **own_cache)
    assert digest[:12] in shown.out
    # Named in three ways, it is the same covariance and the same edit.
    made = [
        at_once(*mine.score, "--covariance", where, **own_cache).json[0]
        for where in (file, tmp_path, "imported")
    ]
    assert len({score["edit"] for score in made}) == 1
    about = made[0]["provenance"]["covariance"]
    assert (about["origin"], about["weights_digest"]) == ("imported", digest)
    assert about["modules"] == [MODULE]
    plain = at_once(*mine.score, **own_cache).json[0]
    assert plain["edit"] != made[0]["edit"]
    assert plain["provenance"]["covariance"]["origin"] == "collected"


def test_a_file_of_another_name_needs_its_layer(
    at_once: Call, mine: Mine, own_cache: dict[str, str], tmp_path: Path
) -> None:
    file = published(tmp_path, "stats.npz")
    command = ("model", "covariance", "import", file, "--model", mine.model)
    assert "says no module" in at_once(*command, **own_cache).error
    (row,) = at_once(*command, "--layer", "1", "--json", **own_cache).json
    assert row["module"] == MODULE
    scored = at_once(*mine.score, "--covariance", "imported", **own_cache).json[0]
    assert scored["provenance"]["covariance"]["origin"] == "imported"
    named = published(tmp_path, f"{MODULE}_float32_mom2_100000.npz")
    wrong = at_once(
        "model", "covariance", "import", named, "--model", mine.model, "--layer", "2", **own_cache
    )
    assert "--layer 2 is transformer.h.2.mlp.c_proj" in wrong.error


def test_statistics_that_do_not_fit_are_refused(
    at_once: Call, mine: Mine, own_cache: dict[str, str], tmp_path: Path
) -> None:
    def refused(name: str, size: int = 128) -> str:
        folder = tmp_path / name
        folder.mkdir()
        file = published(folder, f"{name}_float32_mom2_100000.npz", size)
        return at_once(
            "model", "covariance", "import", file, "--model", mine.model, **own_cache
        ).error

    assert "shape (6, 6), not (128, 128)" in refused(MODULE, 6)
    assert "no MLP output projection transformer.h.17.mlp.c_proj" in refused(
        "transformer.h.17.mlp.c_proj"
    )
    (tmp_path / "empty").mkdir()
    for where, message in (
        (tmp_path / "empty", "no statistics of"),
        (tmp_path / "none.npz", "cannot be read"),
        ("imported", "no statistics of"),
        ("datasets:?limit=3", "does not name a data set"),
        ("datasets:a?limit=no", "does not name a data set"),
        ("datasets:a?rows=3", "does not name a data set"),
    ):
        assert message in at_once(*mine.score, "--covariance", where, **own_cache).error
    for place in (tmp_path / "empty", tmp_path / "none.npz"):
        assert at_once(
            "model", "covariance", "import", place, "--model", mine.model, **own_cache
        ).error
    together = at_once("model", "covariance", "--text", "a", "--dataset", "b")
    assert "exclude each other" in together.error
    assert "belong to --dataset" in at_once("model", "covariance", "--limit", "3").error


def test_a_data_set_without_its_package_says_how_to_get_it(
    at_once: Call, mine: Mine, own_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    told = at_once(
        "model", "covariance", mine.graph, "--model", mine.model, "--method", "rome", "--hparams",
        mine.hparams, "--dataset", "wikimedia/wikipedia", "--limit", "5", **own_cache,
    ).error  # fmt: skip
    assert "wikimedia/wikipedia" in told
    assert "pip install datasets" in told


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As in the program that is killed: another number of threads may add in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_a_killed_collection_is_taken_up(
    thinkeval: Cli, at_once: Call, mine: Mine, tmp_path: Path
) -> None:
    """`kill -9` on the command; the next one goes on, and its file is the same to the bit."""
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"Text number {i} of the corpus, with words." for i in range(5000)))
    command = (
        "model", "covariance", mine.graph, "--model", mine.model, "--method", "rome",
        "--hparams", mine.hparams, "--text", texts, "--json",
    )  # fmt: skip
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    every_batch = {"THINKEVAL_CACHE": str(killed), "THINKEVAL_CHECKPOINT_S": "0"}
    running = Cli(thinkeval.env | every_batch, thinkeval.cwd).start(*command)
    while not list((killed / "covariance").glob("*.partial")):
        assert running.poll() is None, running.communicate()
        time.sleep(0.002)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    assert list((killed / "covariance").glob("*.partial"))
    taken_up = at_once(*command, THINKEVAL_CACHE=str(killed))
    assert taken_up.json == at_once(*command, THINKEVAL_CACHE=str(whole)).json
    (stored,) = (killed / "covariance").glob("*.safetensors")
    assert stored.read_bytes() == (whole / "covariance" / stored.name).read_bytes()
    assert not list((killed / "covariance").glob("*.partial"))
