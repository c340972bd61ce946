"""A model in memory, borrowed from its owner: asked, and left as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..evaluation_mode import evaluating
from ..models import LoadedModel, wrap


@contextmanager
def borrowed(model: Any, tokenizer: Any, name: str) -> Iterator[LoadedModel]:
    """`LoadedModel` of a user's model and tokenizer for the duration of a `with` block.

    On exit each module's training flag and the tokenizer's pad token are as before.

    Raises:
        ModelLoadError: the tokenizer belongs to another model or has no token for padding, or the
            weights are partly on the CPU or on disk.
    """
    pad = tokenizer.pad_token
    with evaluating(model):
        try:
            yield wrap(model, tokenizer, name=name)
        finally:
            if tokenizer.pad_token != pad:
                tokenizer.pad_token = pad
