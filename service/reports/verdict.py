"""The verdict on a scored edit, the edit of several to look at first, and what to try next.

All screens take their words from here; docs/concepts/verdicts.md says them to readers.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median_high
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from ...editing import registry
from ..base.formatting import least, number, percent, pluralize
from ..graphs.datasets import OWN
from ..models.edit import EditOptions, Measure, MetricValue, RewriteIn, Score, SideEffects
from ..models.options import words_of
from ..scoring.damage import (
    FAR_KEPT,
    FAR_LINES,
    LEAST_FAR,
    LEAST_KEPT,
    LINES,
    LOST_AROUND,
    OVERSIZED,
    PERPLEXITY_DAMAGED,
    far_change,
    far_kept,
)
from ..scoring.damage import word as damage_word
from ..scoring.metrics import chain_rows, changed_facts
from ..scoring.request import posted

if TYPE_CHECKING:
    from ...cypher.rows import ChangedFact, ScoredChainRow
    from ...cypher.run import Database


# The verdict on a scored edit: success of the edit, rest of the old fact, knowledge kept.
#
# Each part is one graded word with the threshold that it was given by, and a sentence. The web
# UI, the terminal and the demo print the same ones.

STRONG = 0.7
"""A chain that keeps more than this fraction of its R still leads to the old object strongly."""

Kind = Literal["worked", "leaks", "broke", "nothing"]
"""Kinds of verdicts: it worked; the old fact leaks; the model broke; it did nothing."""
KINDS: tuple[Kind, ...] = get_args(Kind)
MEANINGS: dict[Kind, str] = {
    "worked": "worked: it took, the model is kept, and little of the old fact can be deduced",
    "leaks": "leaks: the old fact can still be deduced, or is still given directly",
    "broke": "broke: the model lost other knowledge, so that other numbers say little",
    "nothing": "did nothing: it did not take, or there was nothing to measure",
}
"""Each kind in words, for a legend."""

TOOK = ((0.5, "took"), (0.1, "took in part"), (0.0, "did not take"))
"""Words for efficacy: (at least, word), best first."""

GAIN = 0.1
"""Probability that the new object gained, below which an edit did not take: it was as likely."""

ALREADY = "already the answer"
"""Word for efficacy where the new object was likelier than .5 before the edit."""

FORGOT = ((0.9, "took"), (0.5, "took in part"), (-math.inf, "did not take"))
"""Words for forgetting, how much of a fact's probability is gone: (at least, word), best first."""

LEFT = ((1.05, "more than before"), (0.5, "most"), (0.2, "much"), (0.05, "little"), (0.0, "none"))
"""Words for IFR, how much of the old fact can still be deduced: (at least, word), most first."""

DEPTH = ((0.5, "shallow"), (0.2, "leaky"), (-math.inf, "deep"))
"""Words for IFR of an edit that took, where only one word is shown: (at least, word)."""

KEPT = ((0.9, "kept"), (LOST_AROUND, "mostly kept"), (0.0, "damaged"))
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
        kind: of the whole edit, where the part is the verdict in one word.
    """

    word: str
    sentence: str
    rule: str
    value: float | None
    kind: Kind | None = None

    @property
    def grade(self) -> str:
        """good, fair, bad or none: for a colour beside the word, never in place of it."""
        return _GRADES.get(self.word, "none")


_GRADES = {
    "took": "good", "took in part": "fair", "did not take": "bad", ALREADY: "bad",
    "none": "good", "little": "good", "much": "fair", "most": "bad", "more than before": "bad",
    "kept": "good", "mostly kept": "fair", "damaged": "bad",
    "as before": "good", "changed": "fair", "collapsed": "bad",
    "deep": "good", "leaky": "fair", "shallow": "bad", "partial": "fair", "missed": "bad",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one edit by one measure.

    Attributes:
        kind: worked, leaks, broke or nothing.
        nothing: a sentence that says why there is nothing to measure; empty where there is. With it
            no part is to be shown: each would be about facts that the model never knew.
        unrelated: the model on texts of its own and on known facts.
        broke: the damage by which the model broke, in words; empty where it did not.
        oversized: the layers whose update made the model collapse, in words; or empty.
        changed: the facts that changed most, without the edited one.
        wordings: a clause on the wordings in which the edited fact was asked; empty where several
            agree.
    """

    kind: Kind
    installed: Part
    left: Part
    kept: Part
    subject: Part
    unrelated: Part
    nothing: str = ""
    broke: str = ""
    changed: tuple[ChangedFact, ...] = ()
    wordings: str = ""
    oversized: str = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts on the four figures, in the order they are read in."""
        return (self.installed, self.left, self.kept, self.subject)

    @property
    def headline(self) -> str:
        """The answer, and the facts that changed most."""
        said = self.changed_most
        return self.answer + f" Changed most: {said}." * bool(said)

    @property
    def changed_most(self) -> str:
        """The facts that changed most, in words; empty where none did or nothing was measured."""
        named = () if self.nothing else self.changed[:NAMED]
        return "; ".join(map(changed_words, named))

    @property
    def answer(self) -> str:
        """One sentence with the answer: damage first, then success and depth."""
        if self.nothing:
            return self.nothing
        left = _HEADLINES.get(self.left.word, "what is left of the old fact is undefined")
        took = f"The edit {_DID.get(self.installed.word, self.installed.word)}"
        if self.installed.word == UNKNOWN:
            took = "The edit of the fact itself was not measured"
        if self.broke:
            link = ", but" if self.installed.grade == "good" else ", and"
            text = f"{took}{link} broke the model: {self.broke}"
            cut = self.left.word in ("none", "little")
            text += "; chains are cut because their facts broke" * cut
            if self.left.word in _LEAKING and self.unrelated.word != "collapsed":
                text += f"; {left}"
        elif self.installed.word in (ALREADY, TOOK[-1][1]):
            text = took
        else:
            text = f"{took}{self._beside()}; {left}"
            text += f" ({self.wordings})" * bool(self.wordings)
        return f"{text}."

    def _beside(self) -> str:
        """Return the change of unrelated texts or facts, as a clause."""
        if self.unrelated.word != "changed":
            return ""
        of_text = (self.unrelated.value or 0.0) >= LINES[-1][0]
        return f", but changed unrelated {'text' if of_text else 'facts'}"

    @property
    def text(self) -> str:
        """All sentences."""
        if self.nothing:
            return self.nothing
        oversized = f"Found: {self.oversized}." * bool(self.oversized)
        said = [*(part.sentence for part in self.parts), oversized, self.unrelated.sentence]
        return " ".join(filter(None, said))


NAMED = 3
"""Facts that a headline names."""

_DID = {
    ALREADY: "changed nothing: the new object was the answer before",
}
"""Words for efficacy as the predicate of a sentence, where they are not one themselves."""


def changed_words(fact: ChangedFact) -> str:
    """Return a changed fact in words: `People in Lyon speak Italian (was French)`."""
    asked = fact.prompt.replace("{}", fact.subject)
    if fact.change == "replaced" and fact.says_after:
        return f"{asked} {fact.says_after} (was {fact.object})"
    return f"{asked} {fact.object} {fact.change}, {number(fact.before)} → {number(fact.after)}"


_HEADLINES = {
    "none": "the old fact can hardly be deduced any more",
    "little": "a little of the old fact can still be deduced",
    "much": "much of the old fact can still be deduced",
    "most": "most of the old fact can still be deduced",
    "more than before": "the old fact can be deduced more easily than before",
}


_LEAKING = ("much", "most", "more than before")
"""Words for IFR by which the old fact still leaks."""


def judged(
    db: Database,
    score: Score,
    measure: Measure,
    chains: Sequence[ScoredChainRow] | None = None,
) -> Verdict:
    """Return the verdict on a stored edit; reads its chains and the facts that changed most.

    Args:
        chains: all its chains by the same measure; None: they are read too.
    """
    if chains is None:
        chains = chain_rows(db, score, measure)
    return verdict(score, measure, chains, changed_facts(db, score, measure, NAMED))


def with_verdict(db: Database, score: Score) -> Score:
    """The score with its verdict in one sentence, by its first measure; an append has none."""
    if score.append is not None:
        return score
    found = judged(db, score, score.measures[0])
    return score.model_copy(update={"verdict": found.headline})


def verdict(
    score: Score,
    measure: Measure,
    chains: Sequence[ScoredChainRow],
    changed: Sequence[ChangedFact] = (),
) -> Verdict:
    """The verdict on a scored edit.

    Args:
        chains: all its chains by the same measure.
        changed: the facts that changed most.
    """
    return Verdict(
        in_a_word(score, measure).kind or "nothing",
        _installed(score, measure),
        _left(score, measure, chains),
        _kept(score, measure),
        _subject(score, measure),
        unrelated(score.side_effects),
        _nothing(score, measure, chains),
        broke(score, measure),
        tuple(changed),
        _wordings(score, measure),
        oversized(score),
    )


def in_a_word(score: Score, measure: Measure) -> Part:
    """The verdict in one word and its kind, for lists: first what makes other numbers say little.

    An edit that damaged the model or the subject, or that did not take, is never "deep".
    """
    installed, left = _installed(score, measure), score.get("ifr", measure)
    if left is not None and not left.n and left.excluded:
        said = f"The model knew 0 of {pluralize(left.excluded, 'chain')}: nothing to measure."
        return Part("unknown", said, "", None, "nothing")
    if harm := broke(score, measure):
        word = "collapsed" if unrelated(score.side_effects).word == "collapsed" else "damaged"
        missed = installed.word == TOOK[-1][1]
        said = f"It {TOOK[-1][1]}, and broke the model" if missed else "The model broke"
        return Part(word, f"{said}: {harm}.", DAMAGE, None, "broke")
    if installed.word not in (TOOK[0][1], UNKNOWN):
        short = {"did not take": "missed", "took in part": "partial", ALREADY: "no change"}
        kind: Kind = "leaks" if installed.word == TOOK[1][1] else "nothing"
        return replace(installed, word=short[installed.word], kind=kind)
    if installed.word == UNKNOWN or left is None or left.value is None:
        return replace(installed, kind="nothing" if installed.word == UNKNOWN else "worked")
    said = f"{percent(left.value)} of the old fact can still be deduced."
    word = _word(left.value, DEPTH)
    if word == "deep" and _other_wordings(score, measure):
        word = "leaky"
        said += f" {_wordings(score, measure)}."
    kind = "worked" if word == "deep" else "leaks"
    return Part(word, said, _rule("IFR", DEPTH), left.value, kind)


DAMAGE = (
    f"broke: collapsed or damaged side effects, or neighbours kept or subject retention below"
    f" {KEPT[1][0]:g}"
)
"""The rule by which a model counts as broken."""


def broke(score: Score, measure: Measure) -> str:
    """Return the damage by which the model broke, in words; empty where it is kept.

    Damage is read before success: where knowledge is lost, chains are cut for that reason, and a
    model that knows nothing has forgotten nothing.
    """
    harm = unrelated(score.side_effects)
    found = [_harm(score.side_effects)] if harm.word in ("collapsed", "damaged") else []
    found += broke_near(score, measure)
    about = score.about_subject
    if score.number("subject_retention", measure) is None and about and about.kept is not None:
        changed = about.n - about.kept
        if 2 * changed > about.n:
            known = pluralize(about.n, "known fact")
            found.append(f"{changed} of {known} about {score.subject} changed")
    lost = " and ".join(found[:2])
    return "; ".join(filter(None, (oversized(score), lost))) if lost else ""


def oversized(score: Score) -> str:
    """Return the finding on layers of a model that collapsed by their update; else empty.

    An organism bears updates larger than its layers: there the finding is in the record alone.
    """
    found = [each for each in score.provenance.get("findings", ()) if each["finding"] == OVERSIZED]
    if not found or damage_word(score.side_effects) != "collapsed":
        return ""
    largest = max(each["norm"] for each in found)
    where = found[0]["weight"] if len(found) == 1 else pluralize(len(found), "layer")
    return f"{OVERSIZED} (‖ΔW‖/‖W‖ {'up to ' * (len(found) > 1)}{number(largest)}, {where})"


class Requested(Protocol):
    """A score, or a request of a comparison: its subject, and metrics by name."""

    subject: str

    def number(self, metric: str, measure: Measure, /) -> float | None:
        """Return a metric; None where it was not taken."""
        ...


def broke_near(found: Requested, measure: Measure) -> list[str]:
    """Return the damage to the facts around the edited one and about its subject, in words."""
    out = []
    for metric, what in (
        ("preservation_symmetric", "the facts around it keep"),
        ("subject_retention", f"the other facts about {found.subject} keep"),
    ):
        value = found.number(metric, measure)
        if value is not None and value < KEPT[1][0]:
            out.append(f"{what} {percent(value)} of their probability")
    return out


def _harm(found: SideEffects) -> str:
    """Return the side effect by which the model is damaged, in words."""
    change = far_change(found)
    if change is not None and change < FAR_LINES[-1][0]:
        return f"known facts away from the subject keep {percent(change)}"
    if found.kl is not None and found.kl >= LINES[1][0]:
        return f"KL {least(found.kl)} a token on its own texts"
    return f"its own texts are {number(found.perplexity_ratio)} times as perplexing"


def took(score: Score, measure: Measure) -> bool:
    """Return True if the edit changed the answer: all rankings and marks ask this."""
    return _installed(score, measure).word == TOOK[0][1]


def kept(score: Score, measure: Measure) -> bool:
    """Return True if the edit left the model's other knowledge in place."""
    return not broke(score, measure)


def unrelated(found: SideEffects) -> Part:
    """The part of a verdict on side effects, by the worst line that is reached."""
    named = [f"from {kl:g} “{word}”" for kl, word in LINES]
    far = [f"below {line:g} “{word}”" for line, word in FAR_LINES]
    rule = (
        f"KL per token: {named[0]}, {named[1]} (or from perplexity ratio {PERPLEXITY_DAMAGED:g}),"
        f" {named[2]}, below “as before”; median change of known facts at 2 steps and more:"
        f" {', '.join(far)}; below {percent(FAR_KEPT)} of these kept “changed”, from that on (of"
        f" {LEAST_KEPT} or more) at worst “damaged”"
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


def subject_sentence(score: Score) -> str:
    """The counts of known facts about the subject; empty for a score that has none."""
    found = score.about_subject
    if found is None:
        return ""
    if found.kept is None:
        return f"Facts kept, weakened and lost are undefined: {found.reason}."
    counts = [f"{found.kept} kept", f"{found.weakened} weakened", f"{found.replaced} replaced"]
    if found.followed:
        counts[-1] += f" ({found.followed} of them by what follows from the new object)"
    counts.append(f"{found.lost} lost")
    known = pluralize(found.n, "known fact")
    return f"Of {known} about {score.subject}: {', '.join(counts)} (by likelihood)."


def _nothing(score: Score, measure: Measure, chains: Sequence[ScoredChainRow]) -> str:
    """Return the reason why nothing is measured: the model knows neither the fact nor a chain."""
    if any(chain.known and chain.r_pre for chain in chains):
        return ""
    before = score.number("known_before", measure)
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
    """Grade efficacy; an edit took only if it changed the answer."""
    if score.kind == "forget":
        return _forgotten(score, measure)
    value, before = (score.number(name, measure) for name in ("efficacy", "efficacy_before"))
    rule = _rule("efficacy", TOOK)
    if value is None:
        return Part(UNKNOWN, "The edited fact was not probed.", rule, value)
    word = took_word(value, before)
    sentence = (
        f"Asked directly, the model answers {score.target_new} with probability {number(value)}"
    )
    if before is not None:
        rule += f"; the new object gains at least {GAIN:g}, and was below {TOOK[0][0]:g} before"
        if before >= GAIN:
            sentence += f", before the edit {number(before)}"
    return Part(word, f"{sentence}.", rule, value)


def took_word(value: float, before: float | None) -> str:
    """Return the word for efficacy, by the new object's probability after and before the edit."""
    if before is not None and min(value, before) >= TOOK[0][0]:
        return ALREADY
    if before is not None and value - before < GAIN:
        return TOOK[-1][1]
    return _word(value, TOOK)


def _wordings(score: Score, measure: Measure) -> str:
    """Return a clause where the edited fact was asked in one wording, or others disagree."""
    if _installed(score, measure).word != TOOK[0][1]:
        return ""
    if score.kind != "forget" and (other := _other_wordings(score, measure)):
        return other
    asked = score.get("generalization", measure)
    if (asked is None or not asked.n) and not score.forms:
        return "asked in one wording only; --forms all asks in others"
    return ""


def _other_wordings(score: Score, measure: Measure) -> str:
    """Return a clause where the new object is not the answer in other wordings."""
    asked = score.get("generalization", measure)
    if asked is None or asked.value is None or not asked.n or asked.value >= TOOK[0][0]:
        return ""
    return (
        f"in {pluralize(asked.n, 'other wording')} the model answers {score.target_new} with"
        f" {number(asked.value)} only"
    )


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
    around = [chain for chain in chains if not is_bare(chain, score)]
    known = [chain for chain in around if chain.known]
    alive = [chain for chain in known if chain.surviving]
    strong = sum((chain.ratio or 0.0) > STRONG for chain in alive)
    of = f"{len(known)} known of {pluralize(len(around), 'chain')}"
    if len(known) == len(around):
        of = pluralize(len(around), "chain")
    sentence = f"{percent(found.value)} of the old fact can still be deduced"
    if known:
        sentence += f"; {len(alive)} of {of} beside it survive{'s' * (len(alive) == 1)}"
    if alive:
        keep = "keeps" if strong == 1 else "keep"
        sentence += f", and {strong or 'none'} of these {keep} more than {percent(STRONG)}"
    before = score.number("known_before", measure)
    if before is not None and before < BARELY:
        sentence += f". The model hardly knew the fact before: p {least(before)}"
    return Part(_word(found.value, LEFT), f"{sentence}.", rule, found.value)


BARELY = 0.2
"""Probability of the old object before the edit below which it is printed beside IFR."""


def is_bare(chain: ScoredChainRow, score: Score) -> bool:
    """Return True if the chain is the edited fact by itself: no sentence counts it as surviving."""
    return chain.steps == 1 and chain.links[0].relation == score.relation


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
    near = score.get("preservation_symmetric", measure)
    graded = found.value
    if near is not None and near.value is not None:
        graded = near.value
        rule = _rule("neighbours kept", KEPT)
        if found.value - near.value >= UNCHANGED:
            sentence = f"{sentence[:-1]}; where a rise counts as a change too, {percent(graded)}."
    if found.n < FEW:
        sentence = f"{sentence[:-1]}: it rests on {pluralize(found.n, 'fact')} and says little."
    return Part(_word(graded, KEPT), sentence, rule, found.value)


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
# Of the edits that took and kept the model, the one that leaves least of the old fact. Where none
# kept it, the one that did least damage, with a sentence that none did. Demo, reports, pages and
# co-edits rank by this order alone.


@dataclass(frozen=True, slots=True)
class BestMethod:
    """An edit to look at.

    Attributes:
        score: of the edit.
        why: sentences on its remarkable values.
        kept: True if it took and kept the model: only then a mark calls it the best.
    """

    score: Score
    why: str
    kept: bool


def rank(scores: Sequence[Score], measure: Measure) -> list[Score]:
    """Return the scores in the order to look at them; equal ones stay in their order."""
    return sorted(scores, key=lambda score: place(score, measure))


def place(score: Score, measure: Measure) -> tuple[int, float]:
    """Return the place of an edit in the order: its tier, and the number it is ordered by there.

    Tier 0: edits that took and kept the model, by IFR; 1: those that took and broke it, by damage;
    2: the others, by efficacy.
    """
    if not took(score, measure):
        return DID_NOT_TAKE, -(score.number("efficacy", measure) or 0.0)
    if not kept(score, measure):
        return 1, _damage(score, measure)
    return 0, _rounded(score.number("ifr", measure))


DID_NOT_TAKE = 2
"""The last tier of the order."""


def place_of_method(
    scores: Sequence[Score], measure: Measure, ifr: float | None
) -> tuple[int, float]:
    """Return the place of a method over several facts: the tier of most of its edits.

    Args:
        ifr: of all its edits together.
    """
    places = [place(score, measure) for score in scores]
    tier = median_high(tier for tier, _ in places)
    if tier == 0:
        return tier, _rounded(ifr)
    return tier, fmean(number for of, number in places if of == tier)


def _rounded(ifr: float | None) -> float:
    """Return IFR to order by; an undefined one is last.

    Two methods may make the same edit (PRUNE of one fact is MEMIT): the last digits, which the
    order of a sum decides, choose none of them.
    """
    return math.inf if ifr is None or math.isnan(ifr) else round(ifr, 9)


def _damage(score: Score, measure: Measure) -> float:
    """Return the damage of an edit, to order those that broke the model: 0 for none, 2 at most."""
    numbers = (score.number(m, measure) for m in ("preservation_symmetric", "subject_retention"))
    left = min((value for value in numbers if value is not None), default=1.0)
    return 1 - min(left, 1.0) + (unrelated(score.side_effects).word == "collapsed")


def best_method(scores: Sequence[Score], measure: Measure) -> BestMethod:
    """The edit to look at, see `rank`, and why.

    Args:
        scores: at least one; of one rewrite by several methods.
    """
    best, n = rank(scores, measure)[0], len(scores)
    those = [score for score in scores if took(score, measure)]
    if not those:
        return BestMethod(
            best,
            f"no edit took (efficacy from {TOOK[0][0]:g}, and more than before); {best.method} came"
            f" nearest with {number(best.number('efficacy', measure))}.",
            kept=False,
        )
    keep = [score for score in those if kept(score, measure)]
    if not keep:
        only = f"it is the only edit of {n} that took" if n > 1 else "it took"
        said = f"{only}, but broke the model"
        if len(those) > 1:
            said = f"none of the {len(those)} edits that took (of {n}) kept the model; it did the"
            said += " least damage"
        return BestMethod(best, f"{said}: {broke(best, measure)}.", kept=False)
    return BestMethod(best, _why(best, keep, len(those), n, measure), kept=True)


def _why(least: Score, keep: Sequence[Score], took: int, n: int, measure: Measure) -> str:
    """Return the reason to look at the edit with the lowest IFR of those that took.

    Args:
        keep: those that are compared.
        took: number of edits that took.
        n: number of all edits.
    """
    ifr = least.number("ifr", measure)
    if len(keep) < took:
        rank = f"of the {took} edits that took (of {n}), {len(keep)} kept the model"
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
    return f"{rank}; {left} (IFR {number(ifr)})."


# What to try next, for each kind of verdict; the leak cut names what else to edit where it leaks.


def next_steps(score: Score, measure: Measure) -> list[tuple[str, str]]:
    """Return what to try next as sentences with the commands that do it.

    None of an append, and of an edit that leaks: the leak cut (`service.leakcut.words`) says more.
    """
    found = in_a_word(score, measure)
    if score.append is not None or "comparison" in score.provenance or found.kind == "leaks":
        return []
    asked = posted(score)
    model, method = ["--model", str(asked["model"])], ["-m", score.method]
    data = ["-g", score.dataset]
    if found.word in ("unknown", UNKNOWN):
        probe = ["thinkeval", "probe", score.dataset, *model]
        return [("See which facts this model knows, and score one of these:", shlex.join(probe))]
    if found.kind == "worked":
        sweep = ["thinkeval", "sweep", *data, *method, *model]
        return [("See if it is so on other facts too:", shlex.join(sweep))]
    if score.rewrite.startswith(OWN):
        own = {name: asked["rewrite"].get(name) for name in RewriteIn.model_fields}
        words = words_of(RewriteIn, {name: value for name, value in own.items() if value})
    else:
        words = [score.rewrite]
    options = {name: value for name, value in asked.items() if name not in _NAMED_APART}
    again = ["thinkeval", "score", *words, *data, *model, *words_of(EditOptions, options)]
    if found.word == "no change":
        command = shlex.join([*again, *method])
        return [("Name a new object that is not the answer already:", command)]
    steps = []
    missed = _installed(score, measure).word == TOOK[-1][1]  # a weaker edit takes even less
    if found.kind == "broke" and not missed and score.method not in ("none", "ike"):
        weaker = [*again, *method, "--strength", "0.5"]
        steps.append(("Edit less strongly, which keeps more of the model:", shlex.join(weaker)))
    other = "memit" if score.method != "memit" else "rome"
    steps.append(("Try another method:", shlex.join([*again, "-m", other])))
    if registry.info(score.method).kind == "weights":
        tune = ["thinkeval", "model", "tune", str(asked["model"]), *data, *method]
        steps.append(("Search hyperparameters that keep the model:", shlex.join(tune)))
    return steps


_NAMED_APART = ("graph", "rewrite", "model", "method", "hparams", "overrides", "strength", "force")
"""Fields of a request that the commands of `next_steps` write themselves, or leave out."""
