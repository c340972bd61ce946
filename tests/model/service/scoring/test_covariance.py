"""Names of `--covariance` and of a saved edit's model: one text that always means the same."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import LlamaConfig, LlamaForCausalLM

from support.tiny_models import build_tokenizer
from thinkeval.editing import registry
from thinkeval.editing.architectures import Adapter
from thinkeval.editing.covariance.texts import TextFile
from thinkeval.editing.errors import CovarianceError
from thinkeval.editing.models import wrap
from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.scoring.deltas import lasting_name
from thinkeval.service.scoring.method_inputs import (
    Corpus,
    dataset_spec,
    dataset_text,
    resolve,
    with_ridge,
)
from thinkeval.service.scoring.runtime import Runtime, parse


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


@pytest.fixture(scope="module")
def wide() -> Any:
    """A random Llama whose keys have 1,024 dimensions."""
    config = LlamaConfig(
        vocab_size=420, hidden_size=64, intermediate_size=1024, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    model: Any = LlamaForCausalLM(config).eval()
    return SimpleNamespace(loaded=wrap(model, build_tokenizer(), name="wide"), trained_on=None)


def hparams_of(method: str, **values: Any) -> Any:
    found = {
        "layers": [0], "v_num_grad_steps": 4, "v_lr": 0.1, "v_weight_decay": 0,
        "clamp_norm_factor": 4, "kl_factor": 0, "mom2_update_weight": 5, **values,
    }  # fmt: skip
    return registry.hyperparams(method).from_dict(found)


def corpus_of(folder: Path, tokens: int) -> Corpus:
    """A file of texts of 10 tokens each."""
    file = folder / f"{tokens}.txt"
    file.write_text("0123456789\n" * (tokens // 10), encoding="utf-8")
    texts = TextFile(file)
    return Corpus(str(file), texts.corpus_digest, texts)


def test_few_tokens_a_dimension_are_refused_or_get_a_ridge(wide: Any, tmp_path: Path) -> None:
    runtime = Runtime(Settings())

    def found(tokens: int, method: str = "memit", **values: Any) -> tuple[Any, str | None]:
        corpus = corpus_of(tmp_path, tokens)
        return with_ridge(runtime, wide, registry.get(method), hparams_of(method, **values), corpus)

    with pytest.raises(CovarianceError, match="200 tokens for keys of 1,024") as caught:
        found(200)
    assert caught.value.remedy == "Give more text, or --set mom2_ridge=.01."
    hparams, notice = found(1000)
    assert hparams == hparams_of("memit", mom2_ridge=0.001)
    assert notice is not None
    for part in ("1,000 tokens", "1,024 dimensions", "mom2_ridge is raised to 0.001"):
        assert part in notice
    assert found(2100) == (hparams_of("memit"), None)
    assert found(1000, mom2_ridge=0.1) == (hparams_of("memit", mom2_ridge=0.1), None)
    safe = {"mom2_update_weight": None, "update_share": 0.9, "nullspace_rank": 0.7}
    assert found(200, "alphaedit", **safe) == (hparams_of("alphaedit", **safe), None)
    inner = {"method": "memit", "hparams": hparams_of("memit").as_dict()}
    control = registry.hyperparams("random_delta").from_dict(inner)
    raised, _ = with_ridge(
        runtime, wide, registry.get("random_delta"), control, corpus_of(tmp_path, 1000)
    )
    assert raised.hparams["mom2_ridge"] == 0.001


def test_own_samples_grow_with_the_dimensions(wide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, dataset = Runtime(Settings()), SimpleNamespace(id="d", digest="x")
    few = resolve(runtime, dataset, "own-samples", wide, [0])  # type: ignore[arg-type]
    assert (few.blocks, few.name.split(" (")[1][:8]) == (1, "64 texts")
    monkeypatch.setattr(Adapter, "key_size", lambda *_: 14_336)
    many = resolve(runtime, dataset, "own-samples", wide, [0])  # type: ignore[arg-type]
    assert (many.blocks, many.name.split(" (")[1][:9]) == (7, "448 texts")
    assert many.digest != few.digest
