"""The covariance against numpy in float64, and what is kept of it on disk."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.covariance import Covariance
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.errors import (
    CovarianceError,
    DeviceMemoryError,
    EditFailedError,
    EditingError,
)
from thinkeval.editing.models import weights_digest

TEXTS = [*CORPUS, "Harry Potter", "", "The capital of France is Paris. " * 3]


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=4)


def by_numpy(pair, layer, max_length=128):
    """Mean of k kᵀ from one hook a text, in float64; and the number of tokens."""
    model, tokenizer = pair
    kept = []
    module = adapter_for(model).mlp_out(layer).module
    handle = module.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0][0]))
    with torch.no_grad():
        for text in TEXTS:
            ids = tokenizer(text)["input_ids"][:max_length]
            if ids:
                model(torch.tensor([ids]))
    handle.remove()
    keys = torch.cat(kept).double().numpy()
    return np.einsum("ti,tj->ij", keys, keys) / len(keys), len(keys)


@pytest.mark.parametrize("batch_tokens", [4096, 100, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_is_the_mean_outer_product_over_real_tokens(pair, batch_tokens, dtype):
    model, tokenizer = pair
    found = covariance.collect(
        model, tokenizer, TEXTS, [2, 0], batch_tokens=batch_tokens, dtype=dtype
    )
    assert list(found) == [adapter_for(model).mlp_out(layer).name for layer in (0, 2)]
    for layer in (0, 2):
        expected, n_tokens = by_numpy(pair, layer)
        moment = found[adapter_for(model).mlp_out(layer).name]
        assert moment.dtype == getattr(torch, dtype)
        np.testing.assert_allclose(moment.double().numpy(), expected, rtol=1e-4, atol=1e-6)
        assert found.n_tokens == n_tokens


def test_bos_counts_as_a_token_where_there_is_one(pair):
    model, tokenizer = pair
    found = covariance.collect(model, tokenizer, ["Harry"], [0])
    plain = len(tokenizer("Harry", add_special_tokens=False)["input_ids"])
    assert found.n_tokens == plain + (model.config.model_type == "llama")


def test_long_texts_are_cut(pair):
    model, tokenizer = pair
    found = covariance.collect(model, tokenizer, TEXTS, [0], max_length=7)
    expected, n_tokens = by_numpy(pair, 0, max_length=7)
    assert found.n_tokens == n_tokens
    np.testing.assert_allclose(next(iter(found.values())).numpy(), expected, rtol=1e-4, atol=1e-6)


def test_one_pass_that_stops_after_the_last_layer(pair):
    model, tokenizer = pair
    adapter = adapter_for(model)
    calls = dict.fromkeys(range(3), 0)

    def counting(layer):
        return lambda *_: calls.update({layer: calls[layer] + 1})

    handles = [adapter.layer_module(i).register_forward_pre_hook(counting(i)) for i in range(3)]
    inner = adapter.mlp_out(1).module
    reached = []
    handles.append(inner.register_forward_hook(lambda *_: reached.append(1)))
    covariance.collect(model, tokenizer, TEXTS, [0, 1], batch_tokens=10_000)
    for handle in handles:
        handle.remove()
    assert calls == {0: 1, 1: 1, 2: 0}
    assert not reached


def test_progress_counts_texts(pair):
    seen = []
    covariance.collect(*pair, TEXTS, [0], batch_tokens=60, progress=lambda *step: seen.append(step))
    assert [step[0] for step in seen] == sorted(step[0] for step in seen)
    assert seen[-1] == (len(TEXTS), len(TEXTS), "covariance")
    assert len(seen) > 1


def test_no_text_and_no_layer_are_refused(pair):
    for texts in ([], [""]) if pair[0].config.model_type == "gpt2" else ([],):
        with pytest.raises(CovarianceError, match="no text"):
            covariance.collect(*pair, texts, [0])
    with pytest.raises(CovarianceError, match="no layer"):
        covariance.collect(*pair, TEXTS, [])
    with pytest.raises(EditingError, match="layer 7"):
        covariance.collect(*pair, TEXTS, [7])
    with pytest.raises(CovarianceError, match="float16"):
        covariance.collect(*pair, TEXTS, [0], dtype="float16")


def test_it_is_never_taken_from_an_edited_model(pair, tmp_path):
    model, tokenizer = pair
    name = adapter_for(model).mlp_out(0).weight
    effect = EditEffect({name: torch.ones_like(model.get_parameter(name))})
    with applied(model, effect):
        with pytest.raises(CovarianceError, match="unedited"):
            covariance.collect(model, tokenizer, TEXTS, [0])
        with pytest.raises(CovarianceError, match="unedited"):
            covariance.get(model, tokenizer, TEXTS, [0], tmp_path)
    assert covariance.collect(model, tokenizer, TEXTS, [0]).weights_digest == weights_digest(model)


def test_what_is_stored_is_read_and_what_is_missing_collected(pair, tmp_path):
    model, tokenizer = pair
    seen = []

    def get(layers, texts=TEXTS, **options):
        seen.clear()
        return covariance.get(
            model, tokenizer, texts, layers, tmp_path, progress=lambda *s: seen.append(s), **options
        )

    first = get([0])
    assert seen
    both = get([1, 0])
    assert seen
    again = get([0, 1])
    assert not seen, "a stored covariance was collected again"
    assert list(both) == list(again)
    assert both.digest == again.digest != first.digest
    assert both.n_tokens == again.n_tokens == first.n_tokens > 0
    collected = covariance.collect(model, tokenizer, TEXTS, [0, 1])
    for name, moment in collected.items():
        assert torch.equal(again[name], moment)
    # Whatever it depends on makes it another one.
    for options in ({"dtype": "float64"}, {"max_length": 5}, {"texts": TEXTS[:2]}):
        assert get([0], **options).digest != first.digest
        assert seen
    with torch.no_grad():
        next(model.parameters())[0, 0] += 1
    assert get([0]).digest != first.digest
    left = [
        path.name for path in tmp_path.iterdir() if path.suffix not in (".safetensors", ".lock")
    ]
    assert not left, "a temporary file was left"


def test_a_damaged_file_is_made_again(pair, tmp_path):
    first = covariance.get(*pair, TEXTS, [0], tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CovarianceError, match="not a readable"):
        covariance.load(path)
    again = covariance.get(*pair, TEXTS, [0], tmp_path)
    assert path.read_bytes() == whole
    assert again.digest == first.digest


def test_save_and_load(pair, tmp_path):
    found = covariance.collect(*pair, TEXTS, [0, 1])
    covariance.save(found, tmp_path / "deep" / "c.safetensors")
    back = covariance.load(tmp_path / "deep" / "c.safetensors")
    assert back.source == found.source
    assert back.n_tokens == found.n_tokens
    assert back.digest == found.digest
    for name in found:
        assert torch.equal(back[name], found[name])
    with pytest.raises(CovarianceError, match="source"):
        covariance.save(Covariance({}), tmp_path / "x")
    for bad in ("missing.safetensors", "text.safetensors"):
        (tmp_path / "text.safetensors").write_text("no")
        with pytest.raises(CovarianceError, match="not a readable"):
            covariance.load(tmp_path / bad)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_solve_against_numpy(ridge):
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(60, 20))
    matrix = keys.T @ keys / 60
    right = rng.normal(size=(20, 3))
    found = Covariance({"m": torch.tensor(matrix)}).solve("m", torch.tensor(right), ridge=ridge)
    full = matrix + ridge * np.diag(matrix).mean() * np.eye(20)
    np.testing.assert_allclose(found.numpy(), np.linalg.solve(full, right), rtol=1e-9)


def test_a_full_device_is_answered_by_the_cpu_and_a_full_cpu_by_the_bytes(monkeypatch):
    matrix, right = torch.diag(torch.arange(1.0, 5.0)), torch.ones(4, 1, dtype=torch.float64)
    wanted, failures = Covariance({"m": matrix}).solve("m", right), []

    def full(compute):
        def tried(given):
            if failures:
                failures.pop()
                raise torch.OutOfMemoryError("CUDA out of memory")
            return compute(given)

        return tried

    for place, name, n_bytes in ((torch.linalg, "lu_factor_ex", 256), (torch, "cat", 64)):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, full(getattr(place, name)))
            failures[:] = [1]
            assert torch.equal(Covariance({"m": matrix}).solve("m", right), wanted)
            failures[:] = [1, 1]
            with pytest.raises(DeviceMemoryError, match=f"{n_bytes} bytes are needed"):
                Covariance({"m": matrix}).solve("m", right)


def test_a_solve_that_is_singular_says_so_and_a_ridge_helps():
    key = torch.arange(5.0, dtype=torch.float64)
    found = Covariance({"m": torch.outer(key, key)})
    right = torch.ones(5, 1, dtype=torch.float64)
    with pytest.raises(EditFailedError, match="m is singular"):
        found.solve("m", right)
    assert torch.isfinite(found.solve("m", right, ridge=1e-3)).all()
