"""The verdict of an audit: forgotten facts, open routes, other changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..formatting import percent, pluralize, short
from ..reports.verdict import FORGOT, UNKNOWN, Part
from ..reports.verdict import verdict as of_score
from ..schemas import KNOWN
from ..states import table

if TYPE_CHECKING:
    from ..states.schemas import StateComparison
    from .routes import ByChains, ByRules, Request

Parts = tuple["Request", "ByChains", "ByRules"]

_DIRECT = {
    "took": "Asked directly, the model does not give {} any more",
    "took in part": "Asked directly, the model gives {} less often, but still gives it",
    "did not take": "Asked directly, the model still gives {}",
    UNKNOWN: "The model did not know {} before: there was nothing to forget",
}

_CHAINS, _RULES = ("chain of facts", "chains of facts"), ("route by rules", "routes by rules")
_MARKS = {"erased": "good", "open": "fair", "not erased": "bad", "undefined": "none"}
"""Grade of each outcome: for a colour beside the word, never in place of it."""

_TITLES = {
    "not erased": "Not erased", "open": "Routes are open", "undefined": "Not known before",
    "erased": "Erased",
}  # fmt: skip
_ONE = {
    "not erased": "asked directly, the model still gives the old answer",
    "open": "the fact is gone when asked directly, and other facts still lead to it",
    "undefined": "the first state did not know the fact, so that nothing could be forgotten",
    "erased": "the fact is gone when asked directly, and no measured route leads to it",
}
_ALL = "{} gone when asked directly, and no measured route leads to any"
_ONE_OF = {
    "not erased": "not gone",
    "open": "gone when asked directly, with routes that are open",
    "undefined": "not known before",
    "erased": "gone, without an open route",
}
"""A headline's words for requests by their outcome, worst first."""


def verdict(out: StateComparison, parts: Sequence[Parts]) -> dict[str, Any]:
    """The verdict on all requests, and on the rest of the graph, by the comparison's measure."""
    requests = [_of_request(*each) for each in parts]
    count = Counter(each["outcome"] for each in requests)
    return {
        "measure": out.measure,
        "headline": _headline(count, len(requests)),
        "grade": _MARKS[_worst(count)],
        "requests": requests,
        "rest": table.verdict(out, out.measure),
    }


def _worst(count: Counter[str]) -> str:
    order = ("not erased", "open", "undefined", "erased")
    return next(outcome for outcome in order if count[outcome])


def _headline(count: Counter[str], n: int) -> str:
    """One sentence for all requests."""
    worst = _worst(count)
    if n == 1 or count["erased"] == n:
        said = _ONE[worst] if n == 1 else _ALL.format(pluralize(n, "fact"))
        return f"{_TITLES[worst]}: {said}."
    listed = [
        f"{count[outcome]} of {pluralize(n, 'fact')} {_ONE_OF[outcome]}" for outcome in _ONE_OF
    ]
    shown = [text for outcome, text in zip(_ONE_OF, listed, strict=True) if count[outcome]]
    return f"{_TITLES[worst]}: {'; '.join(shown)}."


def _of_request(request: Request, chains: ByChains, rules: ByRules) -> dict[str, Any]:
    found = of_score(request.score, request.measure, chains.rows)
    by_chains = Counter(each["state"] for each in chains.entries)
    by_rules = Counter(each["state"] for each in rules.entries)
    left = _open(by_chains) + _open(by_rules)
    gone = _gone(request)
    word = _word(gone)
    outcome = "not erased"
    if word == UNKNOWN:
        outcome = "undefined"
    elif word == "took":
        outcome = "open" if left or rules.summary["problem"] else "erased"
    return {
        "request": request.edit,
        "outcome": outcome,
        "grade": _MARKS[outcome],
        "gone": gone,
        "direct": _directly(request, gone, found.installed),
        "leak": _leak(request),
        "chains": _routes(_CHAINS, by_chains, len(chains.entries), request),
        "rules": _rules(by_rules, rules, request),
        "counts": {"chains": dict(by_chains), "rules": dict(by_rules)},
        "parts": {
            name: _part(part)
            for name, part in zip(
                ("asked directly", "left by chains", "facts around it", "facts about the subject"),
                found.parts,
                strict=True,
            )
        },
    }


def _gone(request: Request) -> float | None:
    """Fraction of the old object's probability that is gone; None where it was not known."""
    before, after = request.old
    if before is None or after is None or before < KNOWN:
        return None
    return 1 - after / before


def _word(gone: float | None) -> str:
    if gone is None:
        return UNKNOWN
    return next(word for least, word in FORGOT if gone >= least)


def _part(part: Part) -> dict[str, Any]:
    return {
        "word": part.word, "grade": part.grade, "value": part.value, "sentence": part.sentence,
        "rule": part.rule,
    }  # fmt: skip


def _open(states: Counter[str]) -> int:
    return states["open"] + states["opened"]


def _directly(request: Request, gone: float | None, installed: Part) -> str:
    """Return the model's answer to the question itself: the old object, and the new if any."""
    text = _DIRECT[_word(gone)].format(request.asked.target_true)
    if gone is not None:
        before, after = map(short, request.old)
        lost = f"{percent(gone)} of it is gone" if gone >= 0 else "it grew"
        text += f": its probability was {before} and is {after}, {lost}"
    return f"{text}." + (f" {installed.sentence}" if request.asked.kind == "replace" else "")


def _leak(request: Request) -> str | None:
    """Asked again and again; only of requests to forget."""
    if request.asked.kind != "forget":
        return None
    values = [request.score.number(f"leak_at_{k}", request.measure) for k in (1, 5, 100)]
    if values[0] is None:
        return None
    one, five, hundred = map(short, values)
    return (
        f"Asked k times, the probability that at least one answer begins with"
        f" {request.asked.target_true} is {one} for k = 1, {five} for 5 and {hundred} for 100."
    )


def _routes(names: tuple[str, str], states: Counter[str], total: int, request: Request) -> str:
    """Return the numbers of routes to the object, before and now, in words."""
    if not total:
        return f"No {names[0]} leads to {request.asked.target_true} in this graph."
    before, after = states["open"] + states["closed"], _open(states)
    opened = f", {states['opened']} of them newly opened" if states["opened"] else ""
    return (
        f"{before:,} of {total:,} {names[total > 1]} led to {request.asked.target_true} before,"
        f" {after:,} {'does' if after == 1 else 'do'} now{opened}."
    )


def _rules(states: Counter[str], rules: ByRules, request: Request) -> str:
    summary = rules.summary
    if summary["problem"]:
        return f"Routes by rules are not known: {summary['problem']}"
    if not summary["rules"]:
        return "The graph has no kept rules: routes by rules are not known."
    text = _routes(_RULES, states, len(rules.entries), request)
    missing = summary["routes"] - summary["listed"]
    return text + (f" {missing} further ones are counted and not listed." if missing else "")
