"""Gates: limits on a score's metrics, not worse than a stored edit; as lines, JUnit, Markdown."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ... import cypher
from ..base.errors import UsageError
from ..base.formatting import pluralize, signed_interval
from ..models.edit import BY_STEPS, Measure, Score
from .unlike import differences
from .verdict import ALREADY, TOOK, took_word

if TYPE_CHECKING:
    from ...cypher.run import Database

# At a limit it holds. An undefined value never does: what was not measured was not shown to hold.
# A bound (`.low`, `.high`) is that of the 95 % interval of sampled answers; an exact likelihood has
# no sampling error, so its bounds are the value.

SIDE_EFFECTS = {"kl": "KL", "perplexity_ratio": "perplexity ratio", "update_norm": "update norm"}
"""Values of a score's side effects that have gates, with their names."""
LABELS = {"ifr": "IFR", "preservation": "Preservation", "subject_retention": "subject retention"}
COUNTED = {"ifr": "chain", "preservation": "fact", "subject_retention": "fact"}
"""The items that a metric is over, where they have a name of their own."""

WORSE = {"efficacy": -1, "ifr": 1, "preservation": -1, "subject_retention": -1}
"""Metrics in which an edit may be worse than another: the sign of a worse difference."""
MARGIN = 0.01
"""A difference up to this is not worse."""

_LIMIT = re.compile(r"\s*(\w+?)(?:\.(low|high))?\s*(<=|>=)\s*(\S+)\s*")
_SIGNS = {"<=": (operator.le, ">"), ">=": (operator.ge, "<")}


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on a metric: `ifr<=.2`, `efficacy.low>=.5`.

    Attributes:
        end: low or high, of its 95 % interval; "" for the value.
    """

    metric: str
    sign: str
    bound: float
    end: str = ""

    def __str__(self) -> str:
        return f"{self.metric}{f'.{self.end}' * bool(self.end)} {self.sign} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Checked:
    """One gate of one edit.

    Attributes:
        gate: the limit, in words.
        text: the value and, where the gate is missed, what to do.
    """

    edit: str
    gate: str
    met: bool
    text: str

    @property
    def line(self) -> str:
        """The line that the command prints where the gate is missed."""
        return f"gate: {self.edit}: {self.text}"


def parse(text: str, names: Sequence[str] = ()) -> Limit:
    """The limit of a text.

    Args:
        names: metrics that have a limit; default: those of a score, and its side effects.

    Raises:
        UsageError: it is no comparison of a metric with a number.
    """
    names = names or [
        *(
            name.removeprefix("metrics/")
            for name in cypher.names("metrics/")
            if not name.endswith(BY_STEPS)
        ),
        *SIDE_EFFECTS,
    ]
    found = _LIMIT.fullmatch(text)
    if found is None or found[1] not in names:
        raise UsageError(
            f"The gate {text.strip()!r} is no limit on a metric.",
            remedy=f'For example "ifr<=.2" or "efficacy.low>=.5"; metrics: {", ".join(names)}.',
        )
    try:
        bound = float(found[4])
    except ValueError:
        raise UsageError(
            f"{found[4]!r} in the gate is no number.", remedy='For example "ifr<=.2".'
        ) from None
    return Limit(found[1], found[3], bound, found[2] or "")


def check(score: Score, limits: Sequence[Limit], measure: Measure) -> list[Checked]:
    """Each limit on one score."""
    return [_checked(score, limit, measure) for limit in limits]


def _checked(score: Score, limit: Limit, measure: Measure) -> Checked:
    label = (LABELS | SIDE_EFFECTS).get(limit.metric, limit.metric.replace("_", " "))
    label += f" ({limit.end} end of its 95 % interval)" * bool(limit.end)
    value, over, reason = _value(score, limit, measure)
    if value is None:
        return Checked(score.edit, str(limit), False, f"{label} is undefined: {reason}")
    holds, broken = _SIGNS[limit.sign]
    before = score.number("efficacy_before", measure) if limit.metric == "efficacy" else None
    idle = before is not None and took_word(value, before) in (ALREADY, TOOK[-1][1])
    if idle and limit.sign == ">=" and holds(value, limit.bound):
        said = f"{label} {value:.4f}, and {before:.4f} before the edit: it changed no answer"
        return Checked(score.edit, str(limit), False, said)
    if holds(value, limit.bound):
        return Checked(score.edit, str(limit), True, f"{label} {value:.4f} over {over}")
    hints = {
        "ifr": f"; see `thinkeval results chains {score.edit} --surviving`",
        "subject_retention": f" about {score.subject}",
    }
    said = f"{label} {value:.4f} {broken} {limit.bound} over {over}{hints.get(limit.metric, '')}"
    return Checked(score.edit, str(limit), False, said)


def _value(score: Score, limit: Limit, measure: Measure) -> tuple[float | None, str, str | None]:
    """The value, or an end of its interval, what it is over, and why it is undefined."""
    if limit.metric in SIDE_EFFECTS:
        effects = score.side_effects
        name = limit.metric + f"_{limit.end}" * bool(limit.end)
        value = getattr(effects, name, None)
        reason = effects.reason or (f"{limit.metric} has no interval" if limit.end else "no update")
        return value, pluralize(effects.texts, "text"), reason
    counted = COUNTED.get(limit.metric, "item")
    found = score.get(limit.metric, measure)
    if found is None or found.value is None:
        reason = found.reason if found else None
        return None, "", reason or f"no {counted} was measured"
    value = found.value
    if limit.end and measure == "p":
        value = found.low if limit.end == "low" else found.high
    return value, pluralize(found.n, counted), "it has no interval"


def not_worse(
    db: Database, pairs: Sequence[tuple[Score, Score]], measure: Measure, margin: float = MARGIN
) -> list[Checked]:
    """Each metric of scores, not worse than that of stored edits of the same rewrites.

    One pair is compared as it is; where answers are sampled it is worse only if the whole 95 %
    interval of the difference is. Several pairs are compared over families of rewrites: worse only
    if the difference exceeds chance, or if so few families cannot tell.

    Args:
        pairs: (score, the stored edit that it is compared with); at least one.
    """
    unlike = [
        f"{score.edit} and {base.edit} differ in {each}"
        for score, base in pairs
        for each in differences(score, base, measure)
    ]
    if unlike:
        gate = f"not worse than {', '.join(base.edit for _, base in pairs)}"
        return [Checked(pairs[0][0].edit, gate, False, f"not paired: {'; '.join(unlike)}")]
    return (_over_rewrites if len(pairs) > 1 else _of_one)(db, pairs, measure, margin)


def _of_one(
    db: Database, pairs: Sequence[tuple[Score, Score]], measure: Measure, margin: float
) -> list[Checked]:
    from ..scoring import intervals  # numpy; `--help` should not wait for it

    ((score, base),) = pairs
    bounds = intervals.difference_intervals(db, base, score) if measure == "p" else {}
    checked = []
    for metric, sign in WORSE.items():
        before, after = (each.number(metric, measure) for each in (base, score))
        if before is None:
            continue
        gate = f"{metric} not worse than {base.edit}"
        if after is None:
            checked.append(Checked(score.edit, gate, False, f"{metric} is undefined"))
            continue
        low, high = bounds.get((metric, None), (after - before, after - before))
        least = min(sign * low, sign * high)
        shown = bounds.get((metric, None), (None, None))
        said = f"{metric} {signed_interval(after - before, *shown)} against {base.edit}"
        met = least <= margin + 1e-9
        checked.append(Checked(score.edit, gate, met, said if met else f"{said}: worse"))
    return checked


def _over_rewrites(
    db: Database, pairs: Sequence[tuple[Score, Score]], measure: Measure, margin: float
) -> list[Checked]:
    from . import paired
    from .comparison import families

    family = families(db, [each for pair in pairs for each in pair])
    new, base = (
        paired.curve_of([pair[side] for pair in pairs], measure, family) for side in (0, 1)
    )
    curves = {"new": new, "base": base}
    rows = paired.adjusted([
        row for row in paired.differences([curves], [("new", "base")]) if row.metric in WORSE
    ])  # fmt: skip
    name = f"{pluralize(len(pairs), 'edit')} by {pairs[0][0].method}"
    against = f"{pairs[0][1].method}, {pluralize(len(pairs), 'stored edit')}"
    return [
        Checked(
            name,
            f"{row.metric} not worse than {against}",
            WORSE[row.metric] * row.value <= margin + 1e-9 or row.beyond_rewrites is False,
            f"{row.metric} {paired.difference_text(row)} against {against}: {row.answer}",
        )
        for row in rows
    ]


def pairs_of(scores: Sequence[Score], stored: Sequence[Score]) -> list[tuple[Score, Score]]:
    """Each stored edit with the score of its rewrite.

    Raises:
        UsageError: a stored edit is of a rewrite that is not scored, or that several methods are
            scored on.
    """
    of: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        of.setdefault((score.dataset, score.rewrite), []).append(score)
    pairs = []
    for base in stored:
        found = of.get((base.dataset, base.rewrite), [])
        if len(found) != 1:
            what = "is not scored" if not found else "is scored by several methods"
            raise UsageError(
                f"{base.edit!r} is an edit of {base.rewrite}, which {what}.",
                remedy="Name edits of the rewrites that are scored, and one method.",
            )
        pairs.append((found[0], base))
    return pairs


def junit(checked: Sequence[Checked], errors: Sequence[str] = ()) -> bytes:
    """The gates as JUnit XML, a test case each.

    Args:
        errors: lines on edits that have no score, as an error each.
    """
    suite = ElementTree.Element(
        "testsuite", name="thinkeval", tests=str(len(checked) + len(errors)),
        failures=str(sum(not each.met for each in checked)), errors=str(len(errors)),
    )  # fmt: skip
    for each in checked:
        case = ElementTree.SubElement(suite, "testcase", classname=each.edit, name=each.gate)
        if each.met:
            ElementTree.SubElement(case, "system-out").text = each.text
        else:
            ElementTree.SubElement(case, "failure", message=each.text)
    for line in errors:
        case = ElementTree.SubElement(suite, "testcase", classname="score", name=_named(line))
        ElementTree.SubElement(case, "error", message=line)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)


def markdown(checked: Sequence[Checked], errors: Sequence[str] = ()) -> bytes:
    """The gates as a comment in Markdown: a sentence, and a table, missed ones first."""
    n = len(checked) + len(errors)
    missed = sum(not each.met for each in checked) + len(errors)
    head = f"{missed or n} of {pluralize(n, 'gate')} {'missed' if missed else 'met'}"
    rows = [("**no score**", _named(line), "score", line) for line in errors]
    rows += [
        ("met" if each.met else "**missed**", each.edit, each.gate, each.text)
        for each in sorted(checked, key=lambda each: each.met)
    ]
    lines = [f"### ThinkEval: {head}", "", "| | edit | gate | value |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([*lines, ""]).encode()


def _named(line: str) -> str:
    """The method and rewrite of a line such as `failed: rome on r1: why`."""
    return line.split(": ", 2)[1]
