"""Texts sampled from the unedited model itself: a corpus for a model that comes without one.

Each text starts at the document's start token and is sampled at temperature 1 from the whole
vocabulary, so that its keys are those of the text that the model itself finds likely.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from torch import nn

from ...loaders.records import digest
from ..atomic_write import whole_file
from ..deltas import preserved
from ..errors import CovarianceError
from .moments import Progress
from .texts import TextFile

SEQUENCES, LENGTH, SEED = 64, 128, 0
"""Texts, tokens of a text, and the seed."""
DESCRIPTION = f"{SEQUENCES} texts of {LENGTH} tokens, seed {SEED}"
BATCH = 64
"""Texts that are sampled together."""


def key(model_digest: str) -> str:
    """Identifies the samples of a model without drawing them."""
    return digest(["own samples", SEQUENCES, LENGTH, BATCH, SEED, model_digest])


def file(
    model: nn.Module, tokenizer: Any, path: Path, progress: Progress | None = None
) -> TextFile:
    """The samples as a file, drawn at the first use; concurrent processes draw them once.

    Raises:
        CovarianceError: as `sampled`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        if not path.is_file():
            texts = sampled(model, tokenizer, seed=SEED, progress=progress)
            with whole_file(path) as out:
                out.write_text("".join(f"{json.dumps(text)}\n" for text in texts))
    return TextFile(path)


@torch.no_grad()
def sampled(
    model: nn.Module,
    tokenizer: Any,
    *,
    seed: int,
    sequences: int = SEQUENCES,
    length: int = LENGTH,
    progress: Progress | None = None,
) -> list[str]:
    """Texts of `length` tokens each, in the order in which they are drawn.

    Args:
        seed: of a separate generator; the global random state is unchanged.
        progress: called with (tokens done, number of tokens, "sampling texts of the model").

    Raises:
        CovarianceError: the tokenizer has no token to start a text with.
    """
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    start, texts = start_token(tokenizer), []
    with preserved(model):
        for first in range(0, sequences, BATCH):
            size = min(BATCH, sequences - first)
            ids, past = torch.full((size, 1), start), None
            columns: list[torch.Tensor] = []
            for step in range(length):
                inputs = {"input_ids": ids.to(device), "past_key_values": past}
                out: Any = model(**inputs, use_cache=True)
                past = out.past_key_values
                chances = out.logits[:, -1].float().softmax(-1).cpu()
                ids = torch.multinomial(chances, 1, generator=generator)
                columns.append(ids)
                if progress is not None:
                    done = first * length + (step + 1) * size
                    progress(done, sequences * length, "sampling texts of the model")
            rows = torch.cat(columns, 1).tolist()
            texts += tokenizer.batch_decode(rows, skip_special_tokens=True)
    return texts


def start_token(tokenizer: Any) -> int:
    """The token that the tokenizer puts in front of plain text, else its end-of-text token.

    The configured BOS is not asked: in chat models it may be the token that begins a turn.
    """
    with_special = tokenizer("a")["input_ids"]
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    if len(with_special) > len(plain) and with_special[-len(plain) :] == plain:
        return int(with_special[0])
    for token in (_separator(tokenizer), tokenizer.eos_token_id, tokenizer.bos_token_id):
        if token is not None:
            return int(token)
    raise CovarianceError(
        "the tokenizer has no token that starts or ends a text",
        remedy="Name a corpus with --covariance.",
    )


def _separator(tokenizer: Any) -> int | None:
    """The id of `<|endoftext|>`, which separates documents where EOS ends a chat's turn."""
    return tokenizer.get_vocab().get("<|endoftext|>")
