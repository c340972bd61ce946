"""Batches that fit: bounded by tokens, halved when the device runs out of memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import psutil
import torch

from thinkeval.editing.errors import DeviceMemoryError

MAX_TOKENS = 32_768
"""No batch is made larger than this by itself: beyond it, a batch gains nothing."""

MIN_TOKENS = 512

_MEMORY_SHARE = 0.25
"""How much of the free memory the keys and values of one batch may take; activations, logits and
the copy made when rows are dropped need room as well."""


def in_batches(
    costs: Sequence[int],
    limit: int,
    work: Callable[[list[int]], None],
    *,
    what: str = "the batch",
    done: Callable[[int, int], None] | None = None,
) -> None:
    """Call `work` with the indices 0 .. len(costs)-1 in batches, each index once.

    The largest come first, so that running out of memory happens at once and not at the end. When
    the device has no memory left, the batch and the limit for all later ones are halved.

    Args:
        costs: tokens of each row. A batch is padded to its largest row, and costs its number of
            rows times that; a single row may exceed the limit.
        limit: tokens of a batch.
        work: must have no lasting effect when it raises.
        what: for the error text.
        done: called before the first batch and after each, with the rows done and in total.

    Raises:
        DeviceMemoryError: one row alone does not fit.
    """
    waiting = _split(sorted(range(len(costs)), key=lambda i: -costs[i]), costs, limit)
    finished = 0
    while waiting:
        if done is not None:
            done(finished, len(costs))
        batch = waiting.pop(0)
        if _fits(work, batch):
            finished += len(batch)
            continue
        if len(batch) == 1:
            raise DeviceMemoryError(
                f"no memory for {what}, not even for one row of {costs[batch[0]]} tokens"
            )
        limit = max(1, costs[batch[0]] * len(batch) // 2)
        rest = batch + [index for later in waiting for index in later]
        waiting = _split(rest, costs, limit)
    if done is not None:
        done(finished, len(costs))


_CPU_WORK = 3e12
"""Tokens times parameters of a batch on a CPU: about a minute, so that progress is seen."""


def default_tokens(model: Any) -> int:
    """How many tokens a batch may have.

    Its keys and values take at most a quarter of the memory that is free on the model's device;
    on a CPU, a large model's batches are kept short enough to show progress. Between `MIN_TOKENS`
    and `MAX_TOKENS`.
    """
    config = model.config.get_text_config()
    parameter = next(model.parameters())
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    per_token = 2 * config.num_hidden_layers * heads * size * parameter.element_size()
    most = float(MAX_TOKENS)
    if parameter.device.type == "cuda":
        free = torch.cuda.mem_get_info(parameter.device)[0]
    else:
        free = psutil.virtual_memory().available
    if parameter.device.type == "cpu":
        most = min(most, _CPU_WORK / sum(p.numel() for p in model.parameters()))
    return int(max(MIN_TOKENS, min(most, _MEMORY_SHARE * free / per_token)))


def _fits(work: Callable[[list[int]], None], batch: list[int]) -> bool:
    try:
        work(batch)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    else:
        return True
    # Outside the handler: the error's traceback keeps the tensors of the failed batch alive.
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return False


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that a device is full; CPU and MPS raise a plain RuntimeError."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "can't allocate memory" in text or "alloc_failed" in text
    )


def _split(order: Sequence[int], costs: Sequence[int], limit: int) -> list[list[int]]:
    """Neighbours in `order` (largest first) in batches of at most `limit` tokens, padded."""
    batches: list[list[int]] = []
    room = 0
    for index in order:
        if not batches or room < 1:
            batches.append([])
            room = max(1, limit // max(1, costs[index]))
        batches[-1].append(index)
        room -= 1
    return batches
