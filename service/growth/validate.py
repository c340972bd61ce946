"""Component 1 of ThinkEval (§4.1): is a triplet or a chain known? And the model judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from ...editing.probe.matching import contains, first_sentence, gives
from ...editing.probe.matching import share as share_of
from ...loaders.records import SUBJECT_SLOT
from ..base.errors import UsageError
from . import prompts, review, writer
from .context import LONG
from .endpoint import state_of
from .entities import Wording, names_itself
from .schemas import Triplet
from .writer import Writer

if TYPE_CHECKING:
    from .candidates import Candidate
    from .context import Answer, Context
    from .endpoint import Request


# A candidate's question is asked k times; the fraction of the decided answers that give the
# object (or an alias) is compared with the threshold. A failed question is replaced by another
# one, at most k_max in all; then the candidate is discarded, and every question with its answers
# stays as evidence.

AT_ONCE = 200
"""Candidates that are asked in one call: where a budget ends, no more of them wait for answers."""
UNKNOWN = "unknown to the model"


@dataclass(slots=True)
class _Trial:
    """A candidate under validation, with the wordings that are left for it."""

    candidate: Candidate
    left: Iterator[Wording]
    wording: Wording | None = None


class Validation:
    """Component 1 of one pass."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._writer = Writer(context)

    def run(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Give every candidate a verdict; those that passed, in order.

        Raises:
            BudgetReached: candidates whose answers are stored have their verdict.
            EndpointError: the endpoint does not answer.
        """
        waiting = [one for one in candidates if one.state == "new" and not self._senseless(one)]
        for start in range(0, len(waiting), AT_ONCE):
            self._validate(waiting[start : start + AT_ONCE])
        return [one for one in candidates if one.state == "validated"]

    def paraphrase(self, passed: Sequence[Candidate]) -> None:
        """Have paraphrases of new facts written; each is validated by itself.

        Raises:
            as `run`.
        """
        self._writer.paraphrases([one for one in passed if one.kind == "triplet"])

    def _senseless(self, one: Candidate) -> bool:
        if one.kind == "chain":
            return False
        subject, _, object = one.triplet
        if subject == object:
            one.end("pruned", "its object is its subject")
        elif names_itself(subject, self._context.entities.names(object)):
            one.end("discarded", "its subject already names the object")
        return one.state != "new"

    def _validate(self, candidates: Sequence[Candidate]) -> None:
        """Try one question of every candidate at a time."""
        first = self._writer.questions([one for one in candidates if one.kind == "triplet"])
        trials = [_Trial(one, iter(self._wordings(one, first.get(one.id)))) for one in candidates]
        while trials:
            trials = [trial for trial in trials if self._choose(trial)]
            self._ask(trials)
            trials = [trial for trial in trials if trial.candidate.state == "new"]

    def _wordings(self, one: Candidate, written: Wording | None) -> list[Wording]:
        """A question that a person gave, the writer's, the relation's; of a chain its question."""
        context = self._context
        if one.kind == "chain":
            joined = " → ".join(one.relations)
            text = prompts.fill("chain", subject=SUBJECT_SLOT, relations=joined)
            return [Wording(text, "chat")]
        _, relation, _ = one.triplet
        given = context.candidates.verdicts(one).question
        found = [Wording(given, "chat")] if given else []
        found += [written] if written else []
        plain = context.main.chat and context.main.in_chat is False
        known = context.relations.wordings(relation, chat=context.main.chat, plain=plain)
        return [*known, *found] if plain else [*found, *known]

    def _choose(self, trial: _Trial) -> bool:
        """Take the next question; False where the candidate got a verdict without one."""
        one, context = trial.candidate, self._context
        subject, _, object = one.triplet
        names = context.entities.names(object)
        while one.tries < (context.posted.k_max if one.kind == "triplet" else 1):
            wording = self._next(trial)
            if wording is None:
                break
            one.tries += 1
            one.question = wording.of(subject)
            if contains(wording.text, names):
                continue  # asked like this, an answer would prove nothing
            trial.wording = wording
            return True
        self._give_up(one)
        return False

    def _next(self, trial: _Trial) -> Wording | None:
        one, how = trial.candidate, self._context.posted.refine
        if one.kind == "chain" or one.tries == 0 or how == "none":
            return next(trial.left, None)
        if how == "model":
            return self._writer.refined(one) or next(trial.left, None)
        # A person's correction brings one more question, its own.
        decided = self._context.candidates.verdicts(one).verdict
        return next(trial.left, None) if decided == "correct" and one.tries < 2 else None

    def _give_up(self, one: Candidate) -> None:
        decided = self._context.candidates.verdicts(one).verdict
        if one.kind == "triplet" and self._context.posted.refine == "human" and decided is None:
            one.end("review", "its question failed: correct the question or the triplet, or prune")
            return
        one.end("discarded", UNKNOWN if one.asked else "every question names the object")

    def _ask(self, trials: Sequence[_Trial]) -> None:
        context = self._context
        asked = [self._requests(trial) for trial in trials]
        flat = [request for each in asked for request in each]
        answers = iter(context.main.answers.ask(flat, "validation"))
        for trial, requests in zip(trials, asked, strict=True):
            self._judge(trial, [next(answers) for _ in requests])

    def _requests(self, trial: _Trial) -> list[Request]:
        one, context, wording = trial.candidate, self._context, trial.wording
        assert wording is not None  # set by _choose
        kind = "chain" if one.kind == "chain" else "direct"
        return context.requests(one.question or "", kind, n=context.samples, form=wording.form)

    def _judge(self, trial: _Trial, answers: Sequence[Answer]) -> None:
        one, context = trial.candidate, self._context
        names = context.entities.names(one.triplet[2])
        states = [state_of(answer.reply) for answer in answers]
        # A server generates text past the sentence that answers: the text after it answers nothing.
        answered = [first_sentence(answer.text, names) for answer in answers]
        verdicts = [gives(text, names) for text in answered]
        share = share_of(verdicts)
        one.queries += list(dict.fromkeys(answer.query for answer in answers))
        one.asked.append((one.question or "", [answer.text for answer in answers]))
        one.share, one.n_answers = share, len(verdicts) - verdicts.count(None)
        if share is not None and share >= context.pass_share - 1e-9:
            one.end("validated")
        elif 2 * states.count("refused") > len(states):
            one.end("refused", "the model refuses to answer")


# The model judge: keeps, prunes or corrects found triplets (ThinkEval, §4.2, App. F).
#
# Each of its decisions is stored once, as those of people are; a person's decision goes before
# it. An answer that stays invalid is no decision.

REASON = 2000
"""Characters of a reason, at most."""


class JudgedTriplet(BaseModel):
    """A corrected triplet."""

    subject: str
    relation: str
    object: str


class Judged(BaseModel):
    """The answer of the judge."""

    verdict: Literal["keep", "prune", "correct"]
    triplet: JudgedTriplet | None = None
    reason: str = ""


def judge(context: Context, candidates: Sequence[Candidate]) -> None:
    """Have the judge decide about stored candidates that neither it nor a person has decided.

    Raises:
        BudgetReached, EndpointError: decisions made before are stored.
    """
    open_ = [one for one in candidates if not _decided(context, one)]
    seat = context.judge or context.main
    requests = [
        context.requests(_text(context, one), "judge", max_tokens=LONG, temperature=0.0)[0]
        for one in open_
    ]
    judgements = writer.ask_for(
        Judged, requests, lambda more: seat.answers.texts(more, "judging"), form=seat.form
    )
    for one, each in zip(open_, judgements, strict=True):
        if each is not None:
            _record(context, one, each, seat.answers.endpoint.id)


def _decided(context: Context, one: Candidate) -> bool:
    known = context.candidates.verdicts(one)
    return known.verdict is not None or known.judged is not None


def _text(context: Context, one: Candidate) -> str:
    statements = [context.statements[name] for name in dict.fromkeys(one.statements)]
    return prompts.fill(
        "judge",
        question=prompts.data(str(one.checks.get("asked", ""))),
        statement=prompts.data("\n".join(statements)),
        triplet=prompts.data(" | ".join(one.triplet)),
    )


def _record(context: Context, one: Candidate, judgement: Judged, by: str) -> None:
    """Append the decision; a correction that says nothing new is a keep."""
    verdict, after = judgement.verdict, None
    if verdict == "correct" and judgement.triplet is not None:
        try:
            after = Triplet(**judgement.triplet.model_dump())
        except ValueError:
            return
    reason = judgement.reason[:REASON] or None
    try:
        review.decide(
            context.db, context.run, one.id, verdict, by, role="judge", after=after, reason=reason
        )
    except UsageError:
        verdict, after = "keep", None
        review.decide(context.db, context.run, one.id, verdict, by, role="judge", reason=reason)
    context.judged += 1
    known = context.candidates.verdicts(one)
    corrected = (after.subject, after.relation, after.object) if after else None
    context.candidates.decided[one.id] = replace(known, judged=verdict, judge_corrected=corrected)
