"""Hyperparameter files: the published values, strict keys, and which model takes which file."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import pytest

from thinkeval.editing import hparams, registry
from thinkeval.editing.errors import HparamsError, UnknownMethodError

# Typed from the papers' code once more, not read from our files.
ROME = {
    "gpt2-xl": (17, 20, 0.5, 0.5, 4, 0.0625, True, 47),
    "gpt-j-6b": (5, 20, 0.5, 0.5, 4, 0.0625, True, 27),
    "llama3-8b": (5, 25, 0.5, 1e-3, 4, 0.0625, False, 31),
    "qwen2.5-7b": (5, 25, 0.5, 1e-3, 4, 0.0625, False, 27),
}
MEMIT = {
    "gpt2-xl": ((13, 14, 15, 16, 17), 20, 0.5, 0.5, 0.75, 0.0625, 20000, 47),
    "gpt-j-6b": ((3, 4, 5, 6, 7, 8), 25, 0.5, 0.5, 0.75, 0.0625, 15000, 27),
    "llama3-8b": ((4, 5, 6, 7, 8), 25, 0.1, 0.5, 0.75, 0.0625, 15000, 31),
    "qwen2.5-7b": ((4, 5, 6, 7, 8), 25, 0.5, 1e-3, 4, 0.0625, 15000, 27),
}
FT = {
    "gpt2-xl": (0, 5e-4),
    "gpt-j-6b": (0, 5e-5),
    "llama3-8b": (21, False),
    "qwen2.5-7b": (27, False),
}


def value_keys(h):
    return (h.v_num_grad_steps, h.v_lr, h.v_weight_decay, h.clamp_norm_factor, h.kl_factor)


@pytest.mark.parametrize("model", ROME)
def test_published_values(model):
    rome = hparams.load("rome", model)
    layer, *values, adjust, loss_layer = ROME[model]
    assert rome.layers == (layer,)
    assert value_keys(rome) == tuple(values)
    assert (rome.mom2_adjustment, rome.v_loss_layer) == (adjust, loss_layer)
    assert rome.context_template_length_params == ((5, 10), (10, 10))
    assert rome.v_stop_loss == 0.05
    memit = hparams.load("memit", model)
    layers, *values, weight, loss_layer = MEMIT[model]
    assert memit.layers == layers
    assert value_keys(memit) == tuple(values)
    assert (memit.mom2_update_weight, memit.v_loss_layer) == (weight, loss_layer)
    assert memit.context_template_length_params == ((10, 5),)
    ft = hparams.load("fine_tuning", model)
    layer, bound = FT[model]
    assert (ft.layers, ft.norm_constraint) == ((layer,), bound)
    assert (ft.num_steps, ft.lr, ft.weight_decay, ft.batch_size) == (25, 5e-4, 0, 64)
    assert ft.objective_optimization == "prompt_last"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("openai-community/gpt2-xl", "gpt2-xl"),
        ("GPT2-XL", "gpt2-xl"),
        ("/models/gpt2-xl", "gpt2-xl"),
        ("EleutherAI/gpt-j-6B", "gpt-j-6b"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3-8b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
    ],
)
def test_a_model_is_found_by_hub_name_and_by_folder(name, file):
    assert hparams.file_for("rome", name) == file


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_an_organism_is_found_by_its_configuration(tmp_path, architecture):
    config = {"model_type": architecture, "thinkeval_organism": True}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for method in registry.names():
        if hparams.available(method):
            assert hparams.file_for(method, tmp_path) == f"organism-{architecture}"
            hparams.load(method, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": architecture}))
    with pytest.raises(HparamsError):
        hparams.file_for("rome", tmp_path)


@pytest.mark.parametrize("method", ["rome", "memit", "fine_tuning"])
def test_every_file_loads(method):
    assert len(hparams.available(method)) >= 6
    for model in hparams.available(method):
        loaded = hparams.load(method, model)
        assert loaded == type(loaded).from_dict(loaded.as_dict())


def test_an_unknown_model_is_answered_with_those_there_are():
    with pytest.raises(HparamsError, match="Did you mean gpt2-xl") as caught:
        hparams.load("rome", "gpt2-xxl")
    assert "--hparams" in caught.value.remedy
    with pytest.raises(UnknownMethodError, match="did you mean 'rome'"):
        hparams.load("roem", "gpt2-xl")


def test_a_file_of_ones_own_and_overrides(tmp_path):
    path = tmp_path / "mine.json"
    values = hparams.load("rome", "gpt2-xl").as_dict()
    path.write_text(json.dumps({**values, "v_lr": 0.25}))
    assert hparams.load("rome", path).v_lr == 0.25
    assert hparams.load("rome", path, {"v_lr": 2}).v_lr == 2.0
    assert registry.get("rome").HyperParams.from_json(path).v_lr == 0.25
    assert hparams.load("none", "any model at all").as_dict() == {}
    path.write_text("{")
    with pytest.raises(HparamsError, match="not JSON"):
        hparams.load("rome", path)
    path.write_text("[]")
    with pytest.raises(HparamsError, match="no JSON object"):
        hparams.load("rome", path)
    with pytest.raises(HparamsError, match="could not be read"):
        hparams.load("rome", tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"v_lrr": 1}, "unknown key 'v_lrr'; did you mean 'v_lr'"),
        ({"qqq": 1}, "unknown key 'qqq'$"),
        ({"v_lr": "0.5"}, "'v_lr' is '0.5' .*a number"),
        ({"v_lr": True}, "'v_lr' is True"),
        ({"v_lr": float("nan")}, "'v_lr'"),
        ({"v_lr": 0}, "'v_lr' must be positive"),
        ({"v_num_grad_steps": 2.5}, "a whole number"),
        ({"v_num_grad_steps": 0}, "1 or more"),
        ({"layers": 17}, "a list of a whole number"),
        ({"layers": []}, "ascend"),
        ({"layers": [-1]}, "ascend"),
        ({"mom2_adjustment": 1}, "true or false"),
        ({"fact_token": "last"}, "'subject_last'"),
        ({"kl_factor": -1}, "negative"),
        ({"context_templates": ["no slot"]}, "exactly one"),
        ({"context_template_length_params": [[5]]}, "number of texts"),
    ],
)
def test_bad_keys_and_values(changes, message):
    with pytest.raises(HparamsError, match=message):
        hparams.load("rome", "gpt2-xl", changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm_constraint": True}, "a number or False or null"),
        ({"norm_constraint": 0}, "positive, or false"),
        ({"objective_optimization": "first"}, "'prompt_last' or 'target_new'"),
    ],
)
def test_bad_values_of_fine_tuning(changes, message):
    with pytest.raises(HparamsError, match=message):
        hparams.load("fine_tuning", "gpt2-xl", changes)
    assert hparams.load("fine_tuning", "gpt2-xl", {"norm_constraint": None}) is not None


def test_a_missing_key_is_named():
    values = hparams.load("memit", "gpt2-xl").as_dict()
    del values["mom2_update_weight"]
    with pytest.raises(HparamsError, match="exactly one of 'mom2_update_weight', 'update_share'"):
        registry.get("memit").HyperParams.from_dict(values)


def test_the_digest_tells_values_and_methods_apart():
    rome = hparams.load("rome", "gpt2-xl")
    assert rome.digest == hparams.load("rome", "gpt2-xl").digest
    assert rome.digest != hparams.load("rome", "gpt2-xl", {"v_lr": 0.6}).digest
    assert rome.digest != hparams.load("memit", "gpt2-xl").digest


def test_finding_a_file_imports_no_torch():
    code = (
        "import sys; from thinkeval.editing import hparams; hparams.file_for('rome', 'gpt2-xl'); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_key_of_every_method_is_described_with_its_default():
    for name in registry.names():
        text = hparams.described(name)
        for item in dataclasses.fields(registry.get(name).HyperParams):
            assert f"\n  {item.name} (" in text
    assert "L2 (one of L2, update_share, 0 to 1e+15): weight of" in hparams.described("alphaedit")
    stop = "v_stop_loss (default 0.05, -1e+06 to 1e+06): the optimisation stops once"
    assert stop in hparams.described("memit")
