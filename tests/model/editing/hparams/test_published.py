"""Hyperparameter files of EasyEdit and AlphaEdit: read as they are; a note has what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.editing import hparams
from thinkeval.editing.errors import HparamsError
from thinkeval.service.base.errors import UsageError
from thinkeval.service.scoring.hyperparameters import by_method

EASYEDIT: dict[str, Any] = {
    "alg_name": "MEMIT", "model_name": "./hub/mine", "stats_dir": "./stats", "device": 1,
    "layers": [3, 4], "clamp_norm_factor": 4, "layer_selection": "all",
    "fact_token": "subject_last", "v_num_grad_steps": 25, "v_lr": 0.5, "v_loss_layer": 11,
    "v_weight_decay": 1e-3, "kl_factor": 0.0625, "mom2_adjustment": True,
    "mom2_update_weight": 15000, "rewrite_module_tmp": "model.layers.{}.mlp.down_proj",
    "layer_module_tmp": "model.layers.{}", "mlp_module_tmp": "model.layers.{}.mlp",
    "attn_module_tmp": "model.layers.{}.self_attn", "ln_f_module": "model.norm",
    "lm_head_module": "lm_head", "mom2_dataset": "wikipedia", "mom2_n_samples": 100_000,
    "mom2_dtype": "float32", "model_parallel": False, "fp16": True, "batch_size": 10,
}  # fmt: skip
LEFT_OUT = {"alg_name", "stats_dir", "device", "model_parallel", "fp16", "batch_size"}


def written(path: Path, values: dict[str, Any]) -> Path:
    """JSON is YAML too."""
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_file_of_easyedit_is_read_as_it_is(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path / f"mine.{ending}", EASYEDIT)
    loaded = hparams.load("memit", path)
    ours = {key: value for key, value in EASYEDIT.items() if key not in LEFT_OUT}
    assert loaded == hparams.from_values("memit", ours, None, source="")
    notice = hparams.unused("memit", EASYEDIT, source=path.name)
    assert notice is not None
    assert all(f"{key} (" in notice for key in LEFT_OUT)
    assert not any(f"{key} (" in notice for key in ours)
    assert hparams.unused("memit", ours, source=path.name) is None


def test_a_key_that_the_method_has_is_read(tmp_path: Path) -> None:
    values = {
        "alg_name": "FT", "layers": [2], "num_steps": 25, "batch_size": 3, "lr": 5e-4,
        "max_length": 30, "weight_decay": 0, "kl_factor": 0, "norm_constraint": False,
    }  # fmt: skip
    loaded = hparams.load("fine_tuning", written(tmp_path / "mine.json", values))
    assert loaded.as_dict()["batch_size"] == 3
    notice = hparams.unused("fine_tuning", values, source="mine.json")
    assert notice is not None
    assert "batch_size" not in notice


@pytest.mark.parametrize(
    ("changes", "told", "remedy"),
    [
        ({"alg_name": "ROME"}, "alg_name is 'ROME', and the method is 'memit'", "-m rome"),
        ({"alg_name": "GRACE"}, "alg_name is 'GRACE', and", "There is no method 'grace'"),
        ({"devise": 1}, "unknown key 'devise'", ""),
        ({"alg_name": 5, "v_lrr": 1}, "unknown key 'v_lrr'; did you mean 'v_lr'?", ""),
    ],
)  # fmt: skip
def test_another_method_and_an_unknown_key_are_refused(
    tmp_path: Path, changes: dict[str, Any], told: str, remedy: str
) -> None:
    with pytest.raises(HparamsError) as caught:
        hparams.load("memit", written(tmp_path / "mine.json", EASYEDIT | changes))
    assert told in caught.value.detail
    assert remedy in caught.value.remedy


def test_an_override_is_no_key_of_another_program(tmp_path: Path) -> None:
    with pytest.raises(HparamsError, match="unknown key 'device'"):
        hparams.load("memit", written(tmp_path / "mine.json", EASYEDIT), {"device": 1})


def test_the_file_of_each_method_is_found_by_alg_name(tmp_path: Path) -> None:
    memit = str(written(tmp_path / "llama-7b.yaml", EASYEDIT))
    rome = str(written(tmp_path / "llama.yaml", EASYEDIT | {"alg_name": "ROME"}))
    assert by_method(["rome", "memit", "none"], [memit, rome]) == {"rome": rome, "memit": memit}
    with pytest.raises(UsageError, match="hyperparameters of none of the methods"):
        by_method(["rect", "prune"], [memit])


def test_the_published_sample(data_dir: Path) -> None:
    path = data_dir / "others" / "easyedit_hparams_AlphaEdit_qwen3.5-9b.yaml"
    if not path.is_file():
        pytest.skip("the sample is not beside this checkout")
    loaded = hparams.load("alphaedit", path).as_dict()
    stated = hparams.read(path)
    for key in ("L2", "nullspace_threshold", "v_lr", "v_loss_layer", "layers"):
        value = loaded[key]
        assert (list(value) if isinstance(value, tuple) else value) == stated[key]
    notice = hparams.unused("alphaedit", stated, source="it")
    assert notice is not None
    assert set(stated) - set(loaded) == {"alg_name", "stats_dir", "P_loc", "device"}
    assert all(f"{key} (" in notice for key in set(stated) - set(loaded))
