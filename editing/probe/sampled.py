"""The sampled measure: proportion of k generations whose first sentence gives the object.

The protocol of the ThinkEval paper (k = 5). Sampling is from the model's full distribution (no
top-k, no nucleus) at the given temperature, one generation set for each distinct prompt.

Every sample of every prompt has a separate stream of random numbers, seeded by seed, prompt and
number of the sample, and tokens are chosen by inverting the cumulative distribution. So

- an answer depends on neither the batch, nor the order, nor the other facts (up to rounding: about
  one in 10⁷ draws is so close to a boundary that another batch may give another token);
- a model and its edited version are probed with the same random numbers, so that an ineffective
  edit changes no answer, and p_post/p_pre is less noisy. The marginal distribution of each
  proportion is that of independent random numbers.

An answer that is undecided (`editing.probe.matching`) is in neither numerator nor denominator: the
proportion is (right answers) / (decided answers), and None where no answer is decided. An answer
that ends inside a reasoning block, or at the limit of tokens before its block is closed, is
undecided; the sentence that counts begins after the block.

The global random state is neither used nor changed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...loaders.texts import quoted
from ..errors import ProbeError
from ..identity import stop_ids
from ..linear_algebra import linear_algebra_device
from ..models import LoadedModel
from .batching import in_batches, room_for
from .decoding import Continuation, position_limit
from .matching import first_sentence, gives, sentence_end, share
from .prompts import Query, Rendered, prompt_ids
from .reasoning import opened_by
from .sentences import MARKS

LOGITS = 5
"""Vectors of the vocabulary's size for a row when a token is drawn, of float32 each: logits, logits
by the temperature, probabilities, and their sums, which take twice as much."""

UNDRAWN = -1
"""In place of a token where the probabilities are no numbers."""


class Sampling(NamedTuple):
    """Parameters of sampling; see `ProbeSettings`."""

    samples: int
    temperature: float
    max_new_tokens: int
    seed: int


class Sampled(NamedTuple):
    """Proportion of right answers of one query, and the answers as scored.

    Attributes:
        share: in [0, 1], of the decided answers; None where none is decided.
    """

    share: float | None
    answers: tuple[str, ...]


class _Text(NamedTuple):
    """A distinct prompt with all names that its answers are matched against."""

    rendered: Rendered
    ids: list[int]
    names: tuple[str, ...]
    item: str


@torch.no_grad()
def sample(
    loaded: LoadedModel,
    queries: Sequence[Query],
    sampling: Sampling,
    *,
    batch_tokens: int | None = None,
    done: Callable[[int, int], None] | None = None,
) -> list[Sampled]:
    """Draw the answers to every distinct prompt and score all of its queries.

    Args:
        loaded: model and tokenizer; unchanged on return.
        queries: prompts with the right answers.
        sampling: number of samples, temperature, length, seed.
        batch_tokens: maximum tokens of a batch, by default as many as fit; does not change answers.
        done: called with the numbers of completed and of all answers (texts × samples).

    Raises:
        ProbeError: NaN from the model, or a prompt too long to be answered; names the item.
        DeviceMemoryError: a single row does not fit.
    """
    texts = _texts(loaded, queries, sampling.max_new_tokens)
    answers: dict[tuple[int, int], str] = {}
    rows = [(t, k) for t in range(len(texts)) for k in range(sampling.samples)]

    def work(indices: list[int]) -> None:
        batch = [rows[i] for i in indices]
        answers.update(zip(batch, _Batch(loaded, texts, batch, sampling).generate(), strict=True))

    room = room_for(loaded.model, batch_tokens)
    costs = [room.cost(len(texts[t].ids) + sampling.max_new_tokens, LOGITS) for t, _ in rows]
    in_batches(costs, room.tokens, work, what="the sampled probe", done=done)
    sampled = {
        text.rendered: tuple(answers[t, k] for k in range(sampling.samples))
        for t, text in enumerate(texts)
    }
    return [score(sampled[query.rendered], query.names, query.longer) for query in queries]


def score(answers: tuple[str, ...], names: Sequence[str], longer: Sequence[str] = ()) -> Sampled:
    """Proportion of decided answers that give one of the names (`editing.probe.matching`)."""
    return Sampled(share([gives(answer, names, longer=longer) for answer in answers]), answers)


def _texts(loaded: LoadedModel, queries: Sequence[Query], room: int) -> list[_Text]:
    names: dict[Rendered, dict[str, None]] = {}
    items: dict[Rendered, str] = {}
    for query in queries:
        items.setdefault(query.rendered, query.item)
        names.setdefault(query.rendered, {}).update(dict.fromkeys(query.names))
    limit = position_limit(loaded.model)
    texts = []
    for rendered, expected in names.items():
        ids, item = prompt_ids(loaded.tokenizer, rendered), items[rendered]
        if not ids:
            raise ProbeError(f"the prompt of '{item}' is empty", remedy="Give it a prompt.")
        if limit is not None and len(ids) + room > limit:
            raise ProbeError(
                f"the prompt {quoted(rendered.text)} has {len(ids)} tokens, with {room} for the "
                f"answer; the model reads {limit}",
                remedy="Shorten the prompt or lower max_new_tokens.",
            )
        texts.append(_Text(rendered, ids, tuple(expected), item))
    return texts


class _Batch:
    """The generation of one batch of (text, sample) rows."""

    def __init__(
        self,
        loaded: LoadedModel,
        texts: Sequence[_Text],
        rows: Sequence[tuple[int, int]],
        sampling: Sampling,
    ) -> None:
        self._loaded = loaded
        self._tokenizer = loaded.tokenizer
        self._sampling = sampling
        self._texts = [texts[t] for t, _ in rows]
        length, seed = sampling.max_new_tokens, sampling.seed
        numbers = [random_numbers(texts[t].rendered.seed_text, k, seed, length) for t, k in rows]
        self._numbers = torch.tensor(numbers, dtype=torch.float64)
        self._tokens: list[list[int]] = [[] for _ in rows]
        self._stop = end_tokens(loaded)
        self._may_end = SentenceMarks(loaded.tokenizer)
        self._suspect = [False] * len(rows)

    def generate(self) -> list[str]:
        """First sentence of every row's answer."""
        alive = list(range(len(self._texts)))
        state = self._read()
        for step in range(self._sampling.max_new_tokens):
            chosen = self._choose(state.logits, alive, step)
            ended = [self._append(row, token) for row, token in zip(alive, chosen, strict=True)]
            going = [i for i, end in enumerate(ended) if not end]
            if not going or step + 1 == self._sampling.max_new_tokens:
                break
            alive = [alive[i] for i in going]
            state.extend(chosen, going)
        return [
            first_sentence(opened_by(text.rendered.text) + self._decode(tokens), text.names)
            for tokens, text in zip(self._tokens, self._texts, strict=True)
        ]

    def _read(self) -> Continuation:
        """Evaluate each distinct prompt once, then copy its state to every row."""
        distinct = {text.rendered: i for i, text in enumerate(self._texts)}
        order = {rendered: i for i, rendered in enumerate(distinct)}
        prompts = [self._texts[i].ids for i in distinct.values()]
        state = Continuation(self._loaded.model, prompts, self._tokenizer.pad_token_id)
        rows = [order[text.rendered] for text in self._texts]
        state.select(torch.tensor(rows, device=state.logits.device))
        return state

    def _choose(self, logits: Tensor, alive: list[int], step: int) -> list[int]:
        probabilities = torch.softmax(logits.float() / self._sampling.temperature, -1)
        drawn = draw(probabilities, self._numbers[alive, step]).tolist()
        if UNDRAWN in drawn:
            bad = self._texts[alive[drawn.index(UNDRAWN)]].item
            raise ProbeError(f"the model gives NaN or infinite logits for '{bad}'")
        return drawn

    def _append(self, row: int, token: int) -> bool:
        """Append a token to a row's answer; return True if the answer is complete."""
        if token in self._stop:
            return True
        self._tokens[row].append(token)
        # Few tokens can end a sentence; only rows with such a token are decoded at each step.
        self._suspect[row] = self._suspect[row] or self._may_end[token]
        if not self._suspect[row]:
            return False
        opened = opened_by(self._texts[row].rendered.text)
        text = opened + self._decode(self._tokens[row]).lstrip()
        return sentence_end(text, self._texts[row].names, unfinished=True) is not None

    def _decode(self, tokens: list[int]) -> str:
        return self._tokenizer.decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )


class SentenceMarks(dict[int, bool]):
    """By token id: True if its text has a character that can end a sentence; memoised.

    A mark that is divided between tokens is not noticed: the generation goes further, and the
    sentence is cut from its text.
    """

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, token: int) -> bool:
        text = self._tokenizer.decode([token], clean_up_tokenization_spaces=False)
        self[token] = any(end in text for end in MARKS)
        return self[token]


def draw(probabilities: Tensor, numbers: Tensor) -> Tensor:
    """Draw a token for each row by inverting its cumulative distribution, [n].

    The sum runs in float64, where a large vocabulary loses nothing; on a device without float64
    the probabilities are copied to the CPU. The draws are then those of the CPU.

    Args:
        probabilities: [n, vocabulary].
        numbers: uniform in [0, 1), [n] float64.

    Returns:
        Indices, on the device of the sum; `UNDRAWN` for a row that holds NaN or infinity.
    """
    here = probabilities.to(linear_algebra_device(probabilities.device))
    reached = here.cumsum(-1, dtype=torch.float64)
    total = reached[:, -1:]
    place = numbers.to(total.device)[:, None] * total
    index = torch.searchsorted(reached, place, right=True).clamp(max=reached.shape[-1] - 1)
    return torch.where(torch.isfinite(total), index, UNDRAWN)[:, 0]


def random_numbers(text: str, sample: int, seed: int, count: int) -> list[float]:
    """Random numbers in [0, 1) of one sample of one prompt, one per token."""
    name = f"{seed}|{sample}|{text}".encode()
    # Python guarantees that a seeded random() is equal across versions and platforms.
    source = random.Random(int.from_bytes(hashlib.sha256(name).digest()[:16]))
    return [source.random() for _ in range(count)]


def end_tokens(loaded: LoadedModel) -> frozenset[int]:
    """Tokens that end an answer; instruct models have several (end of turn, end of text)."""
    return stop_ids(loaded.model, loaded.tokenizer)
