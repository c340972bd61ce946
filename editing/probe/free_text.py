"""Free generation after a prompt, for fluency and consistency.

As in the evaluation of Meng et al. 2022 (ROME): each next token is drawn from the TOP_K most likely
ones, one text per prompt, up to MAX_TOKENS tokens including the prompt; an end-of-text token does
not end a text, it is only not shown. The random numbers of a text depend on the seed and its prompt
only, so a text does not depend on its batch, and the same numbers are used before and after an
edit.

Prompts are always plain texts: a chat template would request an answer, not a continuation.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import ProbeError
from ..evaluation_mode import evaluating
from ..joint import parted
from ..models import LoadedModel
from .batching import in_batches, room_for
from .decoding import Continuation, position_limit
from .prompts import PromptChange, Renderer, prompt_ids

TOP_K = 5
MAX_TOKENS = 100
"""Maximum number of tokens of a text: prompt, BOS and continuation. Demonstrations of an in-context
edit are not counted."""

_LOGITS = 2
"""Vectors of the vocabulary's size for a row: the last logits and the next ones."""


@dataclass(frozen=True, slots=True)
class _Start:
    """A prompt as token ids, and the number of tokens to generate."""

    plain: str
    ids: tuple[int, ...]
    room: int


@torch.no_grad()
def generate(
    loaded: LoadedModel,
    prompts: Sequence[str],
    *,
    seed: int,
    top_k: int = TOP_K,
    max_tokens: int = MAX_TOKENS,
    prompt_change: PromptChange | None = None,
    batch_tokens: int | None = None,
    done: Callable[[int, int], None] | None = None,
) -> list[str]:
    """One text per prompt, including the prompt; equal prompts give equal texts.

    Model, tokenizer and the global random state are unchanged on return.

    Args:
        loaded: the model; for an edited model call this inside `with applied(model, effect)`.
        max_tokens: limited by the model's number of positions.
        prompt_change: applied to each prompt (in-context editing), but not shown in the text.
        batch_tokens: maximum tokens of a batch, by default as many as fit; texts do not change.
        done: called with the numbers of completed and of all texts.

    Raises:
        ProbeError: a prompt is too long to be continued, or NaN from the model.
        DeviceMemoryError: a single row does not fit.
    """
    renderer = Renderer(loaded.tokenizer, "never", prompt_change)
    distinct = list(dict.fromkeys(prompts))
    starts = [_start(loaded, renderer, prompt, max_tokens) for prompt in distinct]
    texts: dict[str, str] = {}

    def work(indices: list[int]) -> None:
        batch = [starts[i] for i in indices]
        for start, tail in zip(batch, _continue(loaded, batch, top_k, seed), strict=True):
            texts[start.plain] = start.plain + tail

    with evaluating(loaded.model):
        room = room_for(loaded.model, batch_tokens)
        costs = [room.cost(len(start.ids) + start.room, _LOGITS) for start in starts]
        in_batches(costs, room.tokens, work, what="free generation", done=done)
    return [texts[parted(prompt)[0]] for prompt in prompts]


def _start(loaded: LoadedModel, renderer: Renderer, prompt: str, max_tokens: int) -> _Start:
    rendered = renderer.cloze(prompt)
    ids = prompt_ids(loaded.tokenizer, rendered)
    bare = Renderer(loaded.tokenizer, "never").cloze(prompt)
    room = max_tokens - len(prompt_ids(loaded.tokenizer, bare))
    limit = position_limit(loaded.model)
    if limit is not None:
        room = min(room, limit - len(ids))
    if not ids or room < 1:
        raise ProbeError(
            f"the generation prompt '{prompt}' has {len(ids)} tokens and leaves no room for a text",
            remedy="Shorten the prompt.",
        )
    return _Start(bare.text, tuple(ids), room)


def _continue(loaded: LoadedModel, batch: Sequence[_Start], top_k: int, seed: int) -> list[str]:
    """The continuation of each prompt."""
    numbers = [_stream(start, seed) for start in batch]
    tokens: list[list[int]] = [[] for _ in batch]
    alive = list(range(len(batch)))
    pad_id = loaded.tokenizer.pad_token_id
    state = Continuation(loaded.model, [start.ids for start in batch], pad_id)
    while True:
        drawn = torch.tensor([numbers[row][len(tokens[row])] for row in alive])
        chosen = _draw(state.logits, drawn, top_k, [batch[row].plain for row in alive])
        for row, token in zip(alive, chosen, strict=True):
            tokens[row].append(token)
        going = [i for i, row in enumerate(alive) if len(tokens[row]) < batch[row].room]
        if not going:
            break
        alive = [alive[i] for i in going]
        state.extend(chosen, going)
    return [
        _tail(loaded.tokenizer, start.ids, new) for start, new in zip(batch, tokens, strict=True)
    ]


def _draw(logits: Tensor, numbers: Tensor, top_k: int, names: Sequence[str]) -> list[int]:
    """One token per row by inverting the distribution over the `top_k` most likely tokens.

    Args:
        logits: [rows, vocabulary].
        numbers: [rows], random in [0, 1).
        names: the rows' prompts, for the error message.
    """
    best, tokens = logits.float().topk(min(top_k, logits.shape[-1]))
    reached = best.softmax(-1).cpu().double().cumsum(-1)
    bad = ~torch.isfinite(reached[:, -1])
    if bad.any():
        name = names[int(bad.nonzero()[0])]
        raise ProbeError(f"the model gives NaN or infinite logits after '{name}'")
    index = torch.searchsorted(reached, numbers.double()[:, None] * reached[:, -1:], right=True)
    return tokens.cpu().gather(1, index.clamp(max=best.shape[-1] - 1))[:, 0].tolist()


def _stream(start: _Start, seed: int) -> list[float]:
    """Random numbers in [0, 1), one per token to generate."""
    name = f"{seed}|free|{start.plain}".encode()
    source = random.Random(int.from_bytes(hashlib.sha256(name).digest()[:16]))
    return [source.random() for _ in range(start.room)]


def _tail(tokenizer: Any, prompt: Sequence[int], new: Sequence[int]) -> str:
    """The text of the new tokens as it follows the prompt (SentencePiece drops a first space)."""
    options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    head = tokenizer.decode(list(prompt), **options)
    joined = tokenizer.decode([*prompt, *new], **options)
    return (
        joined[len(head) :] if joined.startswith(head) else tokenizer.decode(list(new), **options)
    )
