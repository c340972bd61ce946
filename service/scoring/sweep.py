"""A sweep: models × seeds × methods × axes × rewrites, each cell an edit scored like any other.

A sweep resumes when it is run again: a cell whose score is stored is read, not repeated. A cell
that fails has its reason, and the others are scored. Cells of one rewrite follow each other, so
that its target vectors are found once for all methods that share them (`service.scoring.plan`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ...loaders.records import RewriteRequest
from ..errors import UsageError, in_one_line
from ..schemas import EditOptions, Score
from . import append, plan
from .axes import Axis, Setting, settings
from .forget.refusal import check
from .request import ScoreRequest
from .runtime import Runtime
from .score import score_edit


@dataclass(frozen=True, slots=True)
class Sweep:
    """The cells of a sweep: shared options, and the values that vary.

    Attributes:
        options: shared by all cells; model, method, seeds, strength and overrides are the cell's.
        seeds: each trains (or finds) an organism; of a real model only editing and sampling change.
        strengths: factors on the update, for methods that change weights; 1 is the whole edit.
        overrides: hyperparameters by method.
        axes: options and hyperparameters with several values; a method's cells are their product.
    """

    options: EditOptions
    rewrites: tuple[RewriteRequest, ...]
    methods: tuple[str, ...]
    models: tuple[str, ...] = ("organism",)
    seeds: tuple[int, ...] = (0,)
    strengths: tuple[float, ...] = (1.0,)
    overrides: Mapping[str, dict[str, object]] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One edit of a sweep."""

    model: str
    seed: int
    rewrite: RewriteRequest
    method: str
    strength: float = 1.0
    setting: Setting = field(default_factory=Setting)

    @property
    def name(self) -> str:
        """For messages: method, setting, strength, rewrite, model and seed."""
        strength = f" × {self.strength:g}" if self.strength != 1 else ""
        setting = f" ({label})" if (label := self.setting.label()) else ""
        where = f"{self.rewrite.id} ({self.model}, seed {self.seed})"
        return f"{self.method}{setting}{strength} on {where}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a cell: a score, or the reason why there is none.

    Attributes:
        skipped: nothing failed: the model does not know the fact, so there is nothing to measure.
    """

    cell: Cell
    score: Score | None = None
    error: str | None = None
    skipped: bool = False


def tasks(sweep: Sweep) -> list[tuple[Cell, ...]]:
    """The cells, those of one model, seed and rewrite together.

    Raises:
        UsageError: nothing to sweep over, a strength that is not positive, a method that cannot
            carry out a rewrite, or an option that the rewrite's kind does not have.
        UnknownMethodError: before anything is trained or loaded.
    """
    from ...editing import registry

    if not (sweep.rewrites and sweep.methods and sweep.models and sweep.seeds and sweep.strengths):
        raise UsageError("The sweep is empty: it needs a rewrite, a method, a model and a seed.")
    if min(sweep.strengths) <= 0:
        raise UsageError("A strength is a factor above 0; 1 is the whole edit.")
    _refuse_methods(sweep)
    kinds = {name: registry.info(name).kind for name in sweep.methods}
    scalable = {name: name != "none" and kind != "prompt" for name, kind in kinds.items()}
    found = [
        tuple(
            Cell(model, seed, rewrite, name, strength, setting)
            for name in sweep.methods
            for setting in settings(sweep.axes, name)
            for strength in (sorted(sweep.strengths, reverse=True) if scalable[name] else (1.0,))
        )
        for model in sweep.models
        for seed in sweep.seeds
        for rewrite in sweep.rewrites
    ]
    for cell in itertools.chain.from_iterable(found):
        append.check(request_of(sweep, cell), cell.rewrite)
    if not any(found):
        raise UsageError(
            "The sweep is empty: no method has a setting of its axes.",
            remedy="Add none to the values of append_loss, or name another method.",
        )
    return found


def _refuse_methods(sweep: Sweep) -> None:
    """Refuse methods that only forget, for rewrites that have a target_new."""
    for rewrite in sweep.rewrites:
        for name in sweep.methods:
            check(rewrite, sweep.options.model_copy(update={"method": name}))


def request_of(sweep: Sweep, cell: Cell) -> ScoreRequest:
    """The score request of a cell."""
    return ScoreRequest.of(
        cell.rewrite,
        sweep.options,
        model=cell.model,
        method=cell.method,
        overrides={**sweep.overrides.get(cell.method, {}), **cell.setting.overrides},
        seed=cell.seed,
        organism_seed=cell.seed,
        strength=cell.strength,
        **cell.setting.options,
    )


def run_cells(runtime: Runtime, sweep: Sweep, cells: Iterable[Cell]) -> Iterator[Outcome]:
    """Score cells one after the other in this process.

    Raises:
        GraphError, ServiceError: an error that stops every other cell too (the database is gone).
    """
    from ...editing.errors import EditingError, UnknownFactError

    for cell in cells:
        try:
            yield Outcome(cell, score=score_edit(runtime, request_of(sweep, cell)))
        except EditingError as error:
            unknown = isinstance(error, UnknownFactError)
            yield Outcome(cell, error=in_one_line(error), skipped=unknown)


def prepare(runtime: Runtime, sweep: Sweep) -> int:
    """Compute the cells' shared inputs: organisms, pre-edit answers, statistics, hypernetworks.

    Several workers would otherwise each compute them. Returns the number of weights of the largest
    model. A method that lacks an input is no error here: its cells fail with the reason.
    """
    from ...editing.errors import EditingError

    weights = 0
    for model in sweep.models:
        for seed in sweep.seeds:
            requests = [
                request_of(sweep, Cell(model, seed, sweep.rewrites[0], name))
                for name in sweep.methods
            ]
            with suppress(EditingError):
                weights = max(weights, plan.prepare_model(runtime, requests[0]))
                for request in requests:
                    with suppress(EditingError):
                        plan.prepare_method(runtime, request)
    return weights
