"""Open answers: texts that a model writes after prompts, one for each prompt and sample.

Unlike the sampled measure (`editing.probe.sampled`) nothing is compared with a right answer: the
text is returned as it was generated. Prompts, settings and numbers of samples may differ between
the requests of one call. A sample uses that measure's random numbers, which depend on seed, prompt
and number of the sample only, so an answer does not change with the number of samples, the batch or
the order (up to rounding, see there), and equals the probe's answer to an equal prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import interruption
from ..errors import ProbeError
from ..evaluation_mode import evaluating
from ..models import LoadedModel
from .batching import in_batches, room_for
from .decoding import Continuation, position_limit
from .matching import sentence_end
from .prompts import (
    Rendered,
    Renderer,
    chat_lead,
    chat_text,
    closed,
    prompt_ids,
    uses_chat,
)
from .sampled import LOGITS, UNDRAWN, SentenceMarks, draw, end_tokens, random_numbers

Turn = tuple[str, str]
"""Role (system, user, assistant) and text of one turn."""


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """One sample of one prompt.

    Attributes:
        turns: the conversation so far; of a cloze the one text that is continued.
        cloze: continue the text as it is, without chat template.
        sample: number of the sample, from 0.
        seed: of the random numbers.
        temperature: 0 for the most likely token at each step.
        max_tokens: maximum length; less where the model's positions end sooner.
    """

    turns: tuple[Turn, ...]
    cloze: bool
    sample: int
    seed: int
    temperature: float
    max_tokens: int


class OpenAnswer(NamedTuple):
    """The text, True if it was cut at the maximum length, and tokens of prompt and answer."""

    text: str
    cut: bool
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A request as token ids; `room` is the number of tokens that may follow."""

    request: OpenRequest
    ids: tuple[int, ...]
    seed_text: str
    one_sentence: bool
    room: int


def answers(
    loaded: LoadedModel, requests: Sequence[OpenRequest], *, batch_tokens: int | None = None
) -> Iterator[list[tuple[int, OpenAnswer]]]:
    """Answer every request, in parts of about one batch: (place of the request, answer).

    An answer to a cloze, and any answer of a model without chat template, ends with its first
    sentence: such a model continues with further text of its training data. Model, tokenizer and
    the global random state are unchanged between parts and at the end.

    Args:
        loaded: the model; for an edited one, iterate inside `with applied(model, effect)`.
        requests: texts and settings; requests of one prompt share its evaluation.
        batch_tokens: maximum tokens of a batch, by default as many as fit; does not change answers.

    Raises:
        ProbeError: a prompt is empty or leaves no room for an answer, the chat template rejects it,
            or NaN from the model.
        DeviceMemoryError: a single row does not fit.
    """
    rows = _rows(loaded, requests)
    room = room_for(loaded.model, batch_tokens)
    every = [room.cost(len(row.ids) + row.room, LOGITS) for row in rows]
    # Equal prompts are neighbours, so that a batch evaluates them once; equal lengths pad little.
    order = sorted(range(len(rows)), key=lambda i: (-len(rows[i].ids) - rows[i].room, rows[i].ids))
    for part in _parts(order, every, room.tokens):
        found: list[tuple[int, OpenAnswer]] = []

        def work(indices: list[int], part: list[int] = part, found: list[Any] = found) -> None:
            places = [part[i] for i in indices]
            texts = _Batch(loaded, [rows[place] for place in places]).generate()
            found.extend(zip(places, texts, strict=True))

        costs = [every[place] for place in part]
        with torch.no_grad(), evaluating(loaded.model):
            in_batches(costs, room.tokens, work, what="open answers")
        yield found


def fits(loaded: LoadedModel, request: OpenRequest) -> bool:
    """Return True if the model reads the prompt and may answer at least one token."""
    limit = position_limit(loaded.model)
    ids, _, _ = _Reader(loaded).read(request.turns, request.cloze)
    return bool(ids) and (limit is None or len(ids) < limit)


def _parts(order: Sequence[int], costs: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Places in the given order, cut where a part reaches `limit` tokens."""
    part: list[int] = []
    widest = 0
    for place in order:
        widest = max(widest, costs[place])
        if part and widest * (len(part) + 1) > limit:
            yield part
            part, widest = [], costs[place]
        part.append(place)
    if part:
        yield part


def _rows(loaded: LoadedModel, requests: Sequence[OpenRequest]) -> list[_Row]:
    reader = _Reader(loaded)
    limit = position_limit(loaded.model)
    rows = []
    for request in requests:
        ids, rendered, one_sentence = reader.read(request.turns, request.cloze)
        room = request.max_tokens if limit is None else min(request.max_tokens, limit - len(ids))
        if not ids or room < 1:
            raise ProbeError(
                f"the prompt '{_short(request.turns)}' has {len(ids)} tokens and leaves no room "
                f"for an answer; the model reads {limit}",
                remedy="Shorten the prompt, or use a model with a longer context.",
            )
        rows.append(_Row(request, ids, rendered.seed_text, one_sentence, room))
    return rows


class _Reader:
    """Prompts as token ids; each distinct one is rendered once."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._tokenizer = loaded.tokenizer
        self._chat = uses_chat(loaded.tokenizer, "auto")
        self._lead = chat_lead(loaded.tokenizer) if self._chat else None
        self._plain = Renderer(loaded.tokenizer, "never")
        self._marks = _control_marks(loaded.tokenizer)
        self._seen: dict[tuple[tuple[Turn, ...], bool], tuple[tuple[int, ...], Rendered, bool]] = {}

    def read(self, turns: tuple[Turn, ...], cloze: bool) -> tuple[tuple[int, ...], Rendered, bool]:
        """Return token ids, the rendered prompt, and True if the answer is one sentence."""
        if (turns, cloze) not in self._seen:
            clean = tuple((role, self._harmless(text)) for role, text in turns)
            rendered = self._render(clean, cloze)
            ids = prompt_ids(self._tokenizer, rendered) if rendered.text.strip() else []
            self._seen[turns, cloze] = tuple(ids), rendered, cloze or not self._chat
        return self._seen[turns, cloze]

    def _render(self, turns: tuple[Turn, ...], cloze: bool) -> Rendered:
        joined = "\n".join(text for _, text in turns)
        if cloze:
            return self._plain.cloze(joined)
        if not self._chat:
            return self._plain.question(joined) if joined.strip() else self._plain.cloze("")
        try:
            text = self._templated(turns)
        except Exception as error:
            # Templates are Jinja programs and may raise any exception.
            raise ProbeError(
                f"the chat template rejects the prompt '{_short(turns)}': {error}",
                remedy="Use an instruct model whose template takes these turns.",
            ) from error
        text = closed(text, turns[-1][1])
        return Rendered(text, special=False, lead=self._lead, seed_text=joined)

    def _templated(self, turns: tuple[Turn, ...]) -> str:
        try:
            return chat_text(self._tokenizer, turns)
        except Exception:
            # Some templates (Gemma 2) have no system turn: its text then precedes the first turn.
            if len(turns) < 2 or turns[0][0] != "system":
                raise
            (_, system), (role, text) = turns[:2]
            return chat_text(self._tokenizer, [(role, f"{system}\n\n{text}"), *turns[2:]])

    def _harmless(self, text: str) -> str:
        """The text without control tokens: quoted text must not begin another role's turn."""
        for mark in self._marks:
            if mark in text:
                text = text.replace(mark, " ".join((mark[:1], mark[1:])))
        return text


def _control_marks(tokenizer: Any) -> tuple[str, ...]:
    """Texts that the tokenizer reads as control tokens (end of turn, begin of a role)."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    named = {str(token.content) for token in added if token.special}
    return tuple(sorted({*named, *tokenizer.all_special_tokens} - {""}, key=len, reverse=True))


def _short(turns: Sequence[Turn]) -> str:
    text = turns[-1][1] if turns else ""
    return text if len(text) <= 80 else f"{text[:77]}..."


class _Batch:
    """The generation of one batch of rows."""

    def __init__(self, loaded: LoadedModel, rows: Sequence[_Row]) -> None:
        self._loaded, self._rows = loaded, rows
        self._tokenizer = loaded.tokenizer
        self._tokens: list[list[int]] = [[] for _ in rows]
        self._ended = [False] * len(rows)
        self._suspect = [False] * len(rows)
        self._stop = end_tokens(loaded)
        self._marks = SentenceMarks(loaded.tokenizer)
        # A greedy row uses no random number; its temperature of 1 is never applied.
        self._temperatures = torch.tensor([[r.request.temperature or 1.0] for r in rows])
        longest = max(row.room for row in rows)
        self._numbers = torch.zeros(len(rows), longest, dtype=torch.float64)
        for i, row in enumerate(rows):
            if row.request.temperature > 0:
                self._numbers[i, : row.room] = torch.tensor(
                    random_numbers(row.seed_text, row.request.sample, row.request.seed, row.room),
                    dtype=torch.float64,
                )
        self._greedy = torch.tensor([row.request.temperature <= 0 for row in rows])

    def generate(self) -> list[OpenAnswer]:
        """Every row's answer."""
        alive = list(range(len(self._rows)))
        state = self._read()
        step = 0
        while alive:
            interruption.check()
            chosen = self._choose(state.logits, alive, step)
            going = [
                i
                for i, (row, token) in enumerate(zip(alive, chosen, strict=True))
                if not self._append(row, token)
            ]
            alive = [alive[i] for i in going]
            step += 1
            if going:
                state.extend(chosen, going)
        return [self._answer(i) for i in range(len(self._rows))]

    def _read(self) -> Continuation:
        """Evaluate each distinct prompt once, then copy its state to every row."""
        order = {ids: i for i, ids in enumerate(dict.fromkeys(row.ids for row in self._rows))}
        state = Continuation(self._loaded.model, list(order), self._tokenizer.pad_token_id)
        rows = [order[row.ids] for row in self._rows]
        state.select(torch.tensor(rows, device=state.logits.device))
        return state

    def _choose(self, logits: Tensor, alive: list[int], step: int) -> list[int]:
        temperatures = self._temperatures[alive].to(logits.device)
        drawn = draw(torch.softmax(logits.float() / temperatures, -1), self._numbers[alive, step])
        chosen = torch.where(self._greedy[alive], logits.argmax(-1).cpu(), drawn.cpu()).tolist()
        if UNDRAWN in (tokens := drawn.tolist()):
            prompt = _short(self._rows[alive[tokens.index(UNDRAWN)]].request.turns)
            raise ProbeError(f"the model gives NaN or infinite logits for '{prompt}'")
        return chosen

    def _append(self, row: int, token: int) -> bool:
        """Append a token to a row's answer; return True if the answer is complete."""
        if token in self._stop:
            self._ended[row] = True
            return True
        tokens = self._tokens[row]
        tokens.append(token)
        if self._rows[row].one_sentence:
            # Few tokens can end a sentence; only rows with such a token are decoded at each step.
            self._suspect[row] = self._suspect[row] or self._marks[token]
            if self._suspect[row] and self._sentence(row, unfinished=True) is not None:
                self._ended[row] = True
                return True
        return len(tokens) >= self._rows[row].room

    def _sentence(self, row: int, *, unfinished: bool) -> str | None:
        """The text up to the end of its first sentence; None if that does not end."""
        text = self._decode(self._tokens[row])
        start = len(text) - len(text.lstrip())
        end = sentence_end(text[start:], unfinished=unfinished)
        return None if end is None else text[: start + end]

    def _answer(self, row: int) -> OpenAnswer:
        each, tokens = self._rows[row], self._tokens[row]
        sentence = self._sentence(row, unfinished=False) if each.one_sentence else None
        text = self._decode(tokens) if sentence is None else sentence
        cut = not self._ended[row] and sentence is None
        return OpenAnswer(text, cut, len(each.ids), len(tokens))

    def _decode(self, tokens: list[int]) -> str:
        return self._tokenizer.decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
