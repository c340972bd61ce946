"""A line of states as a table, a curve, and the sentences below them."""

from __future__ import annotations

from ..errors import UsageError
from ..formatting import cell, fine, objects, several
from ..reports.formats import Column
from ..schemas import MEASURE_NAMES, Measure
from .schemas import LastingOut, LineState

MEANING = (
    "Retention: {change} in the state divided by {change} right after the edit. IFR and"
    " Preservation are those of the state against the base. Open again: chains that led to the old"
    " object in the base, not right after the edit, and do in the state (product of the facts'"
    " probabilities above {floor}). Measure: {measure}."
)
_CHANGES = {"replace": "p(new)", "forget": "forgetting"}


def title(out: LastingOut) -> str:
    """The edited fact, the method and the model."""
    asked = out.prompt.replace("{}", out.subject)
    return f"{asked}: {objects(out.target_true, out.target_new)} ({out.method} on {out.base})"


def measure_of(out: LastingOut, wanted: Measure | None) -> Measure:
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


def edit_by_state(out: LastingOut) -> dict[str, list[str]]:
    """The edit that compares each state with the base, by number and change."""
    return {
        f"{k} {state.change if k else 'the edit'}": [state.edit]
        for k, state in enumerate(out.states)
    }


def columns(out: LastingOut, measure: Measure) -> list[Column[LineState]]:
    """One row a state."""

    def again(state: LineState) -> str:
        found = state.numbers[measure].reopened
        return f"{found.opened} of {found.closed}"

    def value(header: str, name: str, optional: int = 0) -> Column[LineState]:
        return Column(
            header, lambda state: getattr(state.numbers[measure], name), cell, optional=optional
        )

    return [
        Column("state", lambda state: state.change),
        value("retention", "retention"),
        value(_CHANGES.get(out.kind, "change"), "change"),
        value("p(old)", "target_true"),
        value("IFR", "ifr"),
        value("chains", "chains", 1),
        value("Preservation", "preservation"),
        value("facts", "facts", 1),
        Column("open again", again),
        Column("edit", lambda state: state.edit, optional=2, whole=True),
    ]


def note(out: LastingOut, measure: Measure) -> str:
    """What the numbers of the table are."""
    floor = out.states[0].numbers[measure].floor
    return MEANING.format(
        change=_CHANGES.get(out.kind, "change"), floor=f"{floor:g}", measure=MEASURE_NAMES[measure]
    )


def sentences(out: LastingOut, measure: Measure) -> list[str]:
    """What is left of the change, and which chain leads to the old object again first."""
    last = out.states[-1]
    kept = last.numbers[measure].retention
    found = []
    if kept is not None:
        found.append(
            f"After {several(len(out.states) - 1, 'later change')}, {cell(kept)} of the change is"
            " left."
        )
    elif measure in out.undefined:
        found.append(f"Retention is undefined: {out.undefined[measure]}.")
    return [*found, *revival(out, measure)]


def revival(out: LastingOut, measure: Measure) -> list[str]:
    """The first chain that is open again, its facts written out."""
    place = out.first.get(measure)
    start = out.states[0].numbers[measure].reopened
    if place is None:
        return [
            f"None of {several(start.closed, 'chain')} that the edit closed is open again."
            if start.closed
            else "The edit closed no chain, so that none could open again."
        ]
    state = out.states[place]
    chain = state.numbers[measure].reopened
    lines = [
        f"First open again, after {state.change}: {chain.opened} of"
        f" {several(chain.closed, 'closed chain')}; the strongest (product {fine(chain.base)} in"
        f" the base, {fine(chain.edited)} after the edit, {fine(chain.later)} now):"
    ]
    return lines + [
        f"  {fact.prompt.replace('{}', fact.subject)} {fact.object}"
        f" ({cell(fact.base)} → {cell(fact.edited)} → {cell(fact.later)})"
        for fact in chain.facts
    ]


def figure(out: LastingOut, measure: Measure, fmt: str) -> bytes:
    """The curve of retention and IFR as a PNG, SVG or PDF.

    Raises:
        UsageError: `fmt` is none of them.
    """
    from ..reports.figures import lasting
    from ..reports.figures.style import encode

    points = [
        lasting.Point(
            "edit" if place == 0 else state.change,
            state.numbers[measure].retention,
            state.numbers[measure].ifr,
            state.numbers[measure].reopened.opened,
        )
        for place, state in enumerate(out.states)
    ]
    caption = f"{out.edit}, graph {out.graph}, {MEASURE_NAMES[measure]}."
    return encode(lambda: lasting.draw(points, title(out), caption), fmt, f"line of {out.edit}")
