"""A comparison as tables: its states, requests and drift, and the sentences below them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...cypher.rows.chains import Link
from ...cypher.rows.states import ChangedFact, MovedRoute
from ..base.errors import UsageError
from ..base.formatting import cell, fine, number, objects, pluralize, short, signed
from ..graphs.edges import became
from ..models.edit import MEASURE_NAMES, DriftLine, Measure, MeasuredOptions
from ..models.options import words_of
from ..reports import series_figures as drawing
from ..reports.edit import DRIFT_COUNTS
from ..reports.figure_style import encode
from ..reports.formats import Column, Table
from ..reports.tasks import tasks_table
from .schemas import SHOWN, ComparedRequest, ComparisonIn, ComparisonOut, StateComparison
from .verdict import FORMS, verdict

if TYPE_CHECKING:
    from ...loaders.records import RequestKind


MEANING = (
    "kept: p_post ≥ .9 p_pre; replaced: it now answers otherwise; lost: below .1;"
    " weakened: the others; added: p_pre < .05 ≤ p_post;"
    " unknown: both below .05. moved is the mean of |p_post − p_pre|, shift that of p_post − p_pre."
)
ROUTES = "A chain is a route where {rule}. Routes: before → after, opened + and closed −."

_METRICS: dict[str, tuple[tuple[str, str], ...]] = {
    "replace": (("efficacy", "efficacy"),),
    "forget": (("forgetting", "forgetting"), ("leak_at_100", "leak@100")),
}
_BOTH = (
    ("ifr", "IFR"),
    ("preservation", "Preservation"),
    ("subject_retention", "subject retention"),
)


def title(out: ComparisonOut) -> str:
    """The base, the states and the graph."""
    return f"{line_of(out)}, graph {out.graph}"


def line_of(out: ComparisonOut) -> str:
    """The base and the states, each as a change of the one before where it is one."""
    names = map(short_name, out.states) if len(out.states) > 1 else [out.states[0].after.name]
    return " → ".join([out.base.name, *names])


def measure_of(out: ComparisonOut, wanted: Measure | None) -> Measure:
    """The measure to show: the wanted one, or the one that comes first.

    Raises:
        UsageError: the states were not compared by it.
    """
    if wanted is None:
        return out.measure
    if wanted not in out.measures:
        raise UsageError(
            f"The states were not compared by {wanted!r}.",
            remedy=f"There is: {', '.join(out.measures)}.",
        )
    return wanted


def tables(out: ComparisonOut, wanted: Measure | None = None) -> list[Table[Any]]:
    """The tables of a comparison: changed facts and routes first, then counts.

    Of several states a row each comes before them.

    Raises:
        UsageError: the states were not compared by the measure.
    """
    measure = measure_of(out, wanted)
    solved = [tasks_table(state.tasks, short_name(state)) for state in out.states if state.tasks]
    moved = [changed_table(out, measure), *routes_tables(out, measure)]
    if len(out.states) > 1:
        return [states_table(out, measure), *moved, drift_table(out, measure), *solved]
    (state,) = out.states
    return [*moved, *request_tables(state, measure), drift_table(out, measure), *solved]


# Facts that changed, and chains that opened or closed, each in words.

ChangedRow = tuple[StateComparison, ChangedFact]
RouteRow = tuple[StateComparison, ComparedRequest, MovedRoute]


def changed_table(out: ComparisonOut, measure: Measure) -> Table[ChangedRow]:
    """The facts that changed in each state, the greatest change first."""
    rows = [(state, fact) for state in out.states for fact in state.changed.get(measure, ())]
    totals = [state.drift[measure].total for state in out.states]
    n = sum(each.weakened + each.replaced + each.lost + each.added for each in totals)
    note = f"{pluralize(n, 'fact')} changed."
    if n > len(rows):
        note = f"The {len(rows):,} greatest changes of {n:,}; the graph of the comparison has all."
    several: list[Column[ChangedRow]] = [Column("state", lambda row: short_name(row[0]))]
    said: list[Column[ChangedRow]] = [
        Column("answer now", lambda row: row[1].says_after),
        Column("answer before", lambda row: row[1].says_before, optional=1),
    ]
    columns: list[Column[ChangedRow]] = [
        *(several if len(out.states) > 1 else ()),
        Column("fact", lambda row: stated(row[1])),
        Column("p", lambda row: f"{short(row[1].before)} → {short(row[1].after)}", whole=True),
        *(said if any(fact.says_after for _, fact in rows) else ()),
        Column("became", lambda row: became(row[1].change, row[1].says_after)),
    ]
    values: list[Column[ChangedRow]] = [Column("state", lambda row: row[0].after.name)]
    values += [
        Column(name, lambda row, name=name: getattr(row[1], name))
        for name in ChangedFact.model_fields
    ]
    return Table("changed", "Changed facts", columns, rows, note, values)


def stated(fact: ChangedFact | Link) -> str:
    """Return a fact as a sentence: its cloze with subject and object."""
    return f"{fact.prompt.replace('{}', fact.subject)} {fact.object}"


def routes_tables(out: ComparisonOut, measure: Measure) -> list[Table[RouteRow]]:
    """The strongest chains that opened, and those that closed; a table of either."""
    rows = [
        (state, request, route)
        for state in out.states
        for request in state.requests
        if measure in request.routes
        for route in request.routes[measure].moved
    ]
    several: list[Column[RouteRow]] = [Column("state", lambda row: short_name(row[0]))]
    columns: list[Column[RouteRow]] = [
        *(several if len(out.states) > 1 else ()),
        Column("chain", lambda row: ", ".join(map(stated, row[2].links))),
        Column("R", lambda row: f"{short(row[2].r_pre)} → {short(row[2].r_post)}", whole=True),
        Column("fact", lambda row: _fact(row[1]), optional=1),
    ]
    found = []
    for name in ("opened", "closed"):
        mine = [row for row in rows if _is_opened(row, measure) == (name == "opened")]
        n = sum(
            getattr(request.routes[measure], name)
            for state in out.states
            for request in state.requests
            if measure in request.routes
        )
        if mine:
            note = f"{pluralize(n, 'chain')} {name}."
            found.append(Table(name, f"Chains that {name}", columns, mine, note))
    return found


def _is_opened(row: RouteRow, measure: Measure) -> bool:
    _, request, route = row
    return request.routes[measure].leads(route.r_post, [link.post for link in route.links])


def request_tables(state: StateComparison, measure: Measure) -> list[Table[ComparedRequest]]:
    """One table for each kind of request."""
    return [
        Table(
            f"{kind}-requests",
            TITLES.get(kind, kind),
            request_columns(kind, measure),
            [request for request in state.requests if request.kind == kind],
            request_note(state, measure),
        )
        for kind in kinds(state)
    ]


def drift_table(
    out: ComparisonOut, measure: Measure, limit: int | None = None
) -> Table[tuple[str, DriftLine]]:
    """The drift: of one state all lines, of several the line of all facts of each.

    Args:
        limit: relations at most; None: all.
    """
    if len(out.states) > 1:
        lines = [(state.after.name, state.drift[measure].total) for state in out.states]
    else:
        lines = [(line.label, line) for line in drift_lines(out.states[0], measure, limit)]
    columns: list[Column[tuple[str, DriftLine]]] = [
        Column("state" if len(out.states) > 1 else "facts", lambda line: line[0])
    ]
    columns += [
        Column(each.header, _of_line(each.get), each.format, optional=each.optional)
        for each in DRIFT[1:]
    ]
    return Table("drift", "Drift", columns, lines, MEANING)


def _of_line(get: Callable[[DriftLine], Any]) -> Callable[[tuple[str, DriftLine]], Any]:
    return lambda line: get(line[1])


RETENTION = (
    "Retention: {change} in the state divided by {change} in the first one, of states that have all"
    " changes of the first. IFR and Preservation are those of the state against the base. Open"
    " again: chains that led to the old object in the base, not in the first state, and do in this"
    " one: {rule}. Measure: {measure}."
)
_CHANGES = {"replace": "p(new)", "forget": "forgetting"}

StateRow = tuple[StateComparison, ComparedRequest | None]
"""A state with one of its requests; None where the graph was watched."""


def states_table(out: ComparisonOut, measure: Measure) -> Table[StateRow]:
    """One row a state and request; without requests one a state."""
    rows: list[StateRow] = [
        (state, request) for state in out.states for request in (*state.requests, None)
        if request is not None or not state.requests
    ]  # fmt: skip
    first = out.states[0].requests
    found = sorted({request.kind for request in first})
    changes = " or ".join(_CHANGES.get(kind, "change") for kind in found)
    columns: list[Column[StateRow]] = [Column("state", lambda row: short_name(row[0]))]
    if len(first) > 1:
        columns.append(Column("fact", lambda row: _fact(row[1]) if row[1] else ""))
    if first:
        columns += [
            _retained("retention", "retention", measure),
            _retained(changes, "change", measure),
            _retained("p(old)", "target_true", measure),
            _number("IFR", "ifr", measure),
            _count("chains", "ifr", measure),
            _number("Preservation", "preservation", measure),
            _count("facts", "preservation", measure),
            Column("open again", lambda row: _again(row[1], measure)),
            Column("edit", lambda row: row[1].edit if row[1] else "", optional=2, whole=True),
        ]
    rules = ""
    if first:
        rule = first[0].routes[measure].text
        rules = RETENTION.format(change=changes, rule=rule, measure=MEASURE_NAMES[measure])
    values = [*columns, *_more(rows, measure)]
    return Table("states", "States", columns, rows, values=values, rules=rules)


def _more(rows: Sequence[StateRow], measure: Measure) -> list[Column[StateRow]]:
    """Further numbers of a state and request, for programs: other metrics, and drift."""
    taken = [value for _, request in rows if request for value in request.values]
    metrics = dict.fromkeys(v.metric for v in taken if v.measure == measure and v.step is None)
    counts = (
        "n",
        "kept",
        "weakened",
        "replaced",
        "lost",
        "added",
        "unknown",
        "mean_shift",
        "median_change",
    )
    columns: list[Column[StateRow]] = [
        Column("spec", lambda row: row[0].after.spec),
        *(_number(name, name, measure) for name in metrics if name not in ("ifr", "preservation")),
    ]
    return columns + [
        Column(f"drift_{n}", lambda row, n=n: getattr(row[0].drift[measure].total, n))
        for n in counts
    ]


def short_name(state: StateComparison) -> str:
    """A state as a change of the one before, or its name."""
    return state.spec if state.spec.startswith("+") else state.after.name


def _fact(request: ComparedRequest) -> str:
    asked = request.prompt.replace("{}", request.subject)
    return f"{asked}: {objects(request.target_true, request.target_new)}"


def _retained(header: str, name: str, measure: Measure) -> Column[StateRow]:
    def get(row: StateRow) -> Any:
        found = row[1].retention.get(measure) if row[1] else None
        if found is None and name == "change" and row[1]:
            metric = "forgetting" if row[1].kind == "forget" else "efficacy"
            return row[1].number(metric, measure)
        return getattr(found, name, None)

    return Column(header, get, cell)


def _number(header: str, metric: str, measure: Measure) -> Column[StateRow]:
    return Column(header, lambda row: row[1].number(metric, measure) if row[1] else None, cell)


def _count(header: str, metric: str, measure: Measure) -> Column[StateRow]:
    def get(row: StateRow) -> int | None:
        found = row[1].value(metric, measure) if row[1] else None
        return found.n if found else 0

    return Column(header, get, cell, optional=1)


def _again(request: ComparedRequest | None, measure: Measure) -> str:
    found = request.retention.get(measure) if request else None
    return f"{found.reopened.opened} of {found.reopened.closed}" if found else "–"


def sentences(out: ComparisonOut, wanted: Measure | None = None) -> list[str]:
    """The verdict on each state; of several how much is left of the change, and by which chain.

    Raises:
        UsageError: the states were not compared by the measure.
    """
    measure = measure_of(out, wanted)
    if len(out.states) == 1:
        (state,) = out.states
        found = verdict(state, measure)
        return [found.headline, *found.sentences, *_unknown(state, measure)]
    last = out.states[-1]
    found = []
    for request in last.requests:
        kept = request.retention.get(measure)
        about = f"{_fact(request)}: " if len(last.requests) > 1 else ""
        later = pluralize(len(out.states) - 1, "later state")
        if kept is None:
            continue
        if kept.retention is not None:
            found.append(f"{about}After {later}, {cell(kept.retention)} of the change is left.")
        else:
            found.append(f"{about}Retention is undefined: {kept.undefined}.")
        found += _revival(out, request, measure)
    judged = [(state, verdict(state, measure)) for state in out.states]
    if not found:
        return [f"{state.after.name}: {each.headline}" for state, each in judged]
    return [each.headline for _, each in judged if each.kind == "broke"] + found


def again(out: ComparisonOut) -> list[str]:
    """The commands that show more: all in more wordings where they lack, and one request of it."""
    shown = [f"thinkeval show {each.edit}" for each in out.states[-1].requests[:1]]
    if not any(verdict(state, out.measure).lacks_wordings for state in out.states):
        return shown
    asked = ComparisonIn.model_validate(out.request)
    given = asked.model_dump(mode="json", exclude_defaults=True, exclude={"force", "forms"})
    options = {name: given[name] for name in MeasuredOptions.model_fields if name in given}
    words = ["thinkeval", "compare", asked.base.spec, *(each.spec for each in asked.states)]
    words += ["--all"] * asked.all_rewrites
    words += [word for each in asked.rewrites for word in ("-r", each)]
    words += [word for each in asked.forget for word in ("--forget", each)]
    words += words_of(MeasuredOptions, options | {"forms": FORMS})
    return [shlex.join(words), *shown]


# How a comparison was computed: notes, states, digests. Folded on its page; `--protocol` prints it.


def protocol(out: ComparisonOut) -> list[str]:
    """Return the notes, then a line for the base and for each state with all its parts."""
    made = [
        f"{title}: {', '.join(f'{name} {value}' for name, value in record.items())}."
        for title, record in records(out)
    ]
    return [*out.notes, *made]


def records(out: ComparisonOut) -> list[tuple[str, dict[str, object]]]:
    """Return the base and the states, each with its specification, digests, and what it is of."""
    found = []
    for place, state in enumerate([out.base, *(each.after for each in out.states)]):
        about = {"state": state.spec, "kind": state.kind, "digest": state.digest[:16]}
        graph = {"graph": out.states[place - 1].id} if place else {}
        title = f"{'State' if place else 'Base'} {state.name}"
        found.append((title, {**about, **flat(state.about), **graph}))
    return found


def page_values(out: ComparisonOut) -> dict[str, Any]:
    """Return the values that a comparison's template shows beside its tables."""
    return {
        "verdict": verdict(out.states[-1], out.measure), "commands": again(out),
        "records": records(out), "first": SHOWN,
    }  # fmt: skip


def flat(about: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    """Return the values of a record by their names; those of records within it by both names."""
    found: dict[str, object] = {}
    for name, value in about.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name} ")
        elif isinstance(value, list):
            for place, each in enumerate(value, 1):
                of = each if isinstance(each, Mapping) else {"": each}
                found |= flat(of, f"{prefix}{name} {place} ")
        elif value is not None:
            found[f"{prefix}{name}".strip().replace("_", " ")] = value
    return found


def _revival(out: ComparisonOut, request: ComparedRequest, measure: Measure) -> list[str]:
    """The first chain that is open again, its facts written out."""
    for state in out.states:
        (mine,) = (each for each in state.requests if each.rewrite == request.rewrite)
        chain = mine.retention[measure].reopened if measure in mine.retention else None
        if chain is None or not chain.opened:
            continue
        return [
            f"First open again, in {short_name(state)}: {chain.opened} of"
            f" {pluralize(chain.closed, 'closed chain')}; the strongest (product {fine(chain.base)}"
            f" in the base, {fine(chain.edited)} in the first state, {fine(chain.later)} now):",
            *(
                f"  {fact.prompt.replace('{}', fact.subject)} {fact.object}"
                f" ({cell(fact.base)} → {cell(fact.edited)} → {cell(fact.later)})"
                for fact in chain.facts
            ),
        ]
    closed = request.retention[measure].reopened.closed
    return [
        f"None of {pluralize(closed, 'chain')} that the first state closed is open again."
        if closed
        else "The first state closed no chain, so that none could open again."
    ]


def _unknown(state: StateComparison, measure: Measure) -> list[str]:
    unknown = forgotten_unknown(state.requests, measure)
    if not unknown:
        return []
    return [
        f"{pluralize(unknown, 'fact')} to forget was not known before (p_pre < .05): forgetting is"
        " undefined."
    ]


def retention_figure(out: ComparisonOut, fmt: str, wanted: Measure | None = None) -> bytes:
    """The curve of retention and IFR of the first request as a PNG, SVG or PDF.

    Raises:
        UsageError: another format, or a comparison without requests or with one state.
    """
    from ..reports import series_figures

    measure = measure_of(out, wanted)
    if len(out.states) == 1 or not out.states[0].requests:
        raise UsageError(
            "Retention is that of a request over several states.",
            remedy="Compare a base with two states or more, and name a rewrite.",
        )
    points = []
    for state in out.states:
        request = state.requests[0]
        kept = request.retention.get(measure)
        points.append(
            series_figures.StatePoint(
                short_name(state),
                kept.retention if kept else None,
                request.number("ifr", measure),
                kept.reopened.opened if kept else 0,
            )
        )
    caption = f"{out.id}, graph {out.graph}, {MEASURE_NAMES[measure]}."
    named = _fact(out.states[0].requests[0])
    drawn = partial(series_figures.draw_retention, points, f"{named} ({out.base.name})", caption)
    return encode(drawn, fmt, f"retention {out.id}")


def kinds(out: StateComparison) -> list[RequestKind]:
    """The kinds of its requests, each of which has a table of its own."""
    return list(dict.fromkeys(request.kind for request in out.requests))


TITLES = {"replace": "Rewrites", "forget": "Facts to forget"}
"""Titles of the tables of requests."""


def edits_by_kind(out: StateComparison) -> dict[str, list[str]]:
    """The edits of the requests, by the title of their kind."""
    return {
        TITLES.get(kind, kind): [each.edit for each in out.requests if each.kind == kind]
        for kind in kinds(out)
    }


def request_columns(kind: RequestKind, measure: Measure) -> list[Column[ComparedRequest]]:
    """The columns of the table of one kind of request."""

    def value(metric: str, label: str) -> Column[ComparedRequest]:
        return Column(label, lambda request: request.number(metric, measure), cell)

    def led(request: ComparedRequest) -> str:
        found = request.routes[measure]
        return f"{found.before} → {found.after} (+{found.opened} −{found.closed})"

    return [
        Column("fact", _fact),
        *(value(*each) for each in (*_METRICS[kind], *_BOTH)),
        Column("routes", led),
        Column("edit", lambda request: request.edit, optional=1, whole=True),
    ]


def request_note(out: StateComparison, measure: Measure) -> str:
    """Return the definition of the numbers of the requests."""
    rules = [ROUTES.format(rule=each.routes[measure].text) for each in out.requests[:1]]
    return " ".join([f"Measure: {MEASURE_NAMES[measure]}.", *rules])


DRIFT: list[Column[DriftLine]] = [
    *DRIFT_COUNTS,
    Column("added", lambda line: line.added),
    Column("unknown", lambda line: line.unknown, optional=1),
    Column("moved", lambda line: line.mean_moved, number),
    Column("shift", lambda line: line.mean_shift, signed, optional=2),
]
"""The columns of drift."""


def drift_lines(out: StateComparison, measure: Measure, limit: int | None = 8) -> list[DriftLine]:
    """All facts, then by distance, then the relations that moved most.

    Args:
        limit: relations at most; None: all.
    """
    found = out.drift[measure]
    return [found.total, *found.by_distance, *found.by_relation[:limit]]


def figure(out: ComparisonOut, fmt: str, measure: Measure | None = None) -> bytes:
    """The drift of one state by distance and relation, or of several states, as a figure.

    Raises:
        UsageError: another format, or the states were not compared by this measure.
    """
    chosen = measure_of(out, measure)
    if len(out.states) > 1:
        groups = [
            [_bar(state.drift[chosen].total.model_copy(update={"label": state.after.name}))]
            for state in out.states
        ]
        words = f"{MEASURE_NAMES[chosen].capitalize()}. {MEANING}"
    else:
        (state,) = out.states
        drift = state.drift[chosen]
        groups = [[_bar(drift.total)], [_bar(line) for line in drift.by_distance]]
        groups.append([_bar(line) for line in drift.by_relation[:8]])
        words = f"{MEASURE_NAMES[chosen].capitalize()}. {verdict(state, chosen).headline} {MEANING}"
    drawn = partial(drawing.draw_drift, groups, title(out), words)
    return encode(drawn, fmt, f"drift {out.id}")


def _bar(line: DriftLine) -> drawing.Bar:
    counts = {name: getattr(line, name) for name in drawing.CHANGES}
    return drawing.Bar(line.label, counts, line.mean_moved)


def forgotten_unknown(requests: Sequence[ComparedRequest], measure: Measure) -> int:
    """Count the facts to forget that the first state did not know (p_pre below .05)."""
    return sum(
        request.kind == "forget" and request.number("forgetting", measure) is None
        for request in requests
    )
