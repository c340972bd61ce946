"""Greedy decoding: one answer per question.

Questions are rendered like a probe's clozes (`editing.probe.prompts`), and answers are truncated
like a probe's: at the end of the first sentence. The sentence's full stop is not part of the
answer, so that answers can be compared with names. A model's own answer (`said`) ends at the first
clause already: what follows a name is about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import torch

from ...loaders.texts import quoted
from ..errors import ProbeError
from ..evaluation_mode import evaluating
from ..models import LoadedModel
from .batching import in_batches, room_for
from .decoding import Continuation, position_limit, shared_head
from .prompts import Rendered, Renderer, prompt_ids
from .sampled import end_tokens
from .sentences import CLAUSE, clause_end, cut, first_clause, sentence_end

MAX_NEW_TOKENS = 12
"""Maximum length of an answer, as in DepEdit's code for BART."""

AND = " and "
"""Joins the names of an answer that lists several."""

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
    asked = {text: renderer.cloze(text) if text.strip() else _EMPTY for text in questions}
    found = _generated(
        loaded,
        list(asked.values()),
        lambda text, _: sentence_end(text.lstrip(), tuple(names), unfinished=True) is not None,
        max_new_tokens,
        batch_tokens,
        done,
    )
    return [cut(found[asked[text]].text, names) for text in questions]


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
    found = _generated(
        loaded,
        prompts,
        lambda text, _: line and "\n" in text.lstrip(),
        max_new_tokens,
        batch_tokens,
    )
    return [_trimmed(found[prompt], line) for prompt in prompts]


def _trimmed(found: Written, line: bool) -> Written:
    text = found.text.strip()
    return replace(found, text=text.split("\n", 1)[0].rstrip() if line else text)


@torch.no_grad()
def said(
    loaded: LoadedModel,
    prompts: Sequence[Rendered],
    names: Sequence[str] = (),
    *,
    right: Mapping[Rendered, Sequence[str]] | None = None,
    batch_tokens: int | None = None,
) -> list[str]:
    """The greedy answer to each rendered prompt, up to the end of its first clause, in order.

    "" where the model ends at once, is still reasoning at the maximum length, or cannot read the
    prompt with an answer of that length.

    Args:
        names: names whose dots and commas do not end an answer (`Washington, D.C.`).
        right: names by prompt; an answer that begins with one of them, or with several that "and"
            joins, ends there.

    Raises:
        ProbeError, DeviceMemoryError: as `written`.
    """
    marked = tuple(name for name in names if "." in name or CLAUSE.search(name))
    expected = right or {}

    def is_complete(text: str, prompt: Rendered) -> bool:
        start = text.lstrip()
        if names_at_start(start, expected.get(prompt, ()), growing=True):
            return True
        if sentence_end(start, marked, unfinished=True) is not None:
            return True
        return clause_end(start, marked) is not None

    limit = position_limit(loaded.model)
    fitting = [
        prompt
        for prompt in dict.fromkeys(prompts)
        if limit is None or len(prompt_ids(loaded.tokenizer, prompt)) + MAX_NEW_TOKENS <= limit
    ]
    found = _generated(loaded, fitting, is_complete, MAX_NEW_TOKENS, batch_tokens)
    texts = {prompt: each.text for prompt, each in found.items()}
    return [
        names_at_start(text.lstrip(), expected.get(prompt, ())) or first_clause(text, marked)
        for prompt in prompts
        for text in (texts.get(prompt, ""),)
    ]


def names_at_start(text: str, names: Sequence[str], *, growing: bool = False) -> str:
    """The names that a text begins with, joined by "and"; "" where no word follows them.

    Args:
        growing: also "" where more of the text may complete a longer name ("Sirius" of "Sirius
            Black") or a further one.
    """
    end = _listed(text, names)
    if not end or text[end : end + 1] != " ":
        return ""
    last = text.rpartition(AND)[2]
    if growing and (AND.startswith(text[end:]) or any(name.startswith(last) for name in names)):
        return ""
    return text[:end]


def _listed(text: str, names: Sequence[str]) -> int:
    """Length of the names that a text begins with."""
    begun = (name for name in names if text.startswith(name))
    end = max((len(name) for name in begun if not text[len(name) :][:1].isalnum()), default=0)
    further = _listed(text[end + len(AND) :], names) if end and text[end:].startswith(AND) else 0
    return end + len(AND) + further if further else end


_EMPTY = Rendered("", special=False, lead=None, seed_text="")


def _generated(
    loaded: LoadedModel,
    prompts: Sequence[Rendered],
    ends: Callable[[str, Rendered], bool],
    max_new_tokens: int,
    batch_tokens: int | None,
    done: Callable[[int, int], None] | None = None,
) -> dict[Rendered, Written]:
    """The continuation of each distinct prompt, until `ends` is true of its text."""
    distinct = list(dict.fromkeys(prompts))
    ids = [_checked(loaded, prompt, max_new_tokens) for prompt in distinct]
    found: dict[Rendered, Written] = {}

    @cache
    def head() -> Continuation | None:
        return shared_head(loaded.model, ids, loaded.tokenizer.pad_token_id)

    def work(indices: list[int]) -> None:
        asked = [distinct[i] for i in indices]
        over = [partial(_ended, ends, prompt) for prompt in asked]
        batch = _Batch(loaded, [ids[i] for i in indices], over, max_new_tokens)
        texts = batch.generate([prompt.seed_text for prompt in asked], head())
        found.update(zip(asked, texts, strict=True))

    with evaluating(loaded.model):
        room = room_for(loaded.model, batch_tokens)
        costs = [room.cost(len(each) + max_new_tokens, _LOGITS) for each in ids]
        in_batches(costs, room.tokens, work, what="greedy answers", done=done)
    return found


def _ended(ends: Callable[[str, Rendered], bool], prompt: Rendered, text: str) -> bool:
    return ends(text, prompt)


def _checked(loaded: LoadedModel, prompt: Rendered, room: int) -> list[int]:
    ids = prompt_ids(loaded.tokenizer, prompt) if prompt.text.strip() else []
    limit = position_limit(loaded.model)
    if not ids:
        raise ProbeError("a question is empty", remedy="Give each fact a prompt.")
    if limit is not None and len(ids) + room > limit:
        raise ProbeError(
            f"the question {quoted(prompt.seed_text)} has {len(ids)} tokens, with {room} for the "
            f"answer; the model reads {limit}",
            remedy="Shorten the question.",
        )
    return ids


class _Batch:
    """The answers of one batch of prompts."""

    def __init__(
        self,
        loaded: LoadedModel,
        prompts: list[list[int]],
        ends: Sequence[Callable[[str], bool]],
        length: int,
    ) -> None:
        self._loaded, self._prompts = loaded, prompts
        self._ends, self._length = ends, length
        self._stopped = [False] * len(prompts)
        self._stop = end_tokens(loaded)
        self._tokens: list[list[int]] = [[] for _ in prompts]

    def generate(self, questions: Sequence[str], head: Continuation | None) -> list[Written]:
        """The answers; errors name `questions`."""
        pad_id = self._loaded.tokenizer.pad_token_id
        state = Continuation(self._loaded.model, self._prompts, pad_id, head)
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
        return self._ends[row](self._decode(self._tokens[row]))

    def _decode(self, tokens: list[int]) -> str:
        options: dict[str, Any] = {"clean_up_tokenization_spaces": False}
        return self._loaded.tokenizer.decode(tokens, skip_special_tokens=True, **options)
