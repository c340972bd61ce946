"""Batches of the value optimisation: contexts, targets and answers, and the positions read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from ...loaders.records import RewriteRequest
from ..architectures import Adapter
from ..objectives import Objective
from ..padding import pad
from ..probe.batching import Room, weight_bytes
from .answer_rows import Reading, with_answers
from .keys import Templates
from .tokens import BARE, Row, prompt_row, target_ids

KL_PROMPT = "{} is a"
"""Essence prompt of ROME §3.1: its prediction should not change."""

PREFIX_MEMORY = 1 / 8
"""Memory of a token before the subject (keys and values) relative to a token with gradients."""

BYTES = 9 * 4
"""Memory of a token with gradients, in a layer and for each number of the MLP's inner width."""

READ = 4
"""Vectors of the vocabulary's size, float32, that are in memory for a position that is read: logits
and log-probabilities, and the gradient of each."""

MOST_BYTES, LEAST_BYTES = 2 * 10**9, 2**28
"""Memory of a batch on a CPU: that of the weights within these, so that an edit takes about twice
the weights, and a small model's requests are solved together."""

CALL = 200
"""Padding tokens that cost about as much time as one more call of the layers (measured)."""


class _Rows:
    """Lengths of rows of tokens."""

    # For type checkers only: a dataclass would take the property for its field's default.
    if TYPE_CHECKING:

        @property
        def rows(self) -> tuple[Row, ...]:
            """A field of a subclass, or computed by it."""
            ...

    @property
    def before(self) -> int:
        """Maximum number of tokens before a row's last subject token."""
        return max(row.subject_last for row in self.rows)

    @property
    def after(self) -> int:
        """Maximum number of tokens from a row's last subject token on."""
        return max(len(row.ids) - row.subject_last for row in self.rows)

    @property
    def n_tokens(self) -> int:
        """Memory of its rows in a batch, padding counted, in tokens with gradients."""
        return len(self.rows) * (self.after + int(PREFIX_MEMORY * self.before))


@dataclass(frozen=True)
class Entry(_Rows):
    """One request as rows.

    Attributes:
        rows: contexts followed by the target; the KL row, unless a context contains it; and those
            of answers that no other row contains.
        n_contexts: number of context rows.
        kl: index of the row in which the KL divergence is read at the subject.
        readings: further answers that an objective reads.
    """

    request: RewriteRequest
    rows: tuple[Row, ...]
    target: tuple[int, ...]
    n_contexts: int
    kl: int
    readings: tuple[Reading, ...] = ()

    @property
    def n_read(self) -> int:
        """Number of predictions that the loss reads; answers may share some."""
        answers = sum(len(each.tokens) * len(each.places) for each in self.readings)
        return self.n_contexts * len(self.target) + 1 + answers


@dataclass(frozen=True)
class Unit(_Rows):
    """Requests that share one vector δ: those of a key with joint targets, else one request."""

    entries: tuple[Entry, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of its entries."""
        return tuple(row for entry in self.entries for row in entry.rows)

    @property
    def n_read(self) -> int:
        """Number of predictions that the losses of its entries read."""
        return sum(entry.n_read for entry in self.entries)


Rows = TypeVar("Rows", Entry, Unit)


@dataclass(frozen=True)
class ValueBatch:
    """Requests as one batch of the tokens from each subject's last token on.

    R rows, n requests in U units, A answers, Q (row, place) spots that are read, P (spot, token of
    a target or answer) pairs. A row's position 0 is its subject's last token.

    Attributes:
        inputs: `input_ids` and `position_ids` [R, after], `attention_mask` [R, before + after],
            for a model with the preceding tokens in its cache, aligned on the right.
        before, after: maximum number of tokens before the last subject token, and from it on.
        owner: [R] request of each row.
        unit: [n] unit of each request.
        first, kl: [n] each request's bare row, and its KL row.
        real, read: flat indices into [R, after]: real tokens; positions that the loss reads.
        spot_row, spot_place: [Q] row and position of each spot.
        pair_spot, pair_token: [P] spot and token of each pair; answers share spots.
        pair_owner: [P] request of a target's pair (0 … n−1), or n + the number of its answer.
        pair_weight: [P] 1 / (|T| · templates), so that a sum is the mean NLL.
        answer_owner: [A] request of each answer, ascending.
    """

    inputs: dict[str, Tensor]
    before: int
    after: int
    owner: Tensor
    unit: Tensor
    first: Tensor
    kl: Tensor
    real: Tensor
    read: Tensor
    spot_row: Tensor
    spot_place: Tensor
    pair_spot: Tensor
    pair_token: Tensor
    pair_owner: Tensor
    pair_weight: Tensor
    answer_owner: Tensor


def entry_for(
    tokenizer: Any,
    request: RewriteRequest,
    templates: Templates,
    objective: Objective | None = None,
) -> Entry:
    """The rows of a request, without tokens that are only predicted or never attended to."""
    target = target_ids(tokenizer, request)
    flat = [template for group in templates for template in group]
    contexts = [prompt_row(tokenizer, request, template) for template in flat]
    rows = [Row((*row.ids, *target[:-1]), row.subject_last) for row in contexts]
    whole = prompt_row(tokenizer, request, BARE, prompt=KL_PROMPT)
    # KL is read at the subject and independent of later tokens, so the row of a prompt that begins
    # with the subject serves as well.
    end = whole.subject_last + 1
    essence = Row(whole.ids[:end], whole.subject_last)
    same = (i for i, row in enumerate(rows) if row.ids[: row.subject_last + 1] == essence.ids)
    kl = next(same, len(rows))
    if kl == len(rows):
        rows.append(essence)
    rows, readings = with_answers(tokenizer, request, objective, contexts, rows)
    return Entry(request, tuple(rows), target, len(contexts), kl, readings)


def units_of(entries: Sequence[Entry], joint: Sequence[Sequence[str]] | None) -> list[Unit]:
    """The units of a partition of the requests by id; None: one for each request."""
    if joint is None:
        return [Unit((entry,)) for entry in entries]
    of = {entry.request.id: entry for entry in entries}
    return [Unit(tuple(of[id_] for id_ in ids)) for ids in joint]


def groups_within(entries: Sequence[Rows], budget: int, logits: int = 0) -> list[list[Rows]]:
    """Group entries (or units) of similar length within the token budget, at least one per group.

    A longer entry pads all rows of a group; if the padding costs more than one more call of the
    layers, the entry starts a new group.

    Args:
        logits: tokens that a prediction that is read counts as, besides its own.
    """
    groups: list[list[Rows]] = []
    n_rows, padding, used, after = 0, 0, 0, 0
    for entry in sorted(entries, key=lambda entry: (entry.after, entry.before)):
        padding += n_rows * (entry.after - after)
        after = entry.after
        cost = entry.n_tokens + logits * entry.n_read
        if not groups or padding > CALL or used + cost > budget:
            groups.append([])
            n_rows, padding, used = 0, 0, 0
        groups[-1].append(entry)
        n_rows += len(entry.rows)
        used += cost
    return groups


def value_room(adapter: Adapter) -> Room:
    """The size of a batch with gradients: half of a GPU's free memory, or the weights' on a CPU."""
    device = next(adapter.model.parameters()).device
    if device.type == "cuda":
        room = torch.cuda.mem_get_info(device)[0] // 2
    else:
        room = min(MOST_BYTES, max(LEAST_BYTES, weight_bytes(adapter.model)))
    width = max(adapter.model.get_parameter(adapter.mlp_out(0).weight).shape)
    per_token = BYTES * width * adapter.n_layers
    vocabulary: Any = adapter.embeddings.weight
    return Room(max(1, room // per_token), -(-READ * 4 * len(vocabulary) // per_token))


def value_batch(units: Sequence[Unit], tokenizer: Any, device: torch.device) -> ValueBatch:
    """The rows of all units from their subjects on, with the positions that the loss reads."""
    entries = [entry for unit in units for entry in unit.entries]
    unit_of = [i for i, unit in enumerate(units) for _ in unit.entries]
    owner, first, kl, answer_owner = [], [], [], []
    pairs: list[tuple[int, int, int, int, float]] = []
    for i, entry in enumerate(entries):
        start, width = len(owner), len(entry.target)
        first.append(start)
        kl.append(start + entry.kl)
        owner += [i] * len(entry.rows)
        for j, row in enumerate(entry.rows[: entry.n_contexts]):
            # The row ends with all target tokens but the last; each predicts the next.
            begin = len(row.ids) - width - row.subject_last
            for k, token in enumerate(entry.target):
                pairs.append((start + j, begin + k, token, i, 1 / (width * entry.n_contexts)))
        for reading in entry.readings:
            pairs += _answer_pairs(entry, reading, start, len(entries) + len(answer_owner))
            answer_owner.append(i)
    rows = [row for entry in entries for row in entry.rows]
    after = max(entry.after for entry in entries)
    real = [
        i * after + k for i, row in enumerate(rows) for k in range(len(row.ids) - row.subject_last)
    ]
    read = {i * after + place for i, place, *_ in pairs} | {i * after for i in kl}
    spots = list(dict.fromkeys(pair[:2] for pair in pairs))
    number = {spot: i for i, spot in enumerate(spots)}
    columns = [*zip(*spots, strict=True), [number[pair[:2]] for pair in pairs]]
    columns += list(zip(*(pair[2:] for pair in pairs), strict=True))

    def tensor(values: Sequence[Any]) -> Tensor:
        return torch.tensor(values, device=device)

    return ValueBatch(
        _suffixes(rows, tokenizer, device),
        max(entry.before for entry in entries),
        after,
        *map(tensor, (owner, unit_of, first, kl, real, sorted(read), *columns)),
        answer_owner=torch.tensor(answer_owner, dtype=torch.long, device=device),
    )


def _answer_pairs(
    entry: Entry, reading: Reading, start: int, number: int
) -> list[tuple[int, int, int, int, float]]:
    """The pairs of an answer, whose entry's rows begin at `start` of the batch."""
    weight = 1 / (len(reading.tokens) * len(reading.places))
    return [
        (start + row, place + k - entry.rows[row].subject_last, token, number, weight)
        for row, place in reading.places
        for k, token in enumerate(reading.tokens)
    ]


def _suffixes(rows: Sequence[Row], tokenizer: Any, device: torch.device) -> dict[str, Tensor]:
    """The inputs of `ValueBatch`."""
    ids = pad([row.ids[row.subject_last :] for row in rows], tokenizer.pad_token_id or 0)
    before = torch.tensor([row.subject_last for row in rows])
    # Padding gets the last token's position: larger positions might exceed the model's range.
    positions = before[:, None] + torch.minimum(
        torch.arange(ids.input_ids.shape[1]), ids.lengths[:, None] - 1
    )
    seen = torch.arange(int(before.max())).flip(0) < before[:, None]
    return {
        "input_ids": ids.input_ids.to(device),
        "attention_mask": torch.cat([seen.long(), ids.attention_mask], 1).to(device),
        "position_ids": positions.to(device),
    }
