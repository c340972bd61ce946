"""The fixture of a real model: its file is the published one, its folder loads."""

from __future__ import annotations

from support import real_model
from thinkeval.editing.models import load


def test_the_folder_loads_as_the_model_that_it_is() -> None:
    loaded = load(real_model.model_folder(), device="cpu")
    assert loaded.info.architecture == "llama"
    assert loaded.info.n_parameters == 134_515_008
    assert loaded.tokenizer.chat_template is not None
