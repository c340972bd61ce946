"""`--hparams`: a file for each method, or a folder; each file is of the method that it fits.

And constants that were published for statistics of another corpus.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.scored_walk import walked
from thinkeval.editing import hparams
from thinkeval.editing.deltas import files
from thinkeval.editing.errors import HparamsError
from thinkeval.editing.hparams.suggestion import suggest
from thinkeval.service.base.errors import UsageError
from thinkeval.service.scoring import deltas
from thinkeval.service.scoring.hyperparameters import (
    Chosen,
    by_method,
    of_another_corpus,
    source_for,
)
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel


def write(folder: Path, method: str, name: str, *, header: bool = True) -> str:
    """A suggestion as `hparams suggest` writes it, or only its values."""
    text = suggest(method, "llama", 16).as_yaml("mine")
    lines = [line for line in text.splitlines() if header or not line.startswith("#")]
    (folder / name).write_text("\n".join(lines))
    return str(folder / name)


def test_a_file_is_of_the_method_that_its_name_says(tmp_path: Path) -> None:
    rome, memit = write(tmp_path, "rome", "sug_rome.yaml"), write(tmp_path, "memit", "MEMIT-2.yaml")
    assert by_method(["rome", "memit", "none"], [memit, rome]) == {"rome": rome, "memit": memit}
    tuned = write(tmp_path, "fine_tuning", "fine-tuning.yaml", header=False)
    assert by_method(["fine_tuning", "rome"], [tuned]) == {"fine_tuning": tuned}


def test_a_name_that_says_nothing_leaves_it_to_the_first_line_and_the_keys(tmp_path: Path) -> None:
    first = write(tmp_path, "memit", "a.yaml")
    assert by_method(["rome", "memit", "rect"], [first]) == {"memit": first}
    keys = write(tmp_path, "rome", "b.yaml", header=False)
    assert by_method(["rome", "fine_tuning"], [keys]) == {"rome": keys}
    both = write(tmp_path, "rome", "rome_or_memit.yaml")
    assert by_method(["memit", "rome"], [both]) == {"rome": both}


def test_a_published_name_is_for_every_method() -> None:
    assert by_method(["rome", "memit"], ["gpt2-xl"]) == {"rome": "gpt2-xl", "memit": "gpt2-xl"}


def test_a_folder_holds_a_file_for_each_method(tmp_path: Path) -> None:
    rome, _ = write(tmp_path, "rome", "rome.yaml"), write(tmp_path, "memit", "memit.yaml")
    (tmp_path / "README.md").write_text("mine")
    assert by_method(["rome", "kn"], [str(tmp_path)]) == {"rome": rome}
    assert source_for("rome", str(tmp_path)) == rome
    assert source_for("kn", str(tmp_path)) is None
    assert source_for("kn", "gpt2-xl") == "gpt2-xl"
    with pytest.raises(UsageError, match="of none of the methods kn, none"):
        by_method(["kn", "none"], [str(tmp_path)])


def test_a_file_of_another_method_and_a_second_file_are_refused(tmp_path: Path) -> None:
    rome, again = write(tmp_path, "rome", "rome.yaml"), write(tmp_path, "rome", "again.yaml")
    with pytest.raises(UsageError, match=r"rome\.yaml has hyperparameters of none") as error:
        by_method(["memit", "rect"], [rome])
    assert "memit.yaml" in error.value.remedy
    with pytest.raises(UsageError, match=r"two sources for rome: .*rome\.yaml and .*again\.yaml"):
        by_method(["rome", "memit"], [rome, again])
    with pytest.raises(HparamsError, match=r"no\.yaml could not be read"):
        by_method(["rome", "memit"], [str(tmp_path / "no.yaml")])


@pytest.mark.parametrize(
    ("method", "corpus", "overrides", "said"),
    [
        ("memit", "own-samples (64 texts)", {}, "mom2_update_weight 15000 of memit"),
        ("alphaedit", "graph", {}, "nullspace_threshold 0.02 of alphaedit"),
        ("memit", "datasets:wikimedia/Wikipedia?limit=10", {}, None),
        ("memit", "graph", {"mom2_update_weight": 20}, None),
        ("memit", "graph", {"update_share": 0.9}, None),
        ("rome", "graph", {}, None),
    ],
)
def test_published_constants_with_statistics_of_another_corpus(
    method: str, corpus: str, overrides: dict[str, float], said: str | None
) -> None:
    values = hparams.load(method, "llama3-8b", overrides)
    found = of_another_corpus(method, Chosen(values, corpus="wikipedia"), overrides, corpus)
    assert found == said or str(found).startswith(f"{said} is published for a covariance of wik")
    assert of_another_corpus(method, Chosen(values), overrides, corpus) is None


def test_the_record_has_the_notice_and_not_the_authors_corpus(
    runtime: Runtime, organism: RuntimeModel, tmp_path: Path
) -> None:
    ours, _ = hparams.stored("memit", "organism-gpt2")
    theirs = ours | {"mom2_dataset": "wikipedia", "mom2_n_samples": 100_000}
    theirs |= {"alg_name": "MEMIT", "stats_dir": "./data/stats", "device": 0}  # EasyEdit's
    (tmp_path / "memit.json").write_text(json.dumps(theirs))
    with walked(runtime, organism, 3) as walk:
        score = walk.score("memit", samples=0, hparams=str(tmp_path / "memit.json"))
        about = score.provenance
        assert f"this one is of sentences of graph {walk.graph}" in about["hparams_notice"]
        assert "memit.json without a meaning here: alg_name (" in about["hparams_notice"]
        assert not {"stats_dir", "device"} & {*about["hparams"]}
        saved = files.load(deltas.path_of(walk.runtime.settings, score.edit)).meta
        assert not {"mom2_dataset", "mom2_n_samples"} & {*about["hparams"], *saved.hparams}
        again = walk.score("memit", samples=0, force=True)
        assert "hparams_notice" not in again.provenance
        assert again.edit == score.edit
