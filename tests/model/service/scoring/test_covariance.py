"""Names of `--covariance` and of a saved edit's model: one text that always means the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.scoring.deltas import lasting_name
from thinkeval.service.scoring.method_inputs import dataset_spec, dataset_text
from thinkeval.service.scoring.runtime import parse


def test_a_data_set_is_written_and_read_back() -> None:
    text = dataset_text("owner/name", config="20231101.en", split=None, column=None, limit=7)
    assert text == "datasets:owner/name?config=20231101.en&limit=7"
    spec = dataset_spec(text)
    assert (spec.name, spec.config, spec.split) == ("owner/name", "20231101.en", "train")
    assert (spec.column, spec.limit, spec.revision) == ("text", 7, None)
    assert dataset_text("a") == "datasets:a"
    assert dataset_spec("datasets:a").limit == 100_000
    assert dataset_spec("datasets:a?revision=v1&split=test&column=body").revision == "v1"


@pytest.mark.parametrize("text", ["", "?limit=3", "a?limit=0", "a?limit=-1", "a?rows=3"])
def test_what_names_no_data_set_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="does not name a data set") as caught:
        dataset_spec(f"datasets:{text}")
    assert "datasets:wikimedia/wikipedia?" in caught.value.remedy


@pytest.mark.parametrize(
    ("model", "seed"),
    [("organism", None), ("organism", 3), ("organism:llama:seed=1,steps=9", 3), ("gpt2-xl", 3)],
)
def test_a_model_is_named_so_that_it_is_found_without_the_options(
    model: str, seed: int | None
) -> None:
    def parts(text: str, seed: int | None) -> Any:
        spec = parse(text, seed=seed)
        return spec.organism, spec.options, spec.name

    assert parts(lasting_name(model, seed), None) == parts(model, seed)


def test_a_folder_is_named_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    assert lasting_name("./model", 0) == str(tmp_path / "model")
