"""Does the change of an edit last? Read this file first: the room serves these steps.

    1 line      the edit's base, and the states: edited, then one for each later change
    2 train     a fine-tune is computed on the state so far, and saved as an update (finetune.py)
    3 compare   each state with the base: a comparison, stored as any other
    4 numbers   retention of the change, IFR, chains that are open again, read off the graphs
    5 store     the line refers to its comparisons; it is found by its id

Retention of state k is what is left of the change right after the edit: p_k(new) / p_0(new), or
forgetting_k / forgetting_0 of a request to forget; undefined where the denominator is below .05.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import digest, slug
from .. import NUMBERS_VERSION
from ..errors import UsageError
from ..formatting import fine
from ..graphs import datasets
from ..schemas import KNOWN, Measure, MeasuredOptions, Score
from ..scoring import deltas, record
from ..states.compare import METHOD, Enter, compare
from ..states.opened import require_packages
from ..states.schemas import ComparedRequest, ComparisonIn, ComparisonOut
from ..states.words import StateIn
from . import finetune, line, store
from .line import FineTune
from .schemas import (
    FROM_THE_EDIT,
    ChainFact,
    LastingIn,
    LastingOut,
    LineState,
    Reopened,
    StateNumbers,
)

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..leases import Lease
    from ..scoring.runtime import Runtime
    from .finetune import Learnt

LEAST = KNOWN
"""Change right after the edit below which its retention is undefined."""
PREFIX = "lasting-"


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a line begins.

    Attributes:
        base: the model without the edit.
        dtype: number type that the edit was computed in.
        then: each later change as it was written, and as it was read.
    """

    score: Score
    base: StateIn
    dtype: str
    then: list[tuple[str, line.Change]]


@dataclass(slots=True)
class _Line:
    """A line under way.

    Attributes:
        lease: of the worker that claimed it; None: a command's own.
        made: the comparison of each state so far, what was put on it, and the id of a fine-tune.
    """

    runtime: Runtime
    posted: LastingIn
    start: _Start
    lease: Lease | None = None
    made: list[tuple[ComparisonOut, str, str | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def lasting(
    runtime: Runtime,
    posted: LastingIn,
    *,
    lease: Lease | None = None,
    enter: Enter = lambda stage, progress: None,
) -> LastingOut:
    """Whether the change of an edit lasts; comparisons and fine-tunes of earlier lines are found.

    Args:
        lease: of the worker that claimed it; checked in every transaction that writes.
        enter: called with each stage and the progress there.

    Raises:
        NotFoundError, NothingStoredError: there is no such edit, or its update is not saved here.
        UsageError: a later change that cannot be read or put on.
        GraphError, EditingError, ServiceError: what is stored by then stays; the model is as it
            was.
    """
    start = _start(runtime, posted)
    run = _Line(runtime, posted, start, lease)
    learnt = {text: _learnt(run, each) for text, each in start.then if isinstance(each, FineTune)}
    state = start.base.model_copy(update={"edits": (posted.edit,)})
    _require(run, state, learnt)
    n = len(start.then) + 1
    enter("compare the edit", 0.05)
    runtime.progress(0, n, f"states: {posted.edit}")
    _compare(run, state, posted.edit, None)
    for k, (text, change) in enumerate(start.then, 1):
        enter(f"change {k} of {n - 1}", 0.05 + 0.9 * k / n)
        runtime.progress(k, n, f"states: {text}")
        update = None
        if isinstance(change, FineTune):
            update = _trained(run, state, change, learnt[text])
        state = line.then(state, change, update)
        _compare(run, state, text, update)
    runtime.progress(n, n, "states: compared")
    return _stored(run)


def _start(runtime: Runtime, posted: LastingIn) -> _Start:
    """Step 1, without loading a model.

    Raises:
        UsageError: the edit has no update, or changes prompts; or as `line.parse` and `check`.
    """
    from ...editing.deltas.files import load

    then = [(text, line.parse(text)) for text in posted.then]
    line.check([change for _, change in then])
    score = record.get_score(runtime.db, posted.edit)
    if score.method.startswith(f"{METHOD}:"):
        raise UsageError(
            f"{posted.edit!r} was scored between two states and has no update of its own.",
            remedy="Name the edit that was put on; `thinkeval edits` lists them.",
        )
    if score.kind == "append":
        raise UsageError(
            f"{posted.edit!r} appends an answer, which no comparison of states scores yet.",
            remedy="Name an edit that replaces an object or forgets a fact.",
        )
    saved = load(deltas.find(runtime, posted.edit))
    meta = saved.meta
    if saved.effect.prompt_change is not None:
        raise UsageError(
            f"{posted.edit!r} changes the prompt, not the weights: later changes leave it as it is."
        )
    for name, own in (("graph", score.dataset), ("dtype", meta.dtype)):
        if name in posted.model_fields_set and getattr(posted, name) not in ("", own):
            raise UsageError(
                f"The {name} of a line is that of its edit, {own}.", remedy=f"Leave {name} out."
            )
    for _, change in then:
        if isinstance(change, line.Edit):
            deltas.find(runtime, change.edit)
    return _Start(score, StateIn(model=meta.model, revision=meta.revision), meta.dtype, then)


def _require(run: _Line, state: StateIn, learnt: Mapping[str, Learnt]) -> None:
    """Refuse what a later change lacks, a package or room for its update, before a model is loaded.

    Raises:
        MissingExtraError: names the package.
        DeltaError: a fine-tune's update would be larger than THINKEVAL_DELTA_LIMIT_MB.
    """
    for text, change in run.start.then:
        if isinstance(change, FineTune):
            finetune.require(run.runtime, state, change, learnt[text], force=run.posted.force)
        elif not isinstance(change, line.Edit):
            require_packages(line.then(state, change), run.runtime.settings.device)


def _learnt(run: _Line, change: FineTune) -> Learnt:
    """What a fine-tune learns; read before anything is loaded."""
    if not change.of_graph:
        return finetune.read(Path(change.source).expanduser())
    score = run.start.score
    names = [name for name in (score.subject, score.target_true, score.target_new) if name]
    return finetune.of_graph(run.runtime.db, score.dataset, names)


def _trained(run: _Line, state: StateIn, change: FineTune, learnt: Learnt) -> str:
    """Step 2: the id of the fine-tune's saved update."""
    runtime, start = run.runtime, run.start
    dataset = datasets.ensure(runtime.db, start.score.dataset)
    base = runtime.only_model(state.model, dataset, dtype=start.dtype, revision=state.revision)
    done = finetune.trained(runtime, base, state, change, learnt, force=run.posted.force)
    what = "Facts of the graph" if change.of_graph else f"Texts of {learnt.name}"
    run.notes.append(
        f"{what} learnt: {done.n:,}; the update is saved as {done.id}"
        f"{' (found, not trained again)' if done.found else ''}."
    )
    return done.id


def _compare(run: _Line, state: StateIn, change: str, update: str | None) -> None:
    """Step 3."""
    names = (
        "seed",
        *(name for name in MeasuredOptions.model_fields if name not in FROM_THE_EDIT),
    )
    posted = ComparisonIn(
        before=run.start.base,
        after=state,
        graph=run.start.score.dataset,
        rewrites=[run.start.score.rewrite],
        dtype=run.start.dtype,  # type: ignore[arg-type]
        **{name: getattr(run.posted, name) for name in names},
    )
    run.made.append((compare(run.runtime, posted, lease=run.lease), change, update))


def _stored(run: _Line) -> LastingOut:
    """Steps 4 and 5."""
    score, made = run.start.score, run.made
    about = [score.edit, [out.id for out, _, _ in made], [text for _, text, _ in made]]
    id = f"{PREFIX}{slug(score.edit)[:48]}-{digest([about, NUMBERS_VERSION], 10)}"
    measures: list[Measure] = [
        each for each in made[0][0].measures if all(each in out.measures for out, _, _ in made)
    ]
    states = _states(run, measures)
    first: dict[Measure, int | None] = {
        measure: next(
            (k for k, each in enumerate(states) if each.numbers[measure].reopened.opened), None
        )
        for measure in measures
    }
    reused = all(out.reused for out, _, _ in made) and store.find(run.runtime.db, id) is not None
    out = LastingOut(
        id=id,
        graph=score.dataset,
        edit=score.edit,
        method=score.method,
        kind=score.kind,
        rewrite=score.rewrite,
        subject=score.subject,
        prompt=score.prompt,
        target_true=score.target_true,
        target_new=score.target_new,
        base=made[0][0].before.name,
        measures=measures,
        states=states,
        undefined=_undefined(score, states[0], measures),
        first=first,
        notes=[*run.notes, *_notes(run)],
        request=run.posted.model_dump(mode="json"),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        reused=reused,
    )
    store.save(run.runtime.db, out, run.lease)
    return out


def _notes(run: _Line) -> list[str]:
    """What a reader must know of the line."""
    notes = []
    kinds = [type(change).__name__ for _, change in run.start.then]
    if "Quantise" in kinds[:-1]:
        notes.append(
            "Quantised weights cannot be changed: later changes are computed and added in"
            f" {run.start.dtype}, and every state after a quantisation is quantised last."
        )
    if "Edit" in kinds:
        notes.append("The update of another edit is added as it was computed for the base.")
    return notes + list(dict.fromkeys(note for out, _, _ in run.made for note in out.notes))


def _states(run: _Line, measures: Sequence[Measure]) -> list[LineState]:
    """Step 4."""
    found, start = [], run.made[0][0].requests[0]
    for out, text, update in run.made:
        (request,) = out.requests
        olds = _old_object(run.runtime.db, request)
        numbers: dict[Measure, StateNumbers] = {
            measure: _numbers(run, measure, start, request, olds.get(measure))
            for measure in measures
        }
        found.append(
            LineState(
                change=text,
                fine_tune=update,
                state=out.after.word,
                name=out.after.name,
                digest=out.after.digest,
                comparison=out.id,
                edit=request.edit,
                numbers=numbers,
            )
        )
    return found


def _numbers(
    run: _Line,
    measure: Measure,
    start: ComparedRequest,
    request: ComparedRequest,
    old: float | None,
) -> StateNumbers:
    metric = "forgetting" if request.kind == "forget" else "efficacy"
    change, whole = (each.number(metric, measure) for each in (request, start))
    values = {v.metric: v for v in request.values if v.measure == measure}
    ifr, kept = values.get("ifr"), values.get("preservation")
    routes = request.routes[measure]
    return StateNumbers(
        retention=change / whole if change is not None and whole and whole >= LEAST else None,
        change=change,
        target_true=old,
        ifr=ifr.value if ifr else None,
        chains=ifr.n if ifr else 0,
        preservation=kept.value if kept else None,
        facts=kept.n if kept else 0,
        open=routes.after,
        floor=routes.floor,
        reopened=_reopened(run, measure, start.edit, request),
    )


def _reopened(run: _Line, measure: Measure, edited: str, request: ComparedRequest) -> Reopened:
    """The chains that the edit closed and that are open again in the state of a request.

    Args:
        edited: id of the graph that compares the base with the state right after the edit.
    """
    posted = run.posted
    found = run.runtime.db.read(
        rows.RevivedRow,
        "states/revived",
        graph=edited,
        later=request.edit,
        subject=request.subject,
        object=request.target_true,
        relation=request.relation,
        max_steps=posted.max_steps,
        bare=posted.bare,
        parallel=posted.parallel,
        pre=f"{measure}_pre",
        post=f"{measure}_post",
        floor=0.0 if measure == "p" else posted.known_chain,
    )
    if not found:
        return Reopened(closed=0, opened=0)
    (row,) = found
    facts = [ChainFact(**asdict(link)) for link in row.links]
    return Reopened(
        closed=row.closed, opened=row.opened, facts=facts,
        base=row.r_base, edited=row.r_edited, later=row.r_later,
    )  # fmt: skip


def _old_object(db: Database, request: ComparedRequest) -> dict[str, float | None]:
    """The probability of the old object in the state, by measure; empty without such a fact."""
    for row in db.read(rows.FactRow, "graph/facts", graph=request.edit):
        if row.role == "target_true":
            return {
                "p": row.p_post,
                "likelihood": row.likelihood_post,
                "likelihood_norm": row.likelihood_norm_post,
            }
    return {}


def _undefined(score: Score, first: LineState, measures: Sequence[Measure]) -> dict[Measure, str]:
    """Why the retention of the change is undefined, by measure."""
    found: dict[Measure, str] = {}
    for measure in measures:
        numbers = first.numbers[measure]
        if numbers.retention is not None:
            continue
        if numbers.change is None:
            found[measure] = "the base did not know the fact that the edit forgets (p below .05)"
        else:
            what = "forgetting" if score.kind == "forget" else "p(new object)"
            found[measure] = f"right after the edit, {what} is {fine(numbers.change)}, below .05"
    return found
