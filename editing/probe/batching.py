"""Batches bounded by tokens, halved when the device runs out of memory."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psutil
import torch

from .. import interruption
from ..errors import DeviceMemoryError

MAX_TOKENS = 32_768
"""Upper bound of the default batch size: larger batches are not faster."""

MIN_TOKENS = 512

_MEMORY_SHARE = 0.25
"""Fraction of the memory beside the weights for one batch; the rest is for other programs, and for
the copy of keys and values when rows are removed."""

_WEIGHTS_SHARE = 0.5
"""On a CPU, a batch takes at most this fraction of the weights' memory, so that a probe takes less
than twice the weights. Smaller batches read the weights more often, and take more time."""

_LEAST_BYTES = 2**28
"""Memory that a batch may take beside the smallest model."""


def in_batches(
    costs: Sequence[int],
    limit: int,
    work: Callable[[list[int]], None],
    *,
    what: str = "the batch",
    done: Callable[[int, int], None] | None = None,
) -> int:
    """Call `work` with the indices 0 .. len(costs)-1 in batches, each index once.

    The largest rows come first, so that running out of memory happens early. When the device runs
    out of memory, the batch and the limit of all later batches are halved.

    Args:
        costs: tokens of each row (`Room.cost`). A batch costs its number of rows times its largest
            row; a single row may exceed the limit.
        limit: maximum number of tokens of a batch.
        work: must have no side effects when it raises.
        what: name of the computation in the error message.
        done: called before the first batch and after each, with the numbers of completed and of
            all rows.

    Returns:
        The limit of the last batch, below `limit` where memory was short: further calls with it do
        not run out of memory again.

    Raises:
        DeviceMemoryError: a single row does not fit.
    """
    waiting = _split(sorted(range(len(costs)), key=lambda i: -costs[i]), costs, limit)
    finished = 0
    while waiting:
        interruption.check()
        if done is not None:
            done(finished, len(costs))
        batch = waiting.pop(0)
        if _fits(work, batch):
            finished += len(batch)
            continue
        if len(batch) == 1:
            raise DeviceMemoryError(
                f"no memory for {what}, not even for one row of {costs[batch[0]]} tokens, its "
                "logits counted as tokens"
            )
        limit = max(1, costs[batch[0]] * len(batch) // 2)
        rest = batch + [index for later in waiting for index in later]
        waiting = _split(rest, costs, limit)
    if done is not None:
        done(finished, len(costs))
    return limit


_CPU_WORK = 5e11
"""Maximum of tokens times parameters of a CPU batch: about ten seconds, for visible progress.
Larger batches are not faster there, and take more memory."""

_NUMBER = 4
"""Bytes of a number of the logits where a probability is computed: float32."""


@dataclass(frozen=True, slots=True)
class Room:
    """The size of a batch that fits.

    Attributes:
        tokens: maximum number of tokens of a batch, padding counted.
        logits: how many tokens take as much memory as the logits of one position; 0 where the
            caller has set the number of tokens.
        per_token: bytes of a token; 0 likewise.
    """

    tokens: int
    logits: int
    per_token: int = 0

    def cost(self, tokens: int, positions: int) -> int:
        """Return the tokens that a row counts as.

        Args:
            tokens: of the row.
            positions: float32 vectors of the vocabulary's size that are in memory for the row at
                the same time.
        """
        return tokens + positions * self.logits


def room_for(
    model: Any,
    batch_tokens: int | None = None,
    *,
    growing: bool = False,
    device: torch.device | None = None,
) -> Room:
    """Return the size of a batch: `batch_tokens`, or the largest that fits if None.

    By default it is between `MIN_TOKENS` and `MAX_TOKENS`. Keys and values, activations and logits
    use at most a quarter of the memory that the model's device has beside the weights, and on a CPU
    half of what the weights take; the batches of a large model are short enough there to show
    progress. Of several devices it is the one with the least. So a command has the same batches,
    and the same bits, whatever else is in memory, unless that leaves less than a batch.

    Args:
        growing: rows grow from a few tokens, one at a time, and show progress with each: the tokens
            before it have keys and values only.
        device: where a model without weights is to be.
    """
    if batch_tokens is not None:
        return Room(batch_tokens, 0)
    config = model.config.get_text_config()
    parameter = next(model.parameters())
    active = 0 if growing else _active_width(config)
    per_token = (cached_numbers(config) + active) * parameter.element_size()
    logits = -(-_NUMBER * int(config.vocab_size) // per_token)
    most, weights = float(MAX_TOKENS), weight_bytes(model)
    place = device or parameter.device
    held: Counter[torch.device] = Counter()
    for each in model.parameters():
        held[device or each.device] += each.numel() * each.element_size()
    room = min(_planned(*at) for at in held.items())
    if place.type == "cpu":
        room = min(room, max(_LEAST_BYTES, _WEIGHTS_SHARE * weights))
        if not growing:
            most = min(most, _CPU_WORK / sum(p.numel() for p in model.parameters()))
    tokens = int(max(MIN_TOKENS, min(most, room / per_token)))
    return Room(tokens, logits, per_token)


def _planned(device: torch.device, weights: int) -> float:
    """Bytes of a device that a batch may take beside weights of so many bytes."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    else:
        memory = psutil.virtual_memory()
        free, total = memory.available, memory.total
    return min(_MEMORY_SHARE * (total - weights), free)


def cached_numbers(config: Any) -> int:
    """Numbers of the keys and values of one token, in all layers."""
    return 2 * config.num_hidden_layers * _cached_width(config)


def weight_bytes(model: Any) -> int:
    """Bytes of all parameters, tied ones counted once."""
    return sum(each.numel() * each.element_size() for each in model.parameters())


def _cached_width(config: Any) -> int:
    """Numbers of a key of one token in one layer; the model's width where it has no attention."""
    n_heads = getattr(config, "num_attention_heads", None)
    if not n_heads:  # Mamba, RWKV: complete rows are evaluated again, and activations are as wide
        return config.hidden_size
    size = getattr(config, "head_dim", None) or config.hidden_size // n_heads
    return (getattr(config, "num_key_value_heads", None) or n_heads) * size


def _active_width(config: Any) -> int:
    """Numbers of one token that a layer has in memory: hidden states, and those of its MLP."""
    names = ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size")
    inner = next(
        (size for name in names if isinstance(size := getattr(config, name, None), int)), 0
    )
    return 4 * config.hidden_size + 3 * (inner or 4 * config.hidden_size)


def _fits(work: Callable[[list[int]], None], batch: list[int]) -> bool:
    try:
        work(batch)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    else:
        return True
    # Outside the handler: the error's traceback references the tensors of the failed batch.
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return False


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error means out of memory; CPU and MPS raise a plain RuntimeError."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "can't allocate memory" in text or "alloc_failed" in text
    )


def padded(costs: Sequence[int], limit: int) -> int:
    """Return the tokens of the batches of `in_batches`, padding counted."""
    order = sorted(range(len(costs)), key=lambda i: -costs[i])
    return sum(len(batch) * costs[batch[0]] for batch in _split(order, costs, limit))


def _split(order: Sequence[int], costs: Sequence[int], limit: int) -> list[list[int]]:
    """Split `order` (largest first) into batches of at most `limit` tokens, padding counted."""
    batches: list[list[int]] = []
    room = 0
    for index in order:
        if not batches or room < 1:
            batches.append([])
            room = max(1, limit // max(1, costs[index]))
        batches[-1].append(index)
        room -= 1
    return batches
