"""Edits in sequence: each batch on the model with all earlier ones, scored after it and at the end.

The paper's sequential setting (ThinkEval, appendix M): the effect of a later edit on an earlier one
shows as the difference of its two scores. All rewrites as one batch is mass editing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...loaders.records import RewriteRequest
from ..errors import UsageError
from ..schemas import EditOptions, Score
from . import append, covariance
from . import plan as planning
from .forget.refusal import with_refusal_target
from .request import ScoreRequest, SequenceStep
from .resolved import resolve
from .runtime import Runtime
from .score import score_edit

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect


@dataclass(frozen=True, slots=True)
class SequenceScore:
    """A rewrite of a sequence: scored after its own batch, and when all were edited."""

    after: Score
    end: Score


def score_sequence(
    runtime: Runtime, options: EditOptions, rewrites: Sequence[RewriteRequest], batch: int = 1
) -> list[SequenceScore]:
    """Edit the rewrites in order, `batch` at a time, and score each twice.

    Args:
        options: of each of the edits.

    Raises:
        UsageError: no rewrite, a batch below 1, or a strength other than 1.
        EditingError: a request cannot be edited; earlier scores stay stored.
    """
    if not rewrites or batch < 1 or options.strength != 1:
        raise UsageError("A sequence needs a rewrite, a batch of 1 or more, and whole edits.")
    batches = [tuple(rewrites[i : i + batch]) for i in range(0, len(rewrites), batch)]
    effects = _Effects(lambda: _edits(runtime, options, batches))
    after, total, done = [], 2 * len(rewrites), 0
    for number, part in enumerate(batches):
        edited = tuple(rewrites[: number * batch + len(part)])
        for rewrite in part:
            runtime.progress(done, total, "edits")
            at = SequenceStep(edited, batch, "after", lambda n=number: effects[n])
            after.append(score_edit(runtime, ScoreRequest.of(rewrite, options), at))
            done += 1
    end = []
    for rewrite in rewrites:
        runtime.progress(done, total, "edits")
        at = SequenceStep(tuple(rewrites), batch, "end", lambda: effects[len(batches) - 1])
        end.append(score_edit(runtime, ScoreRequest.of(rewrite, options), at))
        done += 1
    runtime.progress(total, total, "edits")
    return [SequenceScore(a, e) for a, e in zip(after, end, strict=True)]


class _Effects:
    """The cumulative effects of a sequence, computed as the scores need them; the newest is stored.

    They are read in order, as the scores are taken.
    """

    def __init__(self, start: Callable[[], Iterator[EditEffect]]) -> None:
        self._start = start
        self._running: Iterator[EditEffect] | None = None
        self._number = -1
        self._newest: Any = None

    def __getitem__(self, number: int) -> EditEffect:
        if self._running is None:
            self._running = self._start()
        while self._number < number:
            self._newest = next(self._running)
            self._number += 1
        return self._newest


def _edits(
    runtime: Runtime,
    options: EditOptions,
    batches: Sequence[tuple[RewriteRequest, ...]],
) -> Iterator[EditEffect]:
    from ...editing.sequence import edit_in_sequence

    plan = planning.plan_edit(resolve(runtime, ScoreRequest.of(batches[0][0], options)))
    model = plan.resolved.model
    every = [each for batch in batches for each in batch]
    loss = append.of_request(plan.resolved, every)
    return edit_in_sequence(
        model.loaded.model,
        model.loaded.tokenizer,
        [[with_refusal_target(each, options) for each in batch] for batch in batches],
        plan.resolved.method,
        plan.resolved.hparams,
        covariance.covariance_of(runtime, plan.corpus, model, plan.layers),
        state=planning.state_of(plan, every),
        seed=options.seed,
        objective=loss,
    )
