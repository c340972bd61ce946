"""Texts from disk and from data sets: the same covariance as from a list, read as needed."""

from __future__ import annotations

import importlib.util
import json
import sys
import types

import pytest
import torch

from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.covariance.texts import DatasetSpec, TextFile, counted, dataset_file
from thinkeval.editing.errors import CovarianceError


@pytest.fixture
def corpus_file(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n\n".join(f"  {text} " for text in CORPUS) + "\n \n", encoding="utf-8")
    return file


def test_lines_give_the_covariance_of_a_list(corpus_file, tmp_path):
    pair = build_tiny("gpt2")
    texts = TextFile(corpus_file)
    assert list(texts) == list(texts) == list(CORPUS)
    assert (texts.corpus_digest, len(texts)) == counted(CORPUS)
    found = covariance.get(*pair, texts, [0], tmp_path / "cache")
    wanted = covariance.collect(*pair, CORPUS, [0])
    assert found.source == wanted.source
    assert found.source is not None
    assert found.source.n_texts == len(CORPUS)
    for name in wanted:
        assert torch.equal(found[name], wanted[name])


def test_a_corpus_is_read_as_it_is_needed(tmp_path):
    """A file ten times larger than what is held of it."""
    import tracemalloc

    file = tmp_path / "large.txt"
    line = "word " * 2000 + "\n"
    file.write_text(line * 3000)
    tracemalloc.start()
    assert len(TextFile(file)) == 3000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < file.stat().st_size / 10


def test_bad_files_are_named(tmp_path):
    with pytest.raises(CovarianceError, match=r"no\.txt cannot be read"):
        len(TextFile(tmp_path / "no.txt"))
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(CovarianceError, match=r"latin\.txt cannot be read"):
        list(TextFile(tmp_path / "latin.txt"))
    for line in ("{}", "3", "no"):
        (tmp_path / "x.jsonl").write_text('"a"\n\n' + line)
        with pytest.raises(CovarianceError, match="line 3"):
            list(TextFile(tmp_path / "x.jsonl"))


def test_without_the_package_the_remedy_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CovarianceError, match="'datasets', which is not installed") as caught:
        dataset_file(DatasetSpec("wikitext"), tmp_path)
    assert "pip install datasets" in caught.value.remedy
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.fixture
def stand_in(monkeypatch):
    """A module in the place of `datasets` that says what it was asked and what was taken."""
    asked: list[tuple[object, ...]] = []
    taken: list[int] = []

    def load_dataset(name, config, *, split, streaming, revision):
        asked.append((name, config, split, streaming, revision))
        if name == "gone":
            raise ConnectionError("no such data set\nand more")

        def rows():
            for i in range(10**9):
                taken.append(i)
                yield {"title": i, "text": f"text {i}\nof two lines"}

        return rows()

    module = types.ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return asked, taken


def test_a_data_set_is_streamed_up_to_the_limit_and_kept(stand_in, tmp_path):
    asked, taken = stand_in
    steps = []
    spec = DatasetSpec("owner/name", "en", split="validation", limit=250, revision="abc")
    texts = dataset_file(spec, tmp_path, lambda *step: steps.append(step))
    assert list(texts) == [f"text {i}\nof two lines" for i in range(250)]
    assert asked == [("owner/name", "en", "validation", True, "abc")]
    assert len(taken) == 250
    assert steps[-1] == (200, 250, "reading owner/name")
    assert dataset_file(spec, tmp_path).corpus_digest == texts.corpus_digest
    assert len(asked) == 1
    for other in (DatasetSpec("owner/name"), DatasetSpec("owner/name", limit=3)):
        assert other != spec
    assert len(dataset_file(DatasetSpec("owner/name", limit=3), tmp_path)) == 3


def test_a_data_set_that_fails_leaves_nothing(stand_in, tmp_path):
    for spec, message in (
        (DatasetSpec("gone"), "could not be read: no such data set$"),
        (DatasetSpec("a", column="body"), "no text in the column 'body'; it has title, text"),
        (DatasetSpec("a", column="title"), "no text in the column 'title'"),
    ):
        with pytest.raises(CovarianceError, match=message):
            dataset_file(spec, tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} <= {".lock"}


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="the optional package is not installed"
)
def test_the_real_package_reads_a_local_data_set(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    rows = [json.dumps({"text": text}) for text in CORPUS]
    (folder / "train.jsonl").write_text("\n".join(rows))
    texts = dataset_file(DatasetSpec(str(folder), limit=2), tmp_path / "cache")
    assert list(texts) == list(CORPUS[:2])
