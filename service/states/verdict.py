"""The verdict on a state that is compared with a base: damage first, then each request.

Terminal, pages, figures and the audit print this one. A state that lost what it knew away from the
subjects is broken, and none of its facts counts as forgotten. A request worked if the fact itself
changed and no chain of other facts leads to its old object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.formatting import number, percent, pluralize
from ..models.edit import KNOWN, Measure
from ..reports.verdict import ALREADY, FORGOT, TOOK, Kind, broke_near, took_word
from ..scoring import damage

if TYPE_CHECKING:
    from ..models.edit import DriftLine, SideEffects
    from .schemas import ComparedRequest, StateComparison, Wording


FORMS = "question,paraphrase"
"""The forms in which a fact is asked before it counts as forgotten."""
WORDINGS = {
    "cloze/0-shot": "as a sentence to complete",
    "question/0-shot": "as a question",
    "question/3-shot": "as a question behind three examples",
    "paraphrase/0-shot": "in paraphrases",
}
"""Each wording that those forms ask in words. A fact that is not given in any of them is gone."""
_ONE = "cloze/0-shot"
TOO_FEW = f"Asked in too few wordings: `--forms {FORMS}` asks in others."


@dataclass(frozen=True, slots=True)
class StateVerdict:
    """The verdict on a state by one measure.

    Attributes:
        kind: None where there is no request to judge, or too few wordings were asked.
        sentences: that follow the headline.
        lacks_wordings: True if the fact was asked in too few wordings to count as forgotten.
    """

    kind: Kind | None
    headline: str
    sentences: tuple[str, ...] = ()
    lacks_wordings: bool = False


@dataclass(frozen=True, slots=True)
class RequestVerdict:
    """The verdict on one request: its kind, and why, as the end of a sentence."""

    kind: Kind | None
    why: str
    lacks_wordings: bool = False


def verdict(
    state: StateComparison, measure: Measure, by_rules: Mapping[str, int | None] | None = None
) -> StateVerdict:
    """Return the verdict on a state.

    Args:
        by_rules: open routes by rules, by the edit of each request, as `judged`; None: only chains
            count.
    """
    if state.same:
        return StateVerdict("nothing", "The states are the same: no fact differs.")
    counts = count_sentence(state, measure)
    if broken := _broken(state) or _broken_near(state, measure):
        return StateVerdict("broke", broken, (counts,))
    found = [judged(each, measure, (by_rules or {}).get(each.edit, 0)) for each in state.requests]
    rest = (counts, *_routes(state, measure), *_of_damage(state.side_effects))
    if found:
        lacks = any(each.lacks_wordings for each in found)
        rest += (TOO_FEW,) * lacks
        return StateVerdict(_whole(found), _headline(state, found), rest, lacks)
    total = state.drift[measure].total
    known = total.n - total.unknown - total.added
    changed = known - total.kept + total.added
    if total.n and not changed:
        return StateVerdict("nothing", counts, rest[1:])
    return StateVerdict(None, counts, rest[1:])


# Damage: known facts away from the subjects of the requests; of a watched graph all known facts.


def away(found: SideEffects) -> tuple[DriftLine, str] | None:
    """Return the known facts that damage is judged by, and where they are; None: too few.

    They are at distance 2 and more; where these are too few, at distance 1.
    """
    drift = found.drift
    if drift is None:
        return None
    if not drift.by_distance:
        candidates = [(drift.total, "")]
    else:
        near = [line for line in drift.by_distance if line.label == "1 step"]
        candidates = [(drift.far, " at 2 steps and more from the subject")] if drift.far else []
        candidates += [(line, " at 1 step from the subject") for line in near]
    return next((each for each in candidates if each[0].n >= damage.LEAST_FAR), None)


def _judged_by(found: SideEffects) -> SideEffects:
    """Return side effects whose distant facts are those that damage is judged by."""
    chosen = away(found)
    if found.drift is None or chosen is None:
        return found
    return found.model_copy(update={"drift": found.drift.model_copy(update={"far": chosen[0]})})


def _broken(state: StateComparison) -> str:
    """Return the sentence of a state that is damaged or collapsed; else nothing."""
    found = _judged_by(state.side_effects)
    word, chosen = damage.word(found), away(state.side_effects)
    if word not in ("collapsed", "damaged") or chosen is None:
        return ""
    line, where = chosen
    said = "collapsed" if word == "collapsed" else "is damaged"
    text = (
        f"{state.after.name} {said}: of {pluralize(line.n, 'known fact')}{where} it keeps"
        f" {line.kept}, and their median probability is {percent(line.median_change or 0.0)} of"
        " that before"
    )
    if any(request.kind == "forget" for request in state.requests):
        return f"{text}. So no fact counts as forgotten."
    return f"{text}."


def _broken_near(state: StateComparison, measure: Measure) -> str:
    """Return the sentence of a state whose facts near a request are damaged, as of an edit."""
    for request in state.requests:
        if harm := broke_near(request, measure):
            return f"{state.after.name} is damaged: {' and '.join(harm)}."
    return ""


def _of_damage(found: SideEffects) -> list[str]:
    """Say what is not broken, and yet changed; or that damage cannot be judged."""
    chosen = away(found)
    if found.drift is None:
        return []
    if chosen is None:
        n = found.drift.far.n if found.drift.far else 0
        return [
            f"Damage is not judged: {pluralize(n, 'known fact')} at 2 steps and more from the"
            f" subject, of {damage.LEAST_FAR} that it takes."
        ]
    line, where = chosen
    if damage.word(_judged_by(found)) == "changed":
        return [f"Of {pluralize(line.n, 'known fact')}{where}, only {line.kept} are kept."]
    return []


# Requests.


def judged(request: ComparedRequest, measure: Measure, by_rules: int | None = 0) -> RequestVerdict:
    """Return the verdict on one request of a state that is not broken.

    Args:
        by_rules: open routes by rules to the old object; None: they could not be counted.
    """
    old, new = request.target_true, request.target_new
    if request.kind == "forget":
        gone = request.number("forgetting", measure)
        if gone is None:
            return RequestVerdict("nothing", f"the base did not know {old}: nothing to forget")
        word = _word(gone, FORGOT)
        if word != FORGOT[0][1]:
            less = " less often" if word == FORGOT[1][1] else ""
            kind: Kind = "leaks" if less else "nothing"
            return RequestVerdict(kind, f"asked directly, the model still gives {old}{less}")
    else:
        p = request.number("efficacy", measure)
        if p is None:
            return RequestVerdict("nothing", "the edited fact was not asked")
        before = request.number("efficacy_before", measure)
        word = took_word(p, before)
        if word == ALREADY:
            return RequestVerdict(
                "nothing", f"the base gives {new} already, with p {number(before)}"
            )
        if word != TOOK[0][1]:
            kind = "leaks" if word == TOOK[1][1] else "nothing"
            was = f", before {number(before)}" if before is not None else ""
            return RequestVerdict(
                kind, f"asked directly, the model gives {new} with p {number(p)}{was}"
            )
    return _behind(request, measure, by_rules)


def _behind(request: ComparedRequest, measure: Measure, by_rules: int | None) -> RequestVerdict:
    """Judge the old object in other wordings and by routes, where the fact itself changed."""
    old = request.target_true
    still = [each for each in request.wordings if each.form != _ONE and _gives(each)]
    if still:
        said = " and ".join(
            f"{WORDINGS.get(each.form, each.form)} (p {number(each.before)} → {number(each.after)})"
            for each in still
        )
        return RequestVerdict("leaks", f"the model still gives {old} when it is asked {said}")
    routes = request.routes.get(measure)
    led = [pluralize(routes.after, "chain") + " of other facts"] if routes and routes.after else []
    led += [pluralize(by_rules, "route") + " by rules"] if by_rules else []
    if led:
        several = (routes.after if routes else 0) + (by_rules or 0) > 1
        said = f"{' and '.join(led)} still lead{'' if several else 's'} to {old}"
        return RequestVerdict("leaks", f"the fact itself changed, but {said}")
    if by_rules is None:
        return RequestVerdict(None, "the fact itself changed, but routes by rules are not known")
    lacking = lacking_wordings(request)
    if lacking and request.kind == "forget":
        return RequestVerdict(
            None,
            f"{old} is not given in the wordings asked, and no measured route leads to it; but it"
            f" was not asked {' nor '.join(lacking)}",
            lacks_wordings=True,
        )
    if request.kind == "forget":
        n = len({each.form for each in request.wordings})
        return RequestVerdict(
            "worked", f"{old} is gone in {n} wordings, and no measured route leads to it"
        )
    return RequestVerdict(
        "worked",
        f"asked directly, the model gives {request.target_new}, and no measured route leads to"
        f" {old}",
        lacks_wordings=bool(lacking),
    )


def lacking_wordings(request: ComparedRequest) -> list[str]:
    """Return the wordings, in words, in which the fact was not asked, with the reason if any."""
    asked = {each.form: each for each in request.wordings}
    return [
        f"{said} ({asked[form].reason})" if form in asked and asked[form].reason else said
        for form, said in WORDINGS.items()
        if form != _ONE and (form not in asked or asked[form].after is None)
    ]


def _gives(wording: Wording) -> bool:
    """Return True if the state still gives the old object in a wording."""
    before, after = wording.before, wording.after
    if before is None or after is None:
        return False
    if before < KNOWN:
        return after >= KNOWN
    return 1 - after / before < FORGOT[0][0]


def _word(value: float, grades: Sequence[tuple[float, str]]) -> str:
    return next((word for least, word in grades if value >= least), grades[-1][1])


# Sentences.

_ORDER: tuple[Kind | None, ...] = ("nothing", "leaks", None, "worked")
_TITLES: Mapping[Kind | None, str] = {
    "nothing": "Nothing done", "leaks": "It leaks", None: "Not decided", "worked": "It worked",
}  # fmt: skip
_COUNTED: Mapping[Kind | None, str] = {
    "nothing": "not changed", "leaks": "changed, but still given or deduced",
    None: "not given where asked, in too few wordings", "worked": "changed, without an open route",
}  # fmt: skip


def _whole(found: Sequence[RequestVerdict]) -> Kind | None:
    """Return the kind of all requests: of one that did nothing among others, that it leaks."""
    kinds = {each.kind for each in found}
    if "nothing" in kinds and len(kinds) > 1:
        return "leaks"
    return next(kind for kind in _ORDER if kind in kinds)


def _headline(state: StateComparison, found: Sequence[RequestVerdict]) -> str:
    whole = _whole(found)
    if len(found) == 1:
        (request,) = state.requests
        asked = request.prompt.replace("{}", request.subject)
        return f"{_TITLES[whole]}: {found[0].why} (“{asked} …”)."
    count = Counter(each.kind for each in found)
    n = pluralize(len(found), "fact")
    said = [f"{count[kind]} of {n} {_COUNTED[kind]}" for kind in _ORDER if count[kind]]
    return f"{_TITLES[whole]}: {'; '.join(said)}."


def count_sentence(state: StateComparison, measure: Measure) -> str:
    """Return the numbers of facts by what became of them, of those that the base knows."""
    total = state.drift[measure].total
    if not total.n:
        return "The graph has no fact that both states were asked for."
    known = total.n - total.unknown - total.added
    return (
        f"Of {pluralize(known, 'fact')} that {state.before.name} knows, {total.kept} are kept,"
        f" {total.weakened} weakened, {total.replaced} replaced and {total.lost} lost;"
        f" {total.added} are new."
    )


def _routes(state: StateComparison, measure: Measure) -> list[str]:
    counted = [routes for each in state.requests if (routes := each.routes.get(measure))]
    if not counted:
        return []
    opened, closed = sum(each.opened for each in counted), sum(each.closed for each in counted)
    return [f"{pluralize(closed, 'route')} to an old object closed, {opened} opened."]
