"""Starting hyperparameters: published values, layers at the same depth, valid for every model."""

from __future__ import annotations

import pytest

from thinkeval.editing import architectures, hparams, registry
from thinkeval.editing.errors import HparamsError
from thinkeval.editing.hparams.common import ModuleNames
from thinkeval.editing.hparams.schema import Schema
from thinkeval.editing.hparams.suggestion import (
    NEAREST,
    OTHERWISE,
    PUBLISHED,
    RULES,
    at_the_same_depth,
    suggest,
)

WITH_FILES = [name for name in registry.names() if hparams.available(name)]
LAYERED = ("alphaedit", "fine_tuning", "memit", "prune", "rect", "rome", "ultraedit")


def test_the_published_models_are_those_with_files():
    shipped = {name for name in hparams.available("memit") if not name.startswith("organism")}
    assert shipped == set(PUBLISHED)
    for name, n_layers in PUBLISHED.items():
        assert hparams.load("memit", name).v_loss_layer == n_layers - 1
    assert {*NEAREST.values(), OTHERWISE} == set(PUBLISHED)
    assert set(NEAREST) <= set(architectures.names())


@pytest.mark.parametrize("method", LAYERED)
@pytest.mark.parametrize(
    ("architecture", "name"),
    [("gpt2", "gpt2-xl"), ("gptj", "gpt-j-6b"), ("llama", "llama3-8b"), ("qwen2", "qwen2.5-7b")],
)
def test_for_a_published_model_it_is_the_published_file(method, architecture, name):
    """But for the constants of the model's scale, in whose place rules stand."""
    found = suggest(method, architecture, PUBLISHED[name])
    assert found.template == name
    ruled = {key for rules in RULES.values() for key, _, _ in rules}
    replaced = {*RULES} if ruled & set(found.values) else set()
    assert replaced.isdisjoint(found.values)
    names = {*ModuleNames.__dataclass_fields__, *ruled, *replaced}
    ours = registry.get(method).HyperParams.from_dict(found.values).as_dict()
    theirs = hparams.load(method, name).as_dict()
    assert {k: v for k, v in ours.items() if k not in names} == {
        k: v for k, v in theirs.items() if k not in names
    }


def test_mend_edits_the_same_matrices_of_the_last_layers():
    published = hparams.load("mend", "llama3-8b").inner_params
    assert {int(name.split(".")[2]) for name in published} == {29, 30, 31}
    assert suggest("mend", "llama", 32).values["layers"] == [29, 30, 31]
    assert suggest("mend", "phi3", 40).values["layers"] == [37, 38, 39]


@pytest.mark.parametrize(
    ("layers", "n_before", "n_layers", "expected"),
    [
        ([4, 5, 6, 7, 8], 32, 16, [2, 3, 4]),  # Llama-3.2-1B
        ([4, 5, 6, 7, 8], 32, 28, [3, 4, 5, 6, 7]),  # Llama-3.2-3B
        ([4, 5, 6, 7, 8], 32, 80, [16, 17, 18, 19, 20]),  # Llama-3-70B: the last five
        ([3, 4, 5, 6, 7, 8], 28, 6, [1]),
        ([17], 48, 12, [4]),
        ([5], 32, 1, [0]),
    ],
)
def test_layers_at_the_same_depth(layers, n_before, n_layers, expected):
    assert at_the_same_depth(layers, n_before, n_layers) == expected


@pytest.mark.parametrize("method", WITH_FILES)
def test_it_is_valid_for_every_architecture_and_size(method, tmp_path):
    kind = registry.get(method).HyperParams
    read: dict[str, Schema] = {}  # by text: architectures of one template share it
    for architecture in architectures.names():
        for n_layers in (1, 2, 3, 16, 94):
            found = suggest(method, architecture, n_layers)
            assert set(found.origins) == set(found.values)
            assert max(found.values.get("layers", [0])) < n_layers
            text = found.as_yaml("a/model", ("A note.",))
            if text not in read:
                file = tmp_path / "file.yaml"
                file.write_text(text)
                read[text] = hparams.load(method, file)
            assert read[text] == kind.from_dict(found.values)


def test_every_value_says_where_it_comes_from():
    lines = suggest("memit", "llama", 16).as_yaml("a/model", ("A note.",)).splitlines()
    head = [line for line in lines if line.startswith("# ")]
    assert head[0] == "# Starting point for memit on a/model: the values of"
    assert any("not tuned" in line for line in head)
    assert "0.001 where the covariance has fewer than 2" in "".join(head)
    assert "mom2_ridge" not in suggest("alphaedit", "llama", 16).as_yaml("a/model")
    assert head[-1] == "# A note."
    assert (
        "layers: [2, 3, 4]  # layers 4 to 8 of 32 in memit/llama3-8b.json, at this depth" in lines
    )
    assert "v_num_grad_steps: 25  # gpt-j-6b, llama3-8b, qwen2.5-7b (gpt2-xl: 20)" in lines
    assert "kl_factor: 0.0625  # all published files" in lines
    assert all("  # " in line for line in lines if not line.startswith("#"))


def test_a_method_without_files_has_defaults():
    with pytest.raises(HparamsError, match="'none' has no published") as caught:
        suggest("none", "llama", 16)
    assert "thinkeval model methods none" in caught.value.remedy


def test_numbers_of_a_yaml_file_are_numbers(tmp_path):
    """PyYAML by itself takes 5e-4 for a text."""
    file = tmp_path / "ft.yml"
    file.write_text(
        "layers: [0]\nnum_steps: 25\nlr: 5e-4\nweight_decay: 0\nnorm_constraint: 5E-05\n"
    )
    found = hparams.load("fine_tuning", file)
    assert (found.lr, found.norm_constraint) == (5e-4, 5e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("layers: [0", "is not YAML"),
        ("- 1", "contains no YAML mapping"),
        ("layers: [0]\nlrr: 1", "unknown key 'lrr'; did you mean 'lr'"),
        (None, "could not be read"),
    ],
)
def test_a_bad_yaml_file_is_named(tmp_path, text, message):
    file = tmp_path / "bad.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(HparamsError, match=message) as caught:
        hparams.load("fine_tuning", file)
    assert str(file) in str(caught.value)


def test_the_error_for_a_model_without_a_file_names_the_command():
    with pytest.raises(HparamsError) as caught:
        hparams.load("rome", "meta-llama/Llama-3.2-1B")
    assert "thinkeval model hparams suggest meta-llama/Llama-3.2-1B -m rome" in caught.value.remedy
    assert "--hparams" in caught.value.remedy
