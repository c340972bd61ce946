"""`model hparams suggest`: from a folder's configuration to a file that `--hparams` takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import transformers
from typer.testing import CliRunner

from support.tiny_architectures import config_of
from thinkeval.editing import hparams
from thinkeval.editing.errors import ModelLoadError, UnsupportedArchitectureError
from thinkeval.service.cli.main import app
from thinkeval.service.scoring.hyperparameters import for_model


def folder(path: Path, name: str, n_layers: int = 16) -> str:
    config_of(name, n_layers=n_layers).save_pretrained(path)
    return str(path)


def test_the_command_writes_a_file_that_is_taken(tmp_path: Path) -> None:
    """Only config.json is there: no weights are read."""
    model, file = folder(tmp_path / "m", "llama"), tmp_path / "memit.yaml"
    done = CliRunner().invoke(app, ["model", "hparams", "suggest", model, "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert hparams.load("memit", file).layers == (2, 3, 4)
    assert "# The model: llama, 16 layers, d_model 32." in file.read_text()
    printed = CliRunner().invoke(app, ["model", "hparams", "suggest", model])
    assert printed.output == file.read_text()
    asked = ["model", "hparams", "suggest", model, "-m", "rome", "--json"]
    values = json.loads(CliRunner().invoke(app, asked).output)
    assert values["values"]["layers"] == [2]
    assert set(values["origins"]) == set(values["values"])


def test_a_model_with_an_image_encoder_has_the_layers_of_its_language_model(tmp_path: Path) -> None:
    found = for_model(folder(tmp_path, "gemma3"), "memit")
    assert found.suggestion.values["v_loss_layer"] == 15
    assert any("residual_left" in note for note in found.notes)


@pytest.mark.parametrize(("method", "said"), [("memit", True), ("rome", False)])
def test_what_a_norm_leaves_out_is_said_of_the_memit_family(
    tmp_path: Path, method: str, said: bool
) -> None:
    notes = for_model(folder(tmp_path, "olmo2"), method).notes
    assert any("residual_left" in note for note in notes) == said


def test_a_file_that_ships_is_named(tmp_path: Path) -> None:
    model = folder(tmp_path / "gpt2-xl", "gpt2", 48)
    assert "memit/gpt2-xl.json" in " ".join(for_model(model, "memit").notes)


def test_models_that_cannot_be_edited_are_refused(tmp_path: Path) -> None:
    transformers.MixtralConfig().save_pretrained(tmp_path)
    with pytest.raises(UnsupportedArchitectureError, match="mixture of experts"):
        for_model(str(tmp_path), "memit")
    transformers.OPTConfig().save_pretrained(tmp_path)
    with pytest.raises(UnsupportedArchitectureError, match="no adapter for the architecture 'opt'"):
        for_model(str(tmp_path), "memit")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelLoadError, match="configuration"):
        for_model(str(tmp_path), "memit")
