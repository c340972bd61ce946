"""A sweep: models × seeds × methods × rewrites, each cell an edit scored like any other.

A sweep resumes when it is run again: a cell whose score is stored is read, not repeated. A cell
that fails has its reason, and the others are scored. Cells of one rewrite follow each other, so
that its target vectors are found once for all methods that share them (`service.scoring.plan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ...loaders.records import RewriteRequest
from ..errors import UsageError, in_one_line
from ..schemas import EditOptions, Score
from . import plan
from .append.variants import APP, BARE, Variant
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
        variants: of each method on requests to append; those of a loss that a method does not take
            are left out.
    """

    options: EditOptions
    rewrites: tuple[RewriteRequest, ...]
    methods: tuple[str, ...]
    models: tuple[str, ...] = ("organism",)
    seeds: tuple[int, ...] = (0,)
    strengths: tuple[float, ...] = (1.0,)
    overrides: Mapping[str, dict[str, object]] = field(default_factory=dict)
    variants: tuple[Variant, ...] = (BARE,)


@dataclass(frozen=True, slots=True)
class Cell:
    """One edit of a sweep."""

    model: str
    seed: int
    rewrite: RewriteRequest
    method: str
    strength: float = 1.0
    variant: Variant = BARE

    @property
    def name(self) -> str:
        """For messages: method, variant, strength, rewrite, model and seed."""
        strength = f" × {self.strength:g}" if self.strength != 1 else ""
        variant = f" ({self.variant.name})" if self.variant != BARE else ""
        where = f"{self.rewrite.id} ({self.model}, seed {self.seed})"
        return f"{self.method}{variant}{strength} on {where}"


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
        UsageError: nothing to sweep over, a strength that is not positive, or a method that cannot
            carry out a rewrite.
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
    return [
        tuple(
            Cell(model, seed, rewrite, name, strength, variant)
            for name in sweep.methods
            for variant in _variants(sweep, name)
            for strength in (sorted(sweep.strengths, reverse=True) if scalable[name] else (1.0,))
        )
        for model in sweep.models
        for seed in sweep.seeds
        for rewrite in sweep.rewrites
    ]


def _refuse_methods(sweep: Sweep) -> None:
    """Refuse methods that only forget, for rewrites that have a target_new."""
    for rewrite in sweep.rewrites:
        for name in sweep.methods:
            check(rewrite, sweep.options.model_copy(update={"method": name}))


def _variants(sweep: Sweep, method: str) -> tuple[Variant, ...]:
    """The variants that a method has: without an objective of its own there is the bare one."""
    if sweep.variants == (BARE,):
        return sweep.variants
    from ...editing import registry

    if registry.takes_objective(method):
        return sweep.variants
    had = (BARE, APP) if registry.trains_app(method) else (BARE,)
    return tuple(variant for variant in sweep.variants if variant in had)


def request_of(sweep: Sweep, cell: Cell) -> ScoreRequest:
    """The score request of a cell."""
    return ScoreRequest.of(
        cell.rewrite,
        sweep.options,
        model=cell.model,
        method=cell.method,
        overrides=dict(sweep.overrides.get(cell.method, {})),
        seed=cell.seed,
        organism_seed=cell.seed,
        strength=cell.strength,
        **cell.variant.changes,
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
