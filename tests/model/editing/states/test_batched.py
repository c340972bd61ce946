"""Every architecture that can be edited can be asked in batches, in each number type."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from support.tiny_architectures import pair_of
from thinkeval.editing import architectures
from thinkeval.editing.models import wrap
from thinkeval.editing.states.batched import require_batches


@pytest.mark.parametrize("architecture", architectures.names())
def test_models_that_can_be_edited_are_accepted(architecture: str) -> None:
    model, tokenizer = pair_of(architecture)
    require_batches(wrap(model, tokenizer, name="whole"))
    require_batches(wrap(deepcopy(model).to(torch.bfloat16), tokenizer, name="half"))
