"""Compare states of a model with a base on a graph. Read this file first: the room's steps.

    1 requests   rewrites, facts that shall be forgotten, or nothing: the graph is watched
    2 base       is opened, asked, closed
      for each state:
    3 train      a fine-tune is computed on the changes before it, and saved (finetune.py)
    4 state      is asked the same; two bases are never in memory together
    5 write      both probabilities on every edge: one graph of all facts, one of each request
    6 metrics    every metric of an edit for each request; drift and routes, read off the graphs
    7 retention  of the first state's change, in states that build on it (retention.py)

A request of a state is an edit like any other: its chains, leakage, rules, figures and diffs are
read by its id. All records appear in one transaction, so that a comparison is stored whole or not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...cypher import query, rows
from ...cypher.errors import GraphError
from ...cypher.metric_options import headlines
from ...cypher.rows.checks import CheckCounts
from ...cypher.rows.states import ChangedFact
from ...loaders.records import RewriteRequest, digest, slug
from .. import NUMBERS_VERSION
from ..base.errors import JobInterrupt, LeaseLostError, UsageError
from ..experiments import store
from ..experiments.kind import COMMAND, Work
from ..graphs import datasets
from ..graphs.edges import KEPT_RATIO, LOST_RATIO
from ..models.edit import (
    KnownDrift,
    Measure,
    MeasuredOptions,
    MetricValue,
    Score,
    SideEffects,
)
from ..models.forms import FormOut
from ..scoring import battery, checks, deltas, metrics, tasks
from ..scoring import drift as drifting
from ..scoring.chat import ChatChosen, settled
from ..scoring.model_graph import complete
from ..scoring.plan import query_digests, versions
from ..scoring.probe import ProbedFact, questions_for, undecided
from ..scoring.record import write_probed
from ..scoring.request import ScoreRequest, probe_settings
from . import asked_checks, finetune, measures
from . import forms as asked_forms
from . import measures as probing
from .asked_checks import AskedChecks
from .checks import requests_of
from .forms import AskedForms
from .measures import Answers, ProbeBatch, ProbePlan, routes
from .opened import InMemory, file_times, load_state, require_packages
from .schemas import (
    ComparedRequest,
    ComparisonIn,
    ComparisonOut,
    StateComparison,
    StateOut,
    Wording,
    first_measure,
)
from .spec import as_change
from .verdict import verdict

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...editing.states.tasks import TaskResult, Tasks
    from ..scoring.runtime import Runtime
    from .spec import StateIn


LEAST_REPEATED = 1e-6
"""Differences between two likelihoods of one text above which a note says so."""

NO_TEXTS = "a comparison reads no texts"
METHOD = "compare"
"""In place of a method, the edits of a comparison have `compare:NAME` of their state."""
KIND = "comparison"


@dataclass
class _Run:
    """A comparison under way.

    Attributes:
        asked: the questions; in the way in which the base is asked, once that is settled.
        parts: of the identity of the base and of each state so far, see `_parts`.
        span: beginning and length of the current state's part of the progress.
        forms: as the base answers them; so are the checks.
        tasks: of lm-eval; None where none are requested.
        solved: the base's results on them.
        unrecorded: graphs that this run has written and no record names yet.
        digest: of the request and its files, see `ComparisonOut.asked`.
    """

    runtime: Runtime
    posted: ComparisonIn
    asked: ProbePlan
    work: Work
    notes: list[str] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    span: tuple[float, float] = (0.0, 1.0)
    chat: ChatChosen | None = None
    forms: AskedForms = field(default_factory=AskedForms)
    checks: AskedChecks = field(default_factory=AskedChecks)
    tasks: Tasks | None = None
    solved: Sequence[TaskResult] = ()
    unrecorded: list[str] = field(default_factory=list)
    digest: str = ""

    def discard(self, error: BaseException) -> None:
        """Delete the graphs that no record names, as the run ends without one.

        Those of a job stay where it runs again: its worker shuts down, or it belongs to another
        worker by now, which writes the same graphs.

        Raises:
            LeaseLostError: it belongs to another worker.
        """
        db, lease = self.runtime.db, self.work.lease
        if lease is not None:
            if isinstance(error, JobInterrupt) and not error.cancelled:
                return
            lease.required(db.write(rows.HoldLeaseRow, "jobs/hold", **lease.params))
        for graph in self.unrecorded:
            named = db.read(rows.GetEditRow, "edits/get_edit", id=graph)
            if not named and not store.results(db, KIND, ComparisonOut, part=graph, limit=1):
                db.autocommit(int, "graph/delete_graph", graph=graph)

    def settle(self, state: Any) -> ProbePlan:
        """Return the questions for a state: chat or plain as measured at the first with weights.

        An endpoint is asked in the way that its server has (`EndpointState`).
        """
        settings = self.asked.settings
        loaded = getattr(state, "loaded", None)
        if loaded is None:
            return replace(self.asked, settings=replace(settings, chat=self.posted.chat))
        settings, chat = settled(self.runtime, self.asked.dataset, loaded, settings)
        self.asked = replace(self.asked, settings=settings)
        if chat is not None:
            self.chat = chat
            self.notes.append(chat.sentence)
        return self.asked

    def solve(self, state: Any) -> Sequence[TaskResult]:
        """Return the results of an open state on the tasks."""
        if self.tasks is None:
            return ()
        return tasks.of_model(self.runtime, state.loaded, state.about.digest, self.tasks)

    @contextmanager
    def stage(self, name: str, progress: float) -> Iterator[None]:
        """Enter a stage; its time is recorded."""
        begin, length = self.span
        self.work.enter(name, begin + length * progress)
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 4)


@dataclass(frozen=True, slots=True)
class _Compared:
    """A state that was compared: its record, and the scores of its requests by edit.

    Attributes:
        scores: none where the state was found, as its edits are stored.
    """

    out: StateComparison
    scores: dict[str, Score]
    reused: bool


def compare(
    runtime: Runtime,
    posted: ComparisonIn,
    *,
    memory: Sequence[InMemory | None] = (),
    work: Work = COMMAND,
) -> ComparisonOut:
    """Compare states with a base, and store the result; stored states of the same are found.

    Args:
        memory: models of the caller, in place of the base and of each state in this order; None: as
            in the request.
        work: its lease is checked in every transaction that writes.

    Raises:
        NotFoundError, UsageError: a graph, rewrite, fact or state that there is not.
        GraphError, EditingError, ServiceError: nothing half-written is visible; the models are as
            they were.
    """
    models = [*memory, *[None] * (len(posted.states) + 1 - len(memory))]
    dataset = datasets.get_or_import(runtime.db, posted.graph)
    settings = probe_settings(posted, posted.seed)
    asked_forms.check(posted)
    wanted = [_request(posted, rewrite) for rewrite in requests_of(runtime.db, posted)]
    _refuse_appends(wanted)
    for each in (posted.base, *posted.states):
        require_packages(each, runtime.settings.device)
    harness = _tasks(runtime, posted)
    learnt = finetune.require_all(runtime, posted, [each.rewrite for each in wanted])
    asked = probing.build_questions(runtime, dataset, settings, wanted)
    run = _Run(runtime, posted, asked, work, tasks=harness)
    run.digest = _digest_of_files(run, models, learnt)
    if not posted.force and (found := _found_whole(run)) is not None:
        return found
    n = len(posted.states)
    run.span = (0.0, 1 / n)
    base = finetune.resolve(runtime, dataset, posted, posted.base, learnt, run.notes)
    pre, before = _asked(run, models[0] or base.state, "before", 0.05)
    try:
        return _all(run, [*models[1:]], (pre, before), learnt)
    except BaseException as error:
        with suppress(GraphError, LeaseLostError):
            run.discard(error)
        raise


def _all(
    run: _Run,
    models: Sequence[InMemory | None],
    base: tuple[Answers, StateOut],
    learnt: Mapping[str, finetune.Learnt],
) -> ComparisonOut:
    """Steps 4 to 7: every state in its order, and the record of all."""
    posted, runtime, dataset = run.posted, run.runtime, run.asked.dataset
    n = len(posted.states)
    common = tuple(run.notes)
    done: list[_Compared] = []
    for place, state in enumerate(posted.states):
        run.span = (place / n, 1 / n)
        run.notes = list(common)
        if n > 1:
            runtime.progress(place, n, f"states: {state.name}")
        resolved = finetune.resolve(runtime, dataset, posted, state, learnt, run.notes)
        spec = as_change(state, (posted.base, *posted.states)[place])
        done.append(_state(run, models[place], spec, resolved, base))
        run.seconds = {}
        if place + 1 < n and not done[-1].reused:
            _stored(run, done[-1:], unfinished=True)
    return _stored(run, done)


def _state(
    run: _Run,
    model: InMemory | None,
    spec: str,
    resolved: finetune.ResolvedState,
    base: tuple[Answers, StateOut],
) -> _Compared:
    """Steps 4 to 6 of one state; what is stored of it is found."""
    pre, before = base
    del run.parts[1:]
    with _open(run, model or resolved.state) as found:
        after = _about(found)
        asked = run.settle(found)
        id = _id(run, before, after)
        if not run.posted.force and (out := _found(run, id)) is not None:
            return _Compared(out.model_copy(update={"spec": spec}), {}, reused=True)
        with run.stage("ask after", 0.45):
            same = before.digest == after.digest
            post = pre if same else _answers(run, found, asked, pre)
            solved = run.solved if same else run.solve(found)
            after = _counted(_about(found), post)
            loaded = getattr(found, "loaded", None)
            answers = asked_forms.ask_state(run.runtime, run.forms, loaded, same=same)
            replies = asked_checks.ask_state(run.runtime, asked, run.checks, loaded, same=same)
    _note(run, before, after)
    states, both = (before, after), (pre, post)
    with run.stage("write", 0.8):
        scored = _scored(run, states, both)
        taken = _write(run, id, states, scored, both)
    with run.stage("metrics", 0.9):
        edits = [each.edit for each in scored]
        forms = asked_forms.written(run.runtime.db, run.work, run.forms, edits, answers)
        checked = asked_checks.written(run.runtime.db, run.work, run.checks, edits, replies)
        read = _read(run, id, scored, taken)
        scores = _scores(run, states, scored, forms, checked, read["side_effects"])
        led = _routes(run, scored, taken)
        asked_in = {each.edit: _wordings(run, each, forms, taken) for each in scored}
    out = StateComparison(
        id=id,
        spec=spec,
        before=before,
        after=after,
        same=same,
        measures=list(taken),
        requests=[
            _compared(each, scores[each.edit], led[each.edit], asked_in[each.edit])
            for each in scored
        ],
        **read,
        tasks=tasks.paired(run.solved, solved),
        updates=list(resolved.updates),
        notes=run.notes,
        seconds=run.seconds,
        provenance=_provenance(run, states),
    )
    said = verdict(out, out.measure).headline
    return _Compared(out.model_copy(update={"verdict": said}), scores, reused=False)


def _digest_of_files(
    run: _Run, models: Sequence[InMemory | None], learnt: Mapping[str, finetune.Learnt]
) -> str:
    """See `ComparisonOut.asked`; nothing is loaded."""
    posted = run.posted
    if any(model is not None for model in models):
        return ""
    times = [
        file_times(run.runtime, each, run.asked.dataset, posted.organism_seed)
        for each in (posted.base, *posted.states)
    ]
    if None in times:
        return ""
    about = [
        posted.model_dump(mode="json", exclude={"force"}),
        times,
        _asked_identity(run),
        {text: digest(each.pairs, 64) for text, each in learnt.items()},
    ]
    return digest(about, 64)


def _found_whole(run: _Run) -> ComparisonOut | None:
    """The stored comparison of the same request and files, with all its graphs and edits."""
    db = run.runtime.db
    named = {"holds": run.digest, "graph": run.posted.graph}
    for out in store.results(db, KIND, ComparisonOut, **named) if run.digest else ():
        updates = (update for each in out.states for update in each.updates)
        if (
            not out.unfinished
            and all(_is_stored(db, state) for state in out.states)
            and all(deltas.path_of(run.runtime.settings, each).is_file() for each in updates)
        ):
            return out.model_copy(update={"reused": True})
    return None


def _found(run: _Run, id: str) -> StateComparison | None:
    """A stored comparison with this state, if its graph and all its edits are still stored."""
    db = run.runtime.db
    for out in store.results(db, KIND, ComparisonOut, part=id, limit=1):
        (state,) = (each for each in out.states if each.id == id)
        if _is_stored(db, state):
            requests = [each.model_copy(update={"retention": {}}) for each in state.requests]
            return state.model_copy(update={"requests": requests})
    return None


def _is_stored(db: Database, state: StateComparison) -> bool:
    """Return True if the graph of a state and all its edits are still stored."""
    edits = (each.edit for each in state.requests)
    return bool(db.read(rows.GraphRow, "graph/get_graph", graph=state.id)) and all(
        db.read(rows.GetEditRow, "edits/get_edit", id=edit) for edit in edits
    )


def _routes(run: _Run, scored: Sequence[_Scored], taken: Sequence[Measure]) -> dict[str, Any]:
    """The routes of each request by measure."""
    led: dict[str, Any] = {}
    for each in scored:
        found = complete(each.probed + each.further)
        own: list[Measure] = [measure for measure in taken if measure in found]
        led |= routes(run.runtime.db, {each.edit: each.request}, own)
    return led


def _read(
    run: _Run, id: str, scored: Sequence[_Scored], taken: Sequence[Measure]
) -> dict[str, Any]:
    """Drift over the graph and the changed facts by measure, and the change of known facts."""
    db, known = run.runtime.db, run.posted.known
    rewrites = [each.request.rewrite for each in scored]
    subjects = [each.subject for each in rewrites]
    damage = drifting.drift(
        db, id, first_measure(taken), subjects, known,
        edited=sorted(drifting.edited_ids(rewrites)), known_before=True,
    )  # fmt: skip
    return {
        "drift": {measure: drifting.drift(db, id, measure, subjects, known) for measure in taken},
        "changed": {
            measure: db.read(
                ChangedFact, "states/changed_facts", graph=id, pre=f"{measure}_pre",
                post=f"{measure}_post", known=known, kept=KEPT_RATIO, lost=LOST_RATIO,
            )
            for measure in taken
        },
        "side_effects": SideEffects(
            reason=NO_TEXTS,
            drift=KnownDrift(**damage.model_dump(), excluded=0, unasked=0),
            drift_reason=None,
        ),
    }  # fmt: skip


def _stored(run: _Run, done: Sequence[_Compared], *, unfinished: bool = False) -> ComparisonOut:
    """Step 7, and the record of all states; those of states that were stored alone are deleted.

    Args:
        unfinished: more states follow; the record of this one is found if they are never reached.
    """
    db, posted = run.runtime.db, run.posted
    states = [each.out for each in done]
    id = states[0].id
    if len(states) > 1:
        states = measures.with_retention(db, posted, states)
        about = [[each.id for each in states], [each.spec for each in states]]
        id = f"{METHOD}-{slug(states[-1].after.name)[:40]}-{digest([about, NUMBERS_VERSION], 10)}"
    out = ComparisonOut(
        id=id,
        graph=posted.graph,
        states=states,
        n_facts=len(run.asked.facts),
        notes=list(dict.fromkeys(note for each in states for note in each.notes)),
        request=posted.model_dump(mode="json"),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        asked=run.digest,
        unfinished=unfinished,
    )
    if all(each.reused for each in done):
        for found in store.results(db, KIND, ComparisonOut, id=id):
            if not found.unfinished:
                mark = run.digest or found.asked
                out = found.model_copy(update={"asked": mark, "reused": True})
                if found.asked == mark:
                    return out
    scores = {edit: score for each in done for edit, score in each.scores.items()}

    def before(tx: Tx) -> None:
        rewrites = probing.rewrites(run.asked)
        store.write_rewrites(tx, posted.graph, rewrites)
        tx.run(
            rows.WrittenRow,
            "states/write_edits",
            graph=posted.graph,
            rows=[_row(x) for x in scores.values()],
        )

    store.save(
        db,
        KIND,
        out,
        edits=list(dict.fromkeys(each.edit for state in states for each in state.requests)),
        graphs=[each.id for each in states],
        updates=list(dict.fromkeys(update for each in states for update in each.updates)),
        lease=run.work.lease,
        before=before,
    )
    run.unrecorded.clear()
    for state in states if len(states) > 1 else ():
        for part in store.results(db, KIND, ComparisonOut, id=state.id):
            if part.unfinished:
                db.write(rows.DeleteExperimentRow, "experiments/delete", id=part.id)
    return out


def _row(score: Score) -> dict[str, object]:
    """The record of a request's edit."""
    return {
        "edit": score.edit,
        "rewrite": score.rewrite,
        "model": score.model,
        "method": score.method,
        "score": score.stored(),
        "provenance": json.dumps(score.provenance, default=str),
        "protocols": score.stored_protocols,
    }


def _request(posted: ComparisonIn, rewrite: RewriteRequest) -> ScoreRequest:
    """The request as scores take it; its model and method are named once the states are known."""
    # Whether to compare again is decided by what is stored of the comparison.
    names = ("seed", *(name for name in MeasuredOptions.model_fields if name != "force"))
    options = {name: getattr(posted, name) for name in names}
    return ScoreRequest.of(rewrite, None, **options)


def _refuse_appends(wanted: Sequence[ScoreRequest]) -> None:
    appends = [request.rewrite.id for request in wanted if request.rewrite.kind == "append"]
    if appends:
        raise UsageError(
            f"A comparison scores no appended answers yet: {appends[0]!r} is such a request.",
            remedy="Name rewrites with --rewrite, or facts with --forget.",
        )


def _tasks(runtime: Runtime, posted: ComparisonIn) -> Tasks | None:
    """The tasks of lm-eval, loaded before a model is.

    Raises:
        UsageError: a state is behind an endpoint.
        EditingError: lm-eval is not installed, or a task cannot be loaded.
    """
    served = [each.spec for each in (posted.base, *posted.states) if each.endpoint]
    if posted.tasks and served:
        raise UsageError(
            f"Tasks need a model's weights, and {served[0]} is behind an endpoint.",
            remedy="Leave out --tasks, or name a model or a folder.",
        )
    return tasks.load(runtime, posted)


@contextmanager
def _open(run: _Run, state: StateIn | InMemory) -> Iterator[Any]:
    posted = run.posted
    with load_state(
        run.runtime,
        state,
        run.asked.dataset,
        dtype=posted.dtype,
        organism_seed=posted.organism_seed,
    ) as found:
        run.parts.append(_parts(found))
        yield found


def _parts(state: Any) -> dict[str, Any]:
    """The parts of a state's identity: fields of the configuration, and digests of the rest."""
    loaded = getattr(state, "loaded", None)
    if loaded is None:
        return {}
    from ...editing import identity

    return {**loaded.info.parts, "config": identity.config_fields(loaded.model, defaults=True)}


def _asked(
    run: _Run, state: StateIn | InMemory, name: str, progress: float
) -> tuple[Answers, StateOut]:
    """Open a state, ask it, and close it; its record is read last, as it counts replies."""
    with _open(run, state) as found, run.stage(f"ask {name}", progress):
        answers = _answers(run, found, run.settle(found), None)
        loaded = getattr(found, "loaded", None)
        if run.posted.forms and loaded is not None:
            run.forms = asked_forms.ask_base(run.runtime, run.asked, loaded, answers)
        run.checks = asked_checks.ask_base(run.runtime, run.asked, loaded)
        run.solved = run.solve(found)
        return answers, _counted(_about(found), answers)


def _answers(run: _Run, state: Any, asked: ProbePlan, base: Answers | None) -> Answers:
    """The answers of an open state, with its own ones."""
    found = probing.answers_of(run.runtime, state, asked)
    return probing.with_own_answers(run.runtime, state, asked, found, base)


def _about(state: Any) -> StateOut:
    """The record of an open state, with the digest of its tokenizer's vocabulary."""
    loaded = getattr(state, "loaded", None)
    if loaded is None:
        return state.about
    vocabulary = digest(sorted(loaded.tokenizer.get_vocab().items()), 8)
    return state.about.model_copy(update={"about": state.about.about | {"tokenizer": vocabulary}})


def _counted(state: StateOut, answers: Answers) -> StateOut:
    """The record of a state with the numbers of its samples, which an endpoint counts itself."""
    counts = undecided([*answers.facts.values(), *answers.edited, *answers.implied])
    if "replies" in state.about or not counts["answers"]:
        return state
    return state.model_copy(update={"about": state.about | {"replies": counts}})


def _id(run: _Run, before: StateOut, after: StateOut) -> str:
    """The same for the same states, requests and options on the same content of the graph."""
    about = _identity(run, before, after) | _asked_identity(run)
    return f"{METHOD}-{slug(after.name)[:40]}-{digest(about, 10)}"


def _identity(run: _Run, before: StateOut, after: StateOut) -> dict[str, object]:
    return _measured_identity(run) | {
        "before": before.digest,
        "after": after.digest,
        "names": [before.name, after.name],
    }


def _asked_identity(run: _Run) -> dict[str, object]:
    """The questions and the rule of counting, whatever the states are."""
    about = _measured_identity(run) | {
        "requests": [rewrite.identity for rewrite in probing.rewrites(run.asked)],
        "routes": query("states/routes").digest,
    }
    if implied := [each.implied.identity for each in run.asked.requests if each.implied]:
        about["implications"] = implied
    return about


def _measured_identity(run: _Run) -> dict[str, object]:
    return {
        "graph": run.asked.dataset.digest,
        "probe": run.asked.settings.digest,
        "options": run.posted.options.digested(),
        "seed": run.posted.seed,
        "code": NUMBERS_VERSION,
        **battery.identity(run.posted),
        **({"tasks": tasks.identity(run.tasks)} if run.tasks else {}),
        **({"checks": checks.PROTOCOL} if run.checks.distinct else {}),
    }


def _note(run: _Run, before: StateOut, after: StateOut) -> None:
    """Note the facts about the two states that a reader must know."""
    if before.digest == after.digest:
        run.notes.append(
            "Both states are the same model: nothing differs, and nothing was asked twice."
        )
    elif weights := _same_weights(before, after):
        others = "; ".join(_other_parts(*run.parts))
        run.notes.append(f"The states have the same weights ({weights[:12]}), but other {others}.")
    vocabularies = {state.about.get("tokenizer") for state in (before, after)} - {None}
    if len(vocabularies) > 1:
        run.notes.append(
            "The states have different tokenizers: likelihoods are those of the answers' texts,"
            " over different tokens."
        )
    if not (before.exact and after.exact):
        run.notes.append(
            "A state behind an endpoint gives no likelihoods: sampled answers are compared alone."
        )
    if run.posted.samples and before.digest != after.digest and "endpoint" in (
        before.kind, after.kind,
    ):  # fmt: skip
        run.notes.append(
            "A server draws samples with random numbers of its own. So the intervals of sampled"
            " values are narrower than 95 % intervals: in simulation they hold the truth in 81 to"
            " 98 % of runs, and IFR and Preservation lie above it by up to .5."
        )
    served = [each.name for each in (before, after) if each.kind == "endpoint"]
    if served and any(each.request.rewrite.checks for each in run.asked.requests):
        run.notes.append(
            f"The questions of the data set were not asked: {served[0]} is behind an endpoint."
        )
    for state in (before, after):
        counts = state.about.get("replies", {})
        if counts.get("undecided"):
            run.notes.append(
                f"{state.name}: {counts['undecided']} of {counts['answers']} sampled answers are"
                f" undecided, {counts['unclosed']} of them as their reasoning does not end. They"
                " count neither as right nor as wrong; a fact without a decided answer has no p,"
                " and a request with such a fact no metric of p."
            )
        if (repeated := state.about.get("repeated_difference", 0.0)) > LEAST_REPEATED:
            run.notes.append(
                f"The server of {state.name} gave likelihoods that differ by {repeated:.1g} for one"
                " text asked twice: smaller differences between the states mean nothing."
            )
    if not run.asked.whole:
        run.notes.append(
            "The graph is large: facts on chains of the requests were asked, and no others"
            " (THINKEVAL_PROBE_ALL_LIMIT)."
        )


def _same_weights(before: StateOut, after: StateOut) -> str | None:
    """The digest of the weights of two states that differ in something else only."""
    kinds = {before.kind, after.kind}
    weights = before.about.get("weights_digest")
    if weights != after.about.get("weights_digest") or not kinds <= {"model", "edited", "memory"}:
        return None
    return weights


def _other_parts(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The parts in which two models differ, for a reader; of a configuration its fields."""
    from ...editing.identity import differing

    found = differing(before.get("config") or {}, after.get("config") or {})
    fields = [f"{name} {one} -> {other}" for name, (one, other) in found.items()]
    names = {
        "buffers": "tensors besides the parameters",
        "tokenizer": "tokenizer",
        "template": "chat template",
        "stops": "tokens that end an answer",
        "matmuls": "type of number in which matrices are multiplied",
    }
    rest = [text for name, text in names.items() if before.get(name) != after.get(name)]
    return ([f"config: {', '.join(fields)}"] if fields else []) + rest


@dataclass(frozen=True, slots=True)
class _Scored:
    """A request of the comparison, its edit, and its facts with both answers.

    Attributes:
        further: conclusions of rules; no metric is taken over them.
    """

    asked: ProbeBatch
    edit: str
    request: ScoreRequest
    probed: list[ProbedFact]
    further: list[ProbedFact]


def _scored(
    run: _Run, states: tuple[StateOut, StateOut], both: tuple[Answers, Answers]
) -> list[_Scored]:
    """The facts of each request with both answers, and the id of its edit."""
    before, after = states
    pre, post = (iter(each.edited) for each in both)
    concluded = zip(both[0].implied, both[1].implied, strict=True)
    out = []
    for asked in run.asked.requests:
        edited = [[next(side) for _ in asked.edited] for side in (pre, post)]
        rewrite = asked.request.rewrite
        about = _identity(run, before, after) | {"rewrite": rewrite.identity}
        further: list[ProbedFact] = []
        if asked.implied:
            about["implications"] = asked.implied.identity
            further = [ProbedFact(q, *next(concluded)) for q in asked.implied.questions]
        name = f"{METHOD}-{slug(after.name)[:24]}-{slug(rewrite.subject)[:32]}"
        request = asked.request.model_copy(
            update={"model": before.name, "method": f"{METHOD}:{after.name}"}
        )
        probed = probing.of_request(asked, edited[0], edited[1], both)
        out.append(_Scored(asked, f"{name}-{digest(about, 10)}", request, probed, further))
    return out


def _write(
    run: _Run,
    id: str,
    states: tuple[StateOut, StateOut],
    scored: Sequence[_Scored],
    both: tuple[Answers, Answers],
) -> tuple[Measure, ...]:
    """The graph of all facts and that of each request; the measures that both states gave.

    Raises:
        UsageError: there is none.
    """
    db, asked = run.runtime.db, run.asked
    pre, post = both
    everything = [
        ProbedFact(question, pre.facts[question.fact.id], post.facts[question.fact.id])
        for question in questions_for(asked.facts, asked.aliases)
    ]
    taken = probing.common_measures(
        everything + [one for each in scored for one in each.probed + each.further]
    )
    if not taken:
        raise _no_measure(states)
    for graph, probed, aliases in (
        (id, everything, asked.aliases),
        *((each.edit, each.probed + each.further, each.asked.scope.aliases) for each in scored),
    ):
        kept = [probing.of_measures(one, taken) for one in probed]
        header = rows.GraphHeader(
            graph, "edit", run.posted.graph, model=states[0].name, edit=graph,
            probe=asked.settings.digest, content_digest=asked.dataset.digest,
            measures=taken if graph == id else complete(kept),
        )  # fmt: skip
        if not db.read(rows.GraphRow, "graph/get_graph", graph=graph, incomplete=True):
            run.unrecorded.append(graph)
        write_probed(db, header, kept, aliases, fence=run.work.fence)
    return taken


def _no_measure(states: Sequence[StateOut]) -> UsageError:
    """The error of two states of which one decided no sampled answer."""
    counts = [(state.name, state.about.get("replies", {})) for state in states]
    said = [
        f"{each['undecided']} of {each['answers']} sampled answers of {name} are undecided,"
        f" {each['unclosed']} of them as their reasoning does not end"
        for name, each in counts
        if each.get("undecided")
    ]
    return UsageError(
        f"There is nothing to compare: {'; '.join(said) or 'the states share no measure'}.",
        remedy="Let answers be longer (--max-new-tokens), ask in another way (--chat, --ask), or"
        " use a model without reasoning.",
    )


def _scores(
    run: _Run,
    states: tuple[StateOut, StateOut],
    scored: Sequence[_Scored],
    forms: Mapping[str, list[FormOut]],
    checked: Mapping[str, list[CheckCounts]],
    side_effects: SideEffects,
) -> dict[str, Score]:
    """The score of each request by its edit.

    Args:
        forms: likewise; empty where none were asked for.
        checked: likewise the outcome of the checks.
        side_effects: of the state, which a verdict on a request reads damage from.
    """
    if not scored:
        return {}
    from ..scoring import intervals  # numpy; `--help` should not wait for it

    db = run.runtime.db
    provenance = _provenance(run, states)
    values = metrics.measure_each(db, {each.edit: each.request for each in scored})
    out = {}
    for each in scored:
        rewrite = each.request.rewrite
        score = Score(
            edit=each.edit,
            dataset=run.posted.graph,
            rewrite=rewrite.id,
            subject=rewrite.subject,
            relation=rewrite.relation,
            prompt=rewrite.prompt,
            target_true=rewrite.target_true,
            target_new=rewrite.target_new,
            model=each.request.model,
            method=each.request.method,
            options=run.posted.options,
            values=values[each.edit],
            n_facts=len(each.asked.scope.facts),
            provenance=provenance | _implied(each.asked) | battery.recorded(run.posted),
            forms=forms.get(each.edit, []),
            checks=checked.get(each.edit, []),
            side_effects=side_effects,
        )
        bounded = intervals.with_intervals(db, score, each.probed, run.posted.seed)
        out[each.edit] = score.model_copy(update={"values": bounded})
    return out


def _implied(asked: ProbeBatch) -> dict[str, Any]:
    """Return the record of the conclusions that were asked; empty where none were requested."""
    return {"implications": asked.implied.about()} if asked.implied else {}


def _wordings(
    run: _Run, each: _Scored, forms: Mapping[str, list[FormOut]], taken: Sequence[Measure]
) -> list[Wording]:
    """The old object's probability by the request's own prompt, then in other wordings."""
    own = [
        Wording(form=battery.CLOZE, measure=measure, before=pre, after=post)
        for one in each.probed
        if one.question.role == "target_true" and one.post is not None
        for measure in taken
        if (pre := one.pre.values.get(measure)) is not None
        and (post := one.post.values.get(measure)) is not None
    ]
    forgets = each.request.rewrite.kind == "forget"
    found = forms.get(each.edit, [])
    return own + asked_forms.wordings(run.runtime.db, each.edit, found, forgets=forgets)


def _compared(each: _Scored, score: Score, found: Any, wordings: list[Wording]) -> ComparedRequest:
    shown = (*headlines(), "efficacy_before")
    kept: list[MetricValue] = [value for value in score.values if value.metric in shown]
    rewrite = each.request.rewrite
    return ComparedRequest(
        kind=rewrite.kind,
        rewrite=rewrite.id,
        subject=rewrite.subject,
        relation=rewrite.relation,
        prompt=rewrite.prompt,
        target_true=rewrite.target_true,
        target_new=rewrite.target_new,
        edit=each.edit,
        values=[value for value in kept if value.step is None],
        routes=found,
        wordings=wordings,
    )


def _provenance(run: _Run, states: tuple[StateOut, StateOut]) -> dict[str, Any]:
    """Return the provenance by which a reader checks or repeats the numbers."""
    before, after = states
    return {
        "comparison": {"before": before.model_dump(), "after": after.model_dump()},
        "model": {
            "name": before.name,
            "digest": before.digest,
            "weights_digest": before.about.get("weights_digest"),
        },
        "graph_digest": run.asked.dataset.digest,
        "probe": run.asked.settings.as_dict(),
        "probe_digest": run.asked.settings.digest,
        **({"chat_chosen": run.chat.as_dict()} if run.chat else {}),
        "seed": run.posted.seed,
        **({"tasks": tasks.record(run.posted, run.tasks)} if run.tasks else {}),
        "queries": query_digests("states/drift", "states/changed_facts", "states/routes"),
        "versions": versions(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
