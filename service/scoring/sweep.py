"""Many edits in one command: sweeps over methods, axes and rewrites, and sequences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from ...loaders.records import RewriteRequest
from ..base.errors import UsageError, in_one_line
from ..models.edit import EditOptions, MeasuredOptions, Score
from . import append, method_inputs, plan, templates
from . import plan as planning
from .forget import check, with_refusal_target
from .request import ScoreRequest, SequenceStep, method_override
from .resolved import resolve
from .runtime import Runtime
from .score import score_edit

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect


# Axes of a sweep: a request option or a method's hyperparameter that is given several values.
#
# `append_loss=none,app` and `rome.v_lr=0.1,0.5` are axes; a method's cells are the product of
# those that it has. How facts are probed and chains are counted is no axis: all rows of a table
# share it.

SWEPT = frozenset(
    (
        "model",
        "method",
        "seed",
        "organism_seed",
        "strength",
        "overrides",
        "revision",
        "covariance",
        "side_effects",
        "drift_facts",
    )
)
"""Options that a sweep has beside its axes."""
OPTIONS = tuple(
    sorted(EditOptions.model_fields.keys() - MeasuredOptions.model_fields.keys() - SWEPT)
)
"""The request options that can be an axis."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An option of the request, or the hyperparameter `key` of a method, with its values."""

    key: str
    values: tuple[object, ...]
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of every axis.

    Attributes:
        options: fields of the request.
        overrides: hyperparameters.
        varied: the values of axes that have several.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, object] = field(default_factory=dict)
    varied: Mapping[str, object] = field(default_factory=dict)

    def label(self, leave_out: Container[str] = ()) -> str:
        """Return what tells it from the other settings of its method, such as `v_lr=0.5`."""
        return ", ".join(f"{k}={v}" for k, v in self.varied.items() if k not in leave_out)


def read(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Return the axes of `NAME=VALUE,VALUE` texts.

    Args:
        texts: NAME is an option of `OPTIONS` or METHOD.key; values are YAML.

    Raises:
        UsageError: another form, an unknown option, a value that the option does not have.
        UnknownMethodError: no such method.
    """
    axes = [_axis(text) for text in texts]
    names = [(axis.method, axis.key) for axis in axes]
    for axis in axes:
        if names.count((axis.method, axis.key)) > 1:
            raise UsageError(
                f"--axis {axis.key} is given twice.", remedy="Write all its values into one."
            )
    return tuple(axes)


def _axis(text: str) -> Axis:
    name, sep, written = text.partition("=")
    key = name.strip().removeprefix("--").replace("-", "_")
    if not sep or not key or not written.strip():
        raise UsageError(
            f"--axis {text!r} is not NAME=VALUE,VALUE.", remedy="For example --axis alpha=0,0.5."
        )
    if "." in key:
        method, key, values = method_override(f"{name.strip()}=[{written}]")
        return Axis(key, _distinct(cast("list[object]", values)), method)
    if key not in OPTIONS:
        raise UsageError(
            f"{name.strip()!r} is no axis.",
            remedy=f"Use METHOD.key=VALUE,VALUE for a hyperparameter, or one of:"
            f" {', '.join(OPTIONS)}.",
        )
    return Axis(key, _distinct(_value(key, each.strip()) for each in written.split(",")))


def _value(key: str, text: str) -> object:
    """Return the value of a request option that a text means."""
    try:
        return getattr(EditOptions.model_validate({key: text}), key)
    except ValidationError as error:
        raise UsageError(
            f"--axis {key}: {text!r}: {error.errors()[0]['msg']}.", remedy="Give another value."
        ) from error


def _distinct(values: Iterable[object]) -> tuple[object, ...]:
    found: list[object] = []
    for value in values:
        if value not in found:
            found.append(value)
    return tuple(found)


def settings(axes: Sequence[Axis], method: str) -> list[Setting]:
    """Return the product of the axes that a method has, the last one's values changing fastest.

    A method whose loss cannot hold the other answers as `append_loss` says has no such setting.
    """
    own = [axis for axis in axes if axis.method in (None, method)]
    found = []
    for values in itertools.product(*(axis.values for axis in own)):
        pairs = list(zip(own, values, strict=True))
        options: dict[str, Any] = {a.key: value for a, value in pairs if a.method is None}
        if append.takes_loss(method, options.get("append_loss", "none")):
            overrides = {a.key: value for a, value in pairs if a.method}
            varied = {a.key: value for a, value in pairs if len(a.values) > 1}
            found.append(Setting(options, overrides, varied))
    return found


# A sweep: models × seeds × methods × axes × rewrites, each cell an edit scored like any other.
#
# A sweep resumes when it is run again: a cell whose score is stored is read, not repeated. A cell
# that fails has its reason, and the others are scored. Cells of one rewrite follow each other, so
# that its target vectors are found once for all methods that share them (`service.scoring.plan`).


@dataclass(frozen=True, slots=True)
class Sweep:
    """The cells of a sweep: shared options, and the values that vary.

    Attributes:
        options: shared by all cells; model, method, seeds, strength and overrides are the cell's.
        seeds: each trains (or finds) an organism; of a real model only editing and sampling change.
        strengths: factors on the update, for methods that change weights; 1 is the whole edit.
        overrides: hyperparameters by method.
        hparams: files of hyperparameters by method.
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
    hparams: Mapping[str, str] = field(default_factory=dict)


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

    def __str__(self) -> str:
        return (
            f"{self.cell.name}: {self.score.in_brief() or 'scored' if self.score else self.error}"
        )


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
        **{"hparams": sweep.hparams.get(cell.method), **cell.setting.options},
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


# Edits in sequence: each batch on the model with all earlier ones, scored after it and at the
# end.
#
# The paper's sequential setting (ThinkEval, appendix M): the effect of a later edit on an earlier
# one shows as the difference of its two scores. All rewrites as one batch is mass editing.


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
    key = templates.key_of(model, options.method, plan.resolved.hparams, options.seed)
    for effect in edit_in_sequence(
        model.loaded.model,
        model.loaded.tokenizer,
        [[with_refusal_target(each, options) for each in batch] for batch in batches],
        plan.resolved.method,
        plan.resolved.hparams,
        method_inputs.covariance_of(runtime, plan.corpus, model, plan.layers),
        context_templates=templates.stored(runtime, key),
        state=planning.state_of(plan, every),
        seed=options.seed,
        objective=loss,
    ):
        templates.keep(runtime, key, effect.templates)
        yield effect
