"""Second moments of the keys: one pass over the texts for all layers.

C = E[k kᵀ], uncentred, over all real tokens; k is the input of the layer's MLP output projection
(Meng et al., ROME §3.1 and App. E.2; MEMIT §4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from typing import Any

import torch
from torch import Tensor, nn

from .. import nethook
from ..deltas import preserved
from ..errors import CovarianceError, DeviceMemoryError
from ..linear_algebra import in_float64
from ..padding import Padded, pad
from .checkpoint import Partial, Progressed
from .texts import Texts

Progress = Callable[[int, int, str], None]

WINDOW = 512
"""Texts that are tokenised and sorted by length together; bounds the memory for texts."""


def second_moments(
    model: nn.Module,
    tokenizer: Any,
    texts: Texts,
    modules: Mapping[str, nn.Module],
    *,
    dtype: torch.dtype,
    max_length: int,
    batch_tokens: int,
    progress: Progress | None = None,
    partial: Partial | None = None,
) -> tuple[dict[str, Tensor], int]:
    """Mean of k kᵀ over the tokens of the texts.

    Args:
        modules: {name: projection} in the order of the forward pass.
        dtype: of products and sums.
        max_length: maximum number of tokens of a text; longer texts are truncated.
        batch_tokens: maximum number of padded tokens per forward pass (a longer text forms a batch
            alone).
        progress: called with (texts done, number of texts, "covariance").
        partial: checkpoint from which the run resumes and to which it writes.

    Returns:
        {name: [d_in, d_in] on the CPU}, number of tokens.

    Raises:
        CovarianceError: there is no text, or a moment is not finite.
        DeviceMemoryError: a batch does not fit on the device.
    """
    device = next(model.parameters()).device
    state = partial.read() if partial else Progressed()
    if progress is not None and state.n_texts:
        progress(state.n_texts, len(texts), "covariance")
    with preserved(model), torch.no_grad():
        for window, place, batch, n_texts in _batches(
            tokenizer, texts, max_length, batch_tokens, state.windows, state.batches
        ):
            try:
                state.n_tokens += _add(model, batch.to(device), modules, state.sums, dtype)
            except torch.OutOfMemoryError as error:
                raise DeviceMemoryError(
                    f"no memory for a batch of {batch.input_ids.numel()} tokens on {device}",
                    remedy="Lower batch_tokens, or use a smaller device type.",
                ) from error
            state.windows, state.batches = window, place
            state.n_texts += n_texts
            if partial is not None:
                partial.write(state)
            if progress is not None:
                progress(state.n_texts, len(texts), "covariance")
    if partial is not None:
        partial.write(state, last=True)
    sums, n_tokens = state.sums, state.n_tokens
    if not n_tokens:
        raise CovarianceError("there is no text to collect the covariance from")
    moments = {name: (total / n_tokens).cpu() for name, total in sums.items()}
    for name, moment in moments.items():
        if not torch.isfinite(moment).all():
            raise CovarianceError(
                f"the covariance of {name} is not finite", remedy="Load the model in float32."
            )
    return moments, n_tokens


def _add(
    model: nn.Module,
    batch: Padded,
    modules: Mapping[str, nn.Module],
    sums: dict[str, Tensor],
    dtype: torch.dtype,
) -> int:
    """Add the keys of a batch to the sums, a layer's as it runs; return the number of tokens."""
    last = list(modules.values())[-1]
    real = batch.attention_mask.bool()

    def add(name: str, inputs: Tensor) -> None:
        keys = inputs[real.to(inputs.device)]
        keys = in_float64(keys) if dtype == torch.float64 else keys.to(dtype)
        if name not in sums:
            sums[name] = torch.zeros(keys.shape[1], keys.shape[1], dtype=dtype, device=keys.device)
        sums[name] = sums[name].to(keys.device).addmm_(keys.T, keys)

    with nethook.reading(modules, add), nethook.recording(stop_before=last):
        nethook.forward(model, batch.inputs())
    return int(real.sum())


def _batches(
    tokenizer: Any,
    texts: Texts,
    max_length: int,
    batch_tokens: int,
    windows_done: int,
    batches_done: int,
) -> Iterator[tuple[int, int, Padded, int]]:
    """The remaining batches: (window, batches of the window so far, batch, number of texts)."""
    left = iter(texts)
    for _ in islice(left, windows_done * WINDOW):
        pass
    for window in count(windows_done):
        chunk = list(islice(left, WINDOW))
        if not chunk:
            return
        batches = _window(tokenizer, chunk, max_length, batch_tokens)
        skipped = batches_done if window == windows_done else 0
        for place, (batch, n_texts) in islice(enumerate(batches, 1), skipped, None):
            yield window, place, batch, n_texts


def _window(
    tokenizer: Any, texts: list[str], max_length: int, batch_tokens: int
) -> Iterator[tuple[Padded, int]]:
    """Batches of texts of similar length, each with its number of texts (empty texts counted)."""
    encoded: list[list[int]] = tokenizer(
        texts, truncation=True, max_length=max_length, return_attention_mask=False
    )["input_ids"]
    rows = sorted((row for row in encoded if row), key=len)
    skipped = len(encoded) - len(rows)
    while rows:
        size = max(1, min(len(rows), batch_tokens // len(rows[-1])))
        chosen, rows = rows[-size:], rows[:-size]
        yield pad(chosen, tokenizer.pad_token_id or 0), size + skipped
        skipped = 0
