"""Published statistics: the file's own form, written here by numpy, against what is read of it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.covariance import published as covariance_import
from thinkeval.editing.covariance.published import in_cache, in_files, layer_of, module_of, read
from thinkeval.editing.errors import CovarianceError
from thinkeval.editing.models import weights_digest


@pytest.fixture(params=["gpt2", "llama"])
def model(request):
    return build_tiny(request.param, seed=4)[0]


def name_of(model, layer):
    return adapter_for(model).mlp_out(layer).name


def d_in(model, layer):
    return (
        adapter_for(model)
        .mlp_out(layer)
        .module.weight.shape[0 if model.config.model_type == "gpt2" else 1]
    )


def published(folder, model, layer, *, name=None, seed=0, **changes):
    """A file as the public code saves it: mom2 is the sum over tokens, in float32."""
    size = d_in(model, layer)
    keys = np.random.default_rng(seed).normal(size=(3 * size, size)).astype(np.float32)
    arrays = {
        "mom2.constructor": "util.runningstats.SecondMoment()",
        "mom2.count": len(keys),
        "mom2.mom2": keys.T @ keys,
        "sample_size": 100000,
    } | changes
    folder.mkdir(exist_ok=True, parents=True)
    file = folder / (name or f"{name_of(model, layer)}_float32_mom2_100000.npz")
    np.savez(file, **{key: value for key, value in arrays.items() if value is not None})
    return file, keys


def test_the_moment_is_the_sum_over_the_count(model, tmp_path):
    file, keys = published(tmp_path, model, 1)
    digest = weights_digest(model)
    found = read(file, model, name_of(model, 1), weights_digest=digest)
    wanted = np.einsum("ti,tj->ij", keys.astype(np.float64), keys) / len(keys)
    (moment,) = found.values()
    assert moment.dtype == torch.float32
    np.testing.assert_allclose(moment.double().numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert found.n_tokens == len(keys)
    source = found.source
    assert source is not None
    sha = hashlib.sha256(file.read_bytes()).hexdigest()
    assert (source.weights_digest, source.corpus_digest) == (digest, f"npz:{sha}")
    assert (source.origin, source.n_texts, source.dtype) == ("imported", 100000, "float32")


def test_a_folder_serves_all_layers_and_is_stored_once(model, tmp_path):
    folder, cache = tmp_path / "gpt2-xl" / "wikipedia_stats", tmp_path / "cache"
    for layer in (0, 2):
        published(folder, model, layer, seed=layer)
    names, digest = [name_of(model, layer) for layer in (0, 2)], weights_digest(model)
    files = in_files(tmp_path / "gpt2-xl", names)
    found = covariance_import.get(model, files, cache, weights_digest=digest)
    assert list(found) == names
    assert covariance.checked(found, model, [0, 2]) is found
    assert found.about["origin"] == "imported"
    assert len(list(cache.iterdir())) == 2
    # Without the files, from the cache; and it is the same one.
    again = covariance_import.get(
        model, in_cache(cache, digest, names), cache, weights_digest=digest
    )
    assert again.digest == found.digest
    for name in names:
        assert torch.equal(again[name], found[name])
    # Another content is another covariance, although the name is the same.
    published(folder, model, 0, seed=9)
    other = in_files(folder, names)
    assert other.digest != files.digest
    changed = covariance_import.get(model, other, cache, weights_digest=digest)
    assert changed.digest != found.digest
    assert torch.equal(changed[names[1]], found[names[1]])
    with pytest.raises(CovarianceError, match="2 statistics"):
        in_cache(cache, digest, names)


def test_it_is_kept_apart_by_the_weights_it_was_imported_for(model, tmp_path):
    file, _ = published(tmp_path, model, 1)
    name, cache = name_of(model, 1), tmp_path / "cache"
    found = covariance_import.get(
        model, in_files(file, [name]), cache, weights_digest=weights_digest(model)
    )
    other = build_tiny(model.config.model_type, seed=5)[0]
    with pytest.raises(CovarianceError, match="no statistics"):
        in_cache(cache, weights_digest(other), [name])
    with pytest.raises(CovarianceError, match="another model"):
        covariance.checked(found, other, [1])
    # A collected one is never taken for an imported one.
    collected = covariance.collect(model, build_tiny(model.config.model_type)[1], CORPUS, [0])
    assert collected.source is not None
    covariance.save(collected, cache / f"x.{name_of(model, 0)}.safetensors")
    with pytest.raises(CovarianceError, match="no statistics"):
        in_cache(cache, weights_digest(model), [name_of(model, 0)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mom2.mom2": np.eye(7, dtype=np.float32)}, "shape \\(7, 7\\), not"),
        ({"mom2.mom2": np.ones((4, 5), np.float32)}, "no second moment"),
        ({"mom2.mom2": None}, "no mom2.mom2"),
        ({"mom2.count": None, "mom2.mom2": None}, "no mom2.mom2 and no mom2.count"),
        ({"mom2.count": 0}, "count is 0"),
        ({"mom2.count": np.nan}, "count is nan"),
        ({"mom2.mom2": np.array("text")}, "no numbers"),
        ({"mom2.mom2": np.array([{"a": 1}], dtype=object)}, "not a readable .npz"),
    ],
)
def test_files_of_another_form_are_refused(model, tmp_path, changes, message):
    file, _ = published(tmp_path, model, 1, **changes)
    with pytest.raises(CovarianceError, match=message):
        read(file, model, name_of(model, 1), weights_digest="w")


def test_matrices_that_are_no_second_moments_are_refused(model, tmp_path):
    size = d_in(model, 1)
    lopsided = np.triu(np.ones((size, size), np.float32))
    for matrix, message in (
        (lopsided, "not symmetric"),
        (-np.eye(size, dtype=np.float32), "negative"),
        (np.full((size, size), np.nan, np.float32), "NaN"),
    ):
        file, _ = published(tmp_path, model, 1, **{"mom2.mom2": matrix})
        with pytest.raises(CovarianceError, match=message):
            read(file, model, name_of(model, 1), weights_digest="w")


def test_a_file_is_found_by_its_module(model, tmp_path):
    name = name_of(model, 1)
    (tmp_path / "text.npz").write_text("no")
    with pytest.raises(CovarianceError, match="not a readable"):
        read(tmp_path / "text.npz", model, name, weights_digest="w")
    with pytest.raises(CovarianceError, match="cannot be read"):
        in_files(tmp_path / "missing.npz", [name])
    with pytest.raises(CovarianceError, match=f"no statistics of {name}"):
        in_files(tmp_path, [name])
    plain, _ = published(tmp_path / "plain", model, 1, name="stats.npz")
    assert in_files(plain, [name]).files == {name: plain}
    foreign, _ = published(tmp_path / "foreign", model, 2)
    with pytest.raises(CovarianceError, match="no statistics"):
        in_files(foreign, [name])
    assert in_files(foreign, [name], named=False).files == {name: foreign}
    published(tmp_path / "twice", model, 1)
    published(tmp_path / "twice" / "more", model, 1)
    with pytest.raises(CovarianceError, match="2 statistics"):
        in_files(tmp_path / "twice", [name])


def test_names_of_published_files():
    for name, module in (
        ("transformer.h.17.mlp.c_proj_float32_mom2_100000.npz", "transformer.h.17.mlp.c_proj"),
        ("transformer.h.3.mlp.fc_out_float64_mean-mom2_t512_100000.npz",
         "transformer.h.3.mlp.fc_out"),
        ("model.layers.4.mlp.down_proj_float32_mom2.npz", "model.layers.4.mlp.down_proj"),
        ("stats.npz", None),
    ):  # fmt: skip
        assert module_of(f"folder/{name}") == module


def test_the_layer_of_a_module(model):
    assert layer_of(model, name_of(model, 2)) == 2
    with pytest.raises(CovarianceError, match="no MLP output projection other"):
        layer_of(model, "other")


def test_a_damaged_part_of_the_cache_is_read_from_the_file_again(model, tmp_path):
    file, _ = published(tmp_path, model, 1)
    name, cache, digest = name_of(model, 1), tmp_path / "cache", weights_digest(model)
    files = in_files(file, [name])
    found = covariance_import.get(model, files, cache, weights_digest=digest)
    (stored,) = cache.iterdir()
    stored.write_bytes(stored.read_bytes()[:100])
    again = covariance_import.get(model, files, cache, weights_digest=digest)
    assert torch.equal(again[name], found[name])
    stored.unlink()
    with pytest.raises(CovarianceError, match="damaged or gone"):
        covariance_import.get(model, replace(files, files={}), cache, weights_digest=digest)
