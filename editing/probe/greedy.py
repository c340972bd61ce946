"""Greedy decoding: one answer per question.

Questions are rendered like a probe's clozes (`editing.probe.prompts`), and answers are truncated
like a probe's: at the end of the first sentence. The sentence's full stop is not part of the
answer, so that answers can be compared with names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import ProbeError
from ..evaluation_mode import evaluating
from ..models import LoadedModel
from .batching import in_batches, room_for
from .decoding import Continuation, position_limit
from .matching import first_sentence, sentence_end
from .prompts import Rendered, Renderer, prompt_ids
from .sampled import end_tokens

MAX_NEW_TOKENS = 12
"""Maximum length of an answer, as in DepEdit's code for BART."""

_LOGITS = 2
"""Vectors of the vocabulary's size for a row: the last logits and the next ones."""


@torch.no_grad()
def answers(
    loaded: LoadedModel,
    questions: Sequence[str],
    *,
    names: Sequence[str] = (),
    chat: str = "auto",
    max_new_tokens: int = MAX_NEW_TOKENS,
    batch_tokens: int | None = None,
    done: Callable[[int, int], None] | None = None,
) -> list[str]:
    """The greedy answer to each question, in order; equal questions are evaluated once.

    Model and tokenizer are unchanged on return.

    Args:
        loaded: for an edited model call this inside `with applied(model, effect)`.
        questions: complete clozes.
        names: names whose dots do not end a sentence (`Apple Inc.`).
        chat: use of the tokenizer's chat template: auto, always or never.
        max_new_tokens: maximum length of an answer; longer answers are truncated.
        batch_tokens: maximum tokens of a batch, by default as many as fit.
        done: called with the numbers of completed and of all distinct questions.

    Raises:
        ProbeError: a question is empty or too long for the model, or NaN from the model.
        DeviceMemoryError: a single question does not fit.
    """
    renderer = Renderer(loaded.tokenizer, chat)
    distinct = list(dict.fromkeys(questions))
    prompts = [_prompt(loaded, renderer, question, max_new_tokens) for question in distinct]
    found: dict[str, str] = {}

    def is_sentence(text: str) -> bool:
        return sentence_end(text.lstrip(), tuple(names), unfinished=True) is not None

    def work(indices: list[int]) -> None:
        batch = _Batch(loaded, [prompts[i] for i in indices], is_sentence, max_new_tokens)
        asked = [distinct[i] for i in indices]
        texts = (cut(each.text, names) for each in batch.generate(asked))
        found.update(zip(asked, texts, strict=True))

    with evaluating(loaded.model):
        room = room_for(loaded.model, batch_tokens)
        costs = [room.cost(len(ids) + max_new_tokens, _LOGITS) for ids in prompts]
        in_batches(costs, room.tokens, work, what="greedy answers", done=done)
    return [found[question] for question in questions]


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as the model wrote it; `stopped` is True if the model ended it by itself."""

    text: str
    stopped: bool
    tokens: int


@torch.no_grad()
def written(
    loaded: LoadedModel,
    prompts: Sequence[Rendered],
    *,
    max_new_tokens: int,
    line: bool = False,
    batch_tokens: int | None = None,
) -> list[Written]:
    """The greedy answer to each rendered prompt, until the model ends it, in order.

    Args:
        line: an answer also ends before the first line break behind its first word.

    Raises:
        ProbeError: a prompt is empty or leaves no room for the answer, or NaN from the model.
        DeviceMemoryError: a single prompt does not fit.
    """
    distinct = list(dict.fromkeys(prompts))
    ids = [
        _checked(loaded, prompt_ids(loaded.tokenizer, each), each.text, max_new_tokens)
        for each in distinct
    ]
    found: dict[Rendered, Written] = {}

    def is_line(text: str) -> bool:
        return line and "\n" in text.lstrip()

    def work(indices: list[int]) -> None:
        batch = _Batch(loaded, [ids[i] for i in indices], is_line, max_new_tokens)
        asked = [distinct[i] for i in indices]
        for prompt, each in zip(asked, batch.generate([p.text for p in asked]), strict=True):
            text = each.text.strip()
            kept = text.split("\n", 1)[0].rstrip() if line else text
            found[prompt] = Written(kept, each.stopped, each.tokens)

    with evaluating(loaded.model):
        room = room_for(loaded.model, batch_tokens)
        costs = [room.cost(len(each) + max_new_tokens, _LOGITS) for each in ids]
        in_batches(costs, room.tokens, work, what="written answers")
    return [found[prompt] for prompt in prompts]


def _prompt(loaded: LoadedModel, renderer: Renderer, question: str, room: int) -> list[int]:
    ids = prompt_ids(loaded.tokenizer, renderer.cloze(question)) if question.strip() else []
    return _checked(loaded, ids, question, room)


def _checked(loaded: LoadedModel, ids: list[int], question: str, room: int) -> list[int]:
    limit = position_limit(loaded.model)
    if not ids:
        raise ProbeError("a question is empty", remedy="Give each fact a prompt.")
    if limit is not None and len(ids) + room > limit:
        raise ProbeError(
            f"the question '{question}' has {len(ids)} tokens, with {room} for the answer; the "
            f"model reads {limit}",
            remedy="Shorten the question.",
        )
    return ids


class _Batch:
    """The answers of one batch of prompts."""

    def __init__(
        self,
        loaded: LoadedModel,
        prompts: list[list[int]],
        ends: Callable[[str], bool],
        length: int,
    ) -> None:
        self._loaded, self._prompts = loaded, prompts
        self._ends, self._length = ends, length
        self._stopped = [False] * len(prompts)
        self._stop = end_tokens(loaded)
        self._tokens: list[list[int]] = [[] for _ in prompts]

    def generate(self, questions: Sequence[str]) -> list[Written]:
        """The answers; errors name `questions`."""
        state = Continuation(self._loaded.model, self._prompts, self._loaded.tokenizer.pad_token_id)
        alive = list(range(len(self._prompts)))
        for step in range(self._length):
            if not torch.isfinite(state.logits).all():
                raise ProbeError(f"the model gives NaN or infinite logits near '{questions[0]}'")
            chosen = state.logits.argmax(-1).tolist()
            pairs = zip(alive, chosen, strict=True)
            going = [i for i, (row, token) in enumerate(pairs) if not self._append(row, token)]
            if not going or step + 1 == self._length:
                break
            alive = [alive[i] for i in going]
            state.extend(chosen, going)
        return [
            Written(self._decode(tokens), stopped, len(tokens))
            for tokens, stopped in zip(self._tokens, self._stopped, strict=True)
        ]

    def _append(self, row: int, token: int) -> bool:
        """Append a token to a row's answer; return True if the answer is complete."""
        if token in self._stop:
            self._stopped[row] = True
            return True
        self._tokens[row].append(token)
        return self._ends(self._decode(self._tokens[row]))

    def _decode(self, tokens: list[int]) -> str:
        options: dict[str, Any] = {"clean_up_tokenization_spaces": False}
        return self._loaded.tokenizer.decode(tokens, skip_special_tokens=True, **options)


def cut(text: str, names: Sequence[str] = ()) -> str:
    """The first sentence of a text without its closing mark, except for a dot of a name.

    A text that begins with a name that ends in a dot is that name: whether the dot also ends the
    sentence is ambiguous.
    """
    start = text.lstrip()
    dotted = [n for n in names if n.endswith(".") and f"{start} ".startswith((f"{n} ", f"{n}."))]
    if dotted:
        return max(dotted, key=len)
    sentence = first_sentence(text, names).strip()
    while sentence and sentence not in names and sentence[-1] in ".!?":
        sentence = sentence[:-1].rstrip()
    return sentence
