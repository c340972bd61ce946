"""The verdict on a scored edit, and the edit of several to look at first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..base.errors import NotFoundError
from ..base.formatting import least, number, percent, pluralize
from ..models.edit import Measure, MetricValue, Score, SideEffects
from ..scoring.damage import (
    FAR_KEPT,
    FAR_LINES,
    LEAST_FAR,
    LINES,
    PERPLEXITY_DAMAGED,
    far_change,
    far_kept,
)
from ..scoring.damage import word as damage_word
from ..scoring.metrics import chain_rows, told_before

if TYPE_CHECKING:
    from ...cypher.rows import ScoredChainRow
    from ...cypher.run import Database


# The verdict on a scored edit: success of the edit, rest of the old fact, knowledge kept.
#
# Each part is one graded word with the threshold that it was given by, and a sentence. The web
# UI, the terminal and the demo print the same ones.

STRONG = 0.7
"""A chain that keeps more than this fraction of its R still leads to the old object strongly."""

TOOK = ((0.5, "took"), (0.1, "took in part"), (0.0, "did not take"))
"""Words for efficacy: (at least, word), best first."""

FORGOT = ((0.9, "took"), (0.5, "took in part"), (-math.inf, "did not take"))
"""Words for forgetting, how much of a fact's probability is gone: (at least, word), best first."""

LEFT = ((1.05, "more than before"), (0.5, "most"), (0.2, "much"), (0.05, "little"), (0.0, "none"))
"""Words for IFR, how much of the old fact can still be deduced: (at least, word), most first."""

DEPTH = ((0.5, "shallow"), (0.2, "leaky"), (-math.inf, "deep"))
"""Words for IFR of an edit that took, where only one word is shown: (at least, word)."""

KEPT = ((0.9, "kept"), (0.7, "mostly kept"), (0.0, "damaged"))
"""Words for Preservation and for subject retention: (at least, word), best first."""

UNCHANGED = 0.015
"""A Preservation this near to 1 is written without its percentage: "101 %" says nothing more."""

FEW = 5
"""Preservation over fewer facts says little."""

UNKNOWN = "undefined"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a verdict.

    Attributes:
        word: the grade; "undefined" where there is no value.
        sentence: a whole sentence with the value.
        rule: definition of the grades.
        value: the metric that was graded; None where it is undefined.
    """

    word: str
    sentence: str
    rule: str
    value: float | None

    @property
    def grade(self) -> str:
        """good, fair, bad or none: for a colour beside the word, never in place of it."""
        return _GRADES.get(self.word, "none")


_GRADES = {
    "took": "good", "took in part": "fair", "did not take": "bad",
    "none": "good", "little": "good", "much": "fair", "most": "bad", "more than before": "bad",
    "kept": "good", "mostly kept": "fair", "damaged": "bad",
    "as before": "good", "changed": "fair", "collapsed": "bad",
    "deep": "good", "leaky": "fair", "shallow": "bad", "partial": "fair", "missed": "bad",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one edit by one measure.

    Attributes:
        nothing: a sentence that says why there is nothing to measure; empty where there is. With it
            no part is to be shown: each would be about facts that the model never knew.
        unrelated: the model on texts of its own and on known facts.
        moved: says by counts that the model moved the subject, or lost its knowledge of it; empty
            where most known facts about it are kept, or they were not counted.
        collapsed: the number that says so where the edit collapsed the model, which takes
            precedence over all other parts; else empty.
    """

    installed: Part
    left: Part
    kept: Part
    subject: Part
    unrelated: Part
    nothing: str = ""
    moved: str = ""
    collapsed: str = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts on the four figures, in the order they are read in."""
        return (self.installed, self.left, self.kept, self.subject)

    @property
    def headline(self) -> str:
        """One sentence with the answer: success and depth of the edit."""
        if self.nothing:
            return self.nothing
        if self.collapsed:
            return f"The edit collapsed the model ({self.collapsed}): other results say little."
        left = _HEADLINES.get(self.left.word, "what is left of the old fact is undefined")
        took = f"The edit {self.installed.word}"
        if self.installed.word == UNKNOWN:
            took = "The edit of the fact itself was not measured"
        if self.unrelated.word == "damaged":
            took += ", but damaged the model"
        elif self.unrelated.word == "changed":
            of_text = (self.unrelated.value or 0.0) >= LINES[-1][0]
            took += f", but changed unrelated {'text' if of_text else 'facts'}"
        other = ""
        if self.unrelated.word == "damaged":  # and the facts about the subject with it
            return f"{took}; {left}."
        if self.moved:
            other = f", and {self.moved}"
        elif self.subject.word == "damaged" and self.subject.value is not None:
            other = f", and the other facts about the subject keep {percent(self.subject.value)}"
        return f"{took}; {left}{other}."

    @property
    def text(self) -> str:
        """All sentences."""
        if self.nothing:
            return self.nothing
        parts = (*self.parts, self.unrelated)
        return " ".join(part.sentence for part in parts if part.sentence)


_HEADLINES = {
    "none": "the old fact can hardly be deduced any more",
    "little": "a little of the old fact can still be deduced",
    "much": "much of the old fact can still be deduced",
    "most": "most of the old fact can still be deduced",
    "more than before": "the old fact can be deduced more easily than before",
}


def judged(
    db: Database,
    score: Score,
    measure: Measure,
    chains: Sequence[ScoredChainRow] | None = None,
) -> Verdict:
    """Return the verdict on a stored edit; reads the model's knowledge of the edited fact.

    Args:
        chains: all its chains by the same measure; None: they are read too.
    """
    if chains is None:
        chains = chain_rows(db, score, measure)
    unknown = not any(chain.known and chain.r_pre for chain in chains)
    before = told_before(db, score, measure) if unknown else None
    return verdict(score, measure, chains, before)


def with_verdict(db: Database, score: Score) -> Score:
    """The score with its verdict in one sentence, by its first measure.

    An append has none, and neither has a score whose graph is not stored (older versions had some).
    """
    if score.append is not None:
        return score
    try:
        found = judged(db, score, score.measures[0])
    except NotFoundError:
        return score
    return score.model_copy(update={"verdict": found.headline})


def verdict(
    score: Score,
    measure: Measure,
    chains: Sequence[ScoredChainRow],
    before: float | None = None,
) -> Verdict:
    """The verdict on a scored edit.

    Args:
        chains: all its chains by the same measure.
        before: probability of the edited fact's old object before the edit, if it is known.
    """
    return Verdict(
        _installed(score, measure),
        _left(score, measure, chains),
        _kept(score, measure),
        _subject(score, measure),
        unrelated(score.side_effects),
        _nothing(score, chains, before),
        _moved(score),
        _collapse(score.side_effects),
    )


def in_a_word(score: Score, measure: Measure) -> Part:
    """The verdict in one word, for lists: first what makes the other numbers say little.

    An edit that did not take, or that damaged the model or the subject, is never "deep".
    """
    installed, kept, harm = (
        _installed(score, measure),
        _kept(score, measure),
        unrelated(score.side_effects),
    )
    subject, left = _subject(score, measure), score.get("ifr", measure)
    if left is not None and not left.n and left.excluded:
        said = f"The model knew 0 of {pluralize(left.excluded, 'chain')}: nothing to measure."
        return Part("unknown", said, "", None)
    if harm.word == "collapsed":
        return harm
    if installed.word != TOOK[0][1]:
        short = {"did not take": "missed", "took in part": "partial"}
        return replace(installed, word=short.get(installed.word, installed.word))
    for part in (harm, subject, kept):
        if part.word == "damaged":
            return part
    if left is None or left.value is None:
        return installed
    said = f"{percent(left.value)} of the old fact can still be deduced."
    return Part(_word(left.value, DEPTH), said, _rule("IFR", DEPTH), left.value)


def unrelated(found: SideEffects) -> Part:
    """The part of a verdict on side effects, by the worst line that is reached."""
    named = [f"from {kl:g} “{word}”" for kl, word in LINES]
    far = [f"below {line:g} “{word}”" for line, word in FAR_LINES]
    rule = (
        f"KL per token: {named[0]}, {named[1]} (or from perplexity ratio {PERPLEXITY_DAMAGED:g}),"
        f" {named[2]}, below “as before”; median change of known facts at 2 steps and more:"
        f" {', '.join(far)}; below {percent(FAR_KEPT)} of these kept “changed”"
    )
    word, facts = damage_word(found) or UNKNOWN, known_facts(found)
    if found.kl is None:
        sentence = f"KL on texts of its own is undefined: {found.reason}. {facts}".rstrip()
        return Part(word, sentence, rule, None)
    if not found.texts:
        return Part(word, "The edit changes nothing, so texts of its own stay.", rule, found.kl)
    bounds = ""
    if found.kl_low is not None and found.kl_high is not None:
        bounds = f" [{least(found.kl_low)}, {least(found.kl_high)}]"
    sentence = (
        f"Side effects: {word}. Own texts: KL {least(found.kl)}{bounds} a token over"
        f" {pluralize(found.texts, 'text')}, perplexity ratio {number(found.perplexity_ratio)}"
    )
    if found.update_norm is not None:
        sentence += f"; update {percent(found.update_norm)} of the weights"
    return Part(word, f"{sentence}. {facts}".rstrip(), rule, found.kl)


def _collapse(found: SideEffects) -> str:
    """The number by which the model collapsed; empty where it did not."""
    if damage_word(found) != "collapsed":
        return ""
    if found.kl is not None and found.kl >= LINES[0][0]:
        return f"KL {least(found.kl)} a token on its own texts"
    return f"known facts away from the subject keep {percent(far_change(found) or 0.0)}"


def known_facts(found: SideEffects) -> str:
    """The drift of the known facts in a sentence; empty where it was not measured."""
    drift = found.drift
    if drift is None:
        return ""
    if not drift.total.n:
        return f"Known facts: none of {drift.excluded + drift.unasked} was known and asked."
    total = drift.total
    asked = f"{total.n + drift.excluded} of {total.n + drift.excluded + drift.unasked}"
    drawn = f", {asked} facts drawn" * (drift.unasked > 0)
    sentence = (
        f"Known facts (n = {total.n}{drawn}): {total.kept} kept, {total.weakened} weakened,"
        f" {total.replaced} replaced, {total.lost} lost"
    )
    if drift.far is None or drift.far.median_change is None:
        return f"{sentence}."
    median = number(drift.far.median_change)
    few = ", too few to judge by" * (drift.far.n < LEAST_FAR)
    kept = far_kept(found)
    of_far = f", {percent(kept)} of them kept" if kept is not None else ""
    return (
        f"{sentence}; median change at 2 steps and more from the subject {median}"
        f" (n = {drift.far.n}{few}{of_far})."
    )


def _moved(score: Score) -> str:
    """The largest of the facts that are weakened, follow the new object, or do neither."""
    found = score.about_subject
    if found is None or found.kept is None or 2 * found.kept > found.n:
        return ""
    followed, weakened = found.followed or 0, found.weakened or 0
    lost = (found.replaced or 0) - followed + (found.lost or 0)
    known = f"{pluralize(found.n, 'known fact')} about {score.subject}"
    one = {
        "followed": f"the model moved the subject: {followed} of {known}"
        f" follow{'s' * (followed == 1)} {score.target_new}",
        "lost": f"the model lost {lost} of {known}",
    }
    if weakened > max(followed, lost):
        return f"{weakened} of {known} {'is' if weakened == 1 else 'are'} weakened"
    if followed and lost and followed == lost:
        return f"{one['followed']}, and {lost} {'is' if lost == 1 else 'are'} lost"
    return one["followed" if followed > lost else "lost"]


def subject_sentence(score: Score) -> str:
    """The counts of known facts about the subject; empty for a score that has none."""
    found = score.about_subject
    if found is None:
        return ""
    if found.kept is None:
        return f"Facts kept, weakened and lost are undefined: {found.reason}."
    counts = [f"{found.kept} kept", f"{found.weakened} weakened", f"{found.replaced} replaced"]
    if found.followed is not None:
        counts[-1] += f" ({found.followed} of them by what follows from the new object)"
    counts.append(f"{found.lost} lost")
    known = pluralize(found.n, "known fact")
    return f"Of {known} about {score.subject}: {', '.join(counts)} (by likelihood)."


def _nothing(score: Score, chains: Sequence[ScoredChainRow], before: float | None) -> str:
    """Return the reason why nothing is measured: the model knows neither the fact nor a chain."""
    if any(chain.known and chain.r_pre for chain in chains):
        return ""
    known = f"Nothing to measure: the model knows 0 of {pluralize(len(chains), 'chain')}"
    if before is None:
        return f"{known}." if chains else ""
    if before >= score.options.known:
        return ""
    given = f"the edited fact p = {least(before)}"
    if not chains:
        return f"Nothing to measure: the model gives {given}, and no chain leads to the old object."
    return f"{known}, and gives {given}."


def _installed(score: Score, measure: Measure) -> Part:
    if score.kind == "forget":
        return _forgotten(score, measure)
    value = score.number("efficacy", measure)
    word = _word(value, TOOK)
    sentence = (
        "The edited fact was not probed."
        if value is None
        else f"Asked directly, the model answers {score.target_new} with probability"
        f" {number(value)}."
    )
    return Part(word, sentence, _rule("efficacy", TOOK), value)


def _forgotten(score: Score, measure: Measure) -> Part:
    found = score.get("forgetting", measure)
    rule = _rule("forgetting", FORGOT)
    if found is None or found.value is None:
        sentence = f"The model did not know the fact before: {score.target_true} was unlikely."
        return Part(UNKNOWN, sentence, rule, None)
    asked = score.number("leak_at_1", measure)
    sentence = (
        f"Asked directly, the model still answers {score.target_true} with probability"
        f" {number(asked)}: {percent(found.value)} of it is gone."
    )
    return Part(_word(found.value, FORGOT), sentence, rule, found.value)


def _left(score: Score, measure: Measure, chains: Sequence[ScoredChainRow]) -> Part:
    found = score.get("ifr", measure)
    rule = _rule("IFR", LEFT)
    if not chains:
        steps = score.options.max_steps
        sentence = f"No chain of ≤ {steps} facts leads to {score.target_true} in this graph."
        return Part(UNKNOWN, sentence, rule, None)
    if found is None or found.value is None or not found.n:
        sentence = f"IFR is undefined: the model knows 0 of {pluralize(len(chains), 'chain')}."
        return Part(UNKNOWN, sentence, rule, None)
    alive = [chain for chain in chains if chain.surviving]
    strong = sum((chain.ratio or 0.0) > STRONG for chain in alive)
    sentence = (
        f"{percent(found.value)} of the old fact can still be deduced; {len(alive)} of"
        f" {_known(found, 'chain')} survive{'s' * (len(alive) == 1)}"
    )
    if alive:
        keep = "keeps" if strong == 1 else "keep"
        sentence += f", and {strong or 'none'} of these {keep} more than {percent(STRONG)}"
    sentence += "."
    return Part(_word(found.value, LEFT), sentence, rule, found.value)


def _kept(score: Score, measure: Measure) -> Part:
    found = score.get("preservation", measure)
    rule = _rule("Preservation", KEPT)
    if found is None or found.value is None or not found.n:
        sentence = "Preservation is undefined: no fact beside the subject's own is on a chain."
        if found is not None and found.excluded:
            sentence = f"Preservation is undefined: {_unknown(found)} beside the subject's own."
        return Part(UNKNOWN, sentence, rule, None)
    keep, whose = ("keep", "their") if found.n != 1 else ("keeps", "its")
    part = "" if abs(found.value - 1) < UNCHANGED else f" {percent(found.value)} of"
    on_average = "" if part else " on average" * (found.n != 1)
    sentence = f"{_known(found, 'fact')} around it {keep}{part} {whose} probability{on_average}."
    if found.n < FEW:
        sentence = f"{sentence[:-1]}: it rests on {pluralize(found.n, 'fact')} and says little."
    return Part(_word(found.value, KEPT), sentence, rule, found.value)


def _subject(score: Score, measure: Measure) -> Part:
    found = score.get("subject_retention", measure)
    rule = _rule("subject retention", KEPT)
    if found is None or found.value is None or not found.n:
        sentence = f"No other fact about {score.subject} is on a chain."
        if found is not None and found.excluded:
            sentence = f"Subject retention is undefined: {_unknown(found)} about {score.subject}."
        sentence = f"{sentence} {subject_sentence(score)}".rstrip()
        return Part(UNKNOWN, sentence, rule, None)
    word = _word(found.value, KEPT)
    sentence = (
        f"Of {_known(found, 'other fact')} about {score.subject} {percent(found.value)} of the"
        " probability is left."
    )
    if word == "damaged":
        ifr, beyond = (score.number(name, measure) for name in ("ifr", "ifr_beyond_subject"))
        sentence += (
            f" IFR is {number(ifr)}; had those facts been kept, it would be {number(beyond)}."
        )
    sentence = f"{sentence} {subject_sentence(score)}".rstrip()
    return Part(word, sentence, rule, found.value)


def _known(value: MetricValue, what: str) -> str:
    """The items that a value is over: `18 of 103 chains`, if the model did not know all of them."""
    if not value.excluded:
        return pluralize(value.n, what)
    return f"{value.n} known of {pluralize(value.n + value.excluded, what)}"


def _unknown(value: MetricValue) -> str:
    return f"the model knows 0 of {pluralize(value.excluded, 'fact')}"


def _word(value: float | None, grades: Sequence[tuple[float, str]]) -> str:
    if value is None:
        return UNKNOWN
    return next((word for least, word in grades if value >= least), grades[-1][1])


def _rule(metric: str, grades: Sequence[tuple[float, str]]) -> str:
    """The thresholds in words: `efficacy: from .5 “took”, from .1 …, below “did not take”`."""
    named = [f"from {least:g} “{word}”" for least, word in grades[:-1]]
    return f"{metric}: {', '.join(named)}, below “{grades[-1][1]}”"


# The edit of several on one fact that a reader should look at first, and why.
#
# Of the edits that took and kept the facts around the edited one, the one that leaves least of the
# old fact: the others leave its leaks as well. IFR is also low where the other facts about the
# subject changed, so the reason says what it would be had they been kept.

EFFECTIVE = TOOK[0][0]
"""Efficacy from which on an edit took."""

INTACT = KEPT[1][0]
"""Preservation below which an edit is not compared by IFR, unless all that took are below it."""

FORGOTTEN = KEPT[1][0]
"""Subject retention below which the IFR beyond the subject is named."""


@dataclass(frozen=True, slots=True)
class BestMethod:
    """An edit to look at.

    Attributes:
        score: of the edit.
        why: sentences on its remarkable values.
    """

    score: Score
    why: str


def best_method(scores: Sequence[Score], measure: Measure) -> BestMethod:
    """The edit to look at: of those that took, the one with the lowest IFR.

    An edit that damaged the facts around it is one only where all others that took did so too: IFR
    is also low where everything is lost. Where none took, the one of the greatest efficacy. An edit
    without IFR comes last; of equal ones the first is taken.

    Args:
        scores: at least one; of one rewrite by several methods.
    """

    def value(score: Score, metric: str, missing: float = 0.0) -> float:
        found = score.number(metric, measure)
        return missing if found is None else found

    took = [
        score
        for score in scores
        if value(score, "efficacy") >= EFFECTIVE
        and unrelated(score.side_effects).word != "collapsed"
    ]
    if not took:
        best = max(scores, key=lambda score: value(score, "efficacy"))
        ruined = value(best, "efficacy") >= EFFECTIVE
        unharmed = " without a collapse of the model" * ruined
        return BestMethod(
            best,
            f"no edit took (efficacy from {EFFECTIVE:g}){unharmed}; {best.method} came nearest with"
            f" {number(best.number('efficacy', measure))}.",
        )
    keep = [score for score in took if value(score, "preservation", 1.0) >= INTACT] or took
    # Two methods may make the same edit (PRUNE of one fact is MEMIT): the last digits, which the
    # order of a sum decides, choose none of them.
    least = min(keep, key=lambda score: round(value(score, "ifr", float("inf")), 9))
    return BestMethod(least, _why(least, keep, len(took), len(scores), measure))


def _why(least: Score, keep: Sequence[Score], took: int, n: int, measure: Measure) -> str:
    """Return the reason to look at the edit with the lowest IFR of those that took.

    Args:
        keep: those that are compared.
        took: number of edits that took.
        n: number of all edits.
    """
    ifr = least.number("ifr", measure)
    if len(keep) < took:
        rank = (
            f"of the {took} edits that took (of {n}), {len(keep)} kept the facts around it"
            f" (Preservation of {INTACT:g} or more)"
        )
        rank += ", of which it leaves the least of the old fact" * (len(keep) > 1)
    elif took > 1:
        rank = f"of the {took} edits that took (of {n}), it leaves the least of the old fact"
    else:
        rank = f"it is the only edit of {n} that took" if n > 1 else "it took"
    if ifr is None:
        return f"{rank}; IFR is undefined."
    left = f"even so {percent(ifr)} of that fact can still be deduced"
    if ifr < 0.005:  # shown as 0 %
        left = "nearly nothing of that fact can still be deduced"
    text = f"{rank}; {left} (IFR {number(ifr)})."
    retention, beyond = (
        least.number(metric, measure) for metric in ("subject_retention", "ifr_beyond_subject")
    )
    if retention is None or beyond is None or retention >= FORGOTTEN:
        return text
    text += (
        f" Part of the drop comes from the subject: the other facts about {least.subject} keep"
        f" {percent(retention)}; had they been kept, IFR would be {number(beyond)}."
    )
    known = [s for s in keep if s.number("ifr_beyond_subject", measure) is not None]
    other = min(known, key=lambda s: s.number("ifr_beyond_subject", measure) or 0.0)
    if other.edit != least.edit:
        text += f" By that number {other.method} leaves least: {_beyond(other, measure)}."
    return text


def _beyond(score: Score, measure: Measure) -> str:
    return number(score.number("ifr_beyond_subject", measure))
