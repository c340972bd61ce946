"""Growing a graph: validation, elicitation, synthesis, again (ThinkEval, Algorithm 1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from ...cypher import rows
from ...editing.probe.matching import normalise
from ..base.errors import EndpointError, UsageError
from ..base.formatting import pluralize
from .candidates import Elicited, Found
from .context import BudgetReached
from .elicit import open_elicitor
from .entities import is_type_word
from .synthesis import Synthesis
from .validate import Validation, judge

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .candidates import Candidate, Triplet, Verdicts
    from .context import Context
    from .schemas import GrowthIn


# A pass is a function of the request, the stored answers and the decisions: it begins at the seed
# each time, and asks only new questions. Work goes breadth-first, ties by first appearance.

CONVERGED = "no new triplet"
WAITING = "waits for review"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a pass: the run's state, and the reason."""

    state: Literal["finished", "waiting_review"]
    reason: str
    iterations: int
    chains: int


def seed_of(posted: GrowthIn) -> Triplet | None:
    """The seed's triplet; None where the request names none, or a crawl's subject only.

    Raises:
        UsageError: it has not three parts, or its object is its subject.
    """
    if posted.seed is None:
        return None
    parts = [" ".join(part.split()) for part in posted.seed.split("|")]
    if len(parts) == 1 and posted.elicit == "crawl" and parts[0]:
        return None
    if len(parts) != 3 or not all(parts):
        raise UsageError(
            f"The seed {posted.seed!r} is no triplet.",
            remedy='Write it as "subject|relation|object"; a crawl needs the subject only.',
        )
    subject, relation, object = parts
    if subject == object:
        raise UsageError("The seed's object is its subject.", remedy="Give another fact.")
    return subject, relation, object


class Loop:
    """One pass.

    Args:
        report: called with each iteration's row.
    """

    def __init__(
        self,
        context: Context,
        report: Callable[[rows.IterationRow], None] = lambda row: None,
    ) -> None:
        self._context, self._report = context, report
        self._seed = self._resolved(seed_of(context.posted))
        self._validation = Validation(context)
        self._synthesis = Synthesis(context, self._seed)
        self._elicitor = open_elicitor(context)
        self._number, self._cot_queries = 1, 0
        self._paths: list[rows.ChainRow] = []
        self._began = time.monotonic()

    def run(self) -> Outcome:
        """Iterate until a stop rule holds, and store the knowledge found.

        Raises:
            EndpointError: the endpoint does not answer; earlier findings are stored.
        """
        try:
            state, reason = self._iterate()
        except BudgetReached as stop:
            self._finish_iteration()
            state, reason = "finished", stop.reason
        except EndpointError:
            self._context.candidates.write(self._context.db, self._context.run, self._context.lease)
            raise
        return Outcome(state, reason, self._number, len(self._paths))

    def _iterate(self) -> tuple[Literal["finished", "waiting_review"], str]:
        posted = self._context.posted
        reasoned: set[str] = set()
        work = self._first()
        while True:
            self._context.enter(self._number)
            passed = self._validation.run(work)
            self._validation.paraphrase(passed)
            fresh = [one for one in passed if one.id not in reasoned]
            reasoned.update(one.id for one in fresh)
            new = self._take(self._elicitor.elicit(fresh))
            self._finish_iteration()
            chains = self._new_chains()
            if self._undecided():
                return "waiting_review", WAITING
            if self._seed is not None and len(self._paths) >= posted.chains:
                return "finished", pluralize(len(self._paths), "chain")
            # Candidates corrected or kept by a person are validated, also if nothing more is found.
            open_ = any(one.state == "new" for one in new)
            if not chains and (not new or (self._elicitor.stopped and not open_)):
                return "finished", self._elicitor.stopped or CONVERGED
            if self._number >= posted.iterations:
                return "finished", f"{posted.iterations} iterations"
            work = [*new, *chains]
            self._number += 1

    def _first(self) -> list[Candidate]:
        """The first inputs: the seed or a base graph's facts, and persons' own triplets."""
        context = self._context
        found: list[Triplet] = [self._seed] if self._seed is not None else []
        if context.posted.seed is None and context.base:
            found += [(f.subject, f.relation, f.object) for f in context.base.facts]
        work = []
        for triplet in [*found, *filter(None, map(self._resolved, context.added))]:
            one, new = context.candidates.triplet(*triplet, self._number)
            if new:
                self._gate(one, None, seed=True)
                work.append(one)
        return work

    def _resolved(self, triplet: Triplet | None) -> Triplet | None:
        if triplet is None:
            return None
        subject, relation, object = triplet
        entities = self._context.entities
        return (
            entities.canonical(subject),
            self._context.relations.canonical(relation),
            entities.canonical(object),
        )

    def _take(self, elicited: Elicited) -> list[Candidate]:
        """Return new candidates of the findings to be validated, in order of appearance."""
        self._cot_queries += elicited.queries
        self._context.store(elicited.statements)
        new = []
        for found in elicited.found:
            one = self._candidate(found)
            if one is not None:
                new.append((one, found))
        if self._context.posted.judge in ("model", "both", "check"):
            self._context.candidates.write(self._context.db, self._context.run, self._context.lease)
            judge(self._context, [one for one, _ in new])
        for one, found in new:
            if self._only_recorded(one, found):
                continue
            self._gate(one, one.reason or found.review)
            if one.state == "new" and found.share is not None and one.corrected is None:
                one.share, one.n_answers = found.share, found.n_answers
                one.end("validated")
        taken = [one for one, _ in new if one.state in ("new", "validated")]
        return [*taken, *self._reopened([one for one, _ in new])]

    def _reopened(self, new: Sequence[Candidate]) -> list[Candidate]:
        """Candidates below the thresholds that a correction names: they are validated after all."""
        found = []
        for one in filter(None, map(self._context.candidates.other, new)):
            recorded = one.state in ("unknown", "discarded") and not one.asked
            if recorded and self._context.candidates.verdicts(one).verdict is None:
                one.end("new")
                found.append(one)
        return found

    def _only_recorded(self, one: Candidate, found: Found) -> bool:
        """End a candidate that is no fact by its answers, unless a person decided otherwise."""
        if self._context.candidates.verdicts(one).verdict is not None:
            return False
        if found.unknown:
            one.end("unknown", "the model says that it does not know")
        elif found.discarded is not None:
            one.end("discarded", found.discarded)
        return one.state != "new"

    def _candidate(self, found: Found) -> Candidate | None:
        """The candidate of a triplet; None where it is known or has an empty name."""
        context = self._context
        names = [" ".join(name.split()) for name in (found.subject, found.object)]
        relation = " ".join(found.relation.split())
        if not names[0] or not relation or not (names[1] or found.unknown):
            return None
        kinds = [n for n in names if n and is_type_word(n) and not context.entities.knows(n)]
        if not kinds:
            names = [context.entities.canonical(name) if name else name for name in names]
        relation = context.relations.canonical(relation)
        one, new = context.candidates.triplet(names[0], relation, names[1], self._number)
        one.statements += found.statements
        one.queries += found.queries
        one.checks |= found.checks
        if not new:
            return None
        if kinds:
            one.reason = f"{kinds[0]!r} reads as a kind, not as a name"
        if context.posted.elicit != "crawl":
            one.question = None
        return one

    def _gate(self, one: Candidate, doubt: str | None, *, seed: bool = False) -> None:
        """Let a new candidate pass, or not: a person's decision, a doubt, the judge's decision."""
        how, verdicts = self._context.posted.judge, self._context.candidates.verdicts(one)
        one.reason = None
        if verdicts.verdict == "prune":
            one.end("pruned", "pruned by a person")
        elif verdicts.verdict == "correct":
            self._correct(one, verdicts.corrected)
        elif verdicts.verdict is not None or seed:
            return
        elif doubt is not None:
            one.end("review", doubt)
        elif how == "human" or (how == "both" and verdicts.judged != "keep"):
            one.end("review", _asked(verdicts))
        elif how == "model" and verdicts.judged == "prune":
            one.end("pruned", "pruned by the judge")
        elif how == "model" and verdicts.judged == "correct":
            self._correct(one, verdicts.judge_corrected)

    def _correct(self, one: Candidate, triplet: Triplet | None) -> None:
        corrected = self._resolved(triplet)
        if corrected is not None and not self._context.candidates.correct(one, corrected):
            one.end("duplicate", "the corrected triplet is another candidate")

    def _finish_iteration(self) -> None:
        """Store graph, candidates and the iteration's row."""
        context = self._context
        facts = self._synthesis.facts()
        self._synthesis.write(facts)
        self._paths = self._synthesis.chains(facts)
        context.candidates.write(context.db, context.run, context.lease)
        usage = [seat.answers.usage for seat in context.seats]
        row = rows.IterationRow(
            number=self._number,
            triplets=len(facts),
            paths=len(self._paths),
            cot_queries=self._cot_queries,
            calls=sum(one.calls for one in usage),
            tokens_in=sum(one.tokens_in for one in usage),
            tokens_out=sum(one.tokens_out for one in usage),
            seconds=time.monotonic() - self._began,
        )
        self._began = time.monotonic()
        values = asdict(row)
        context.write(int, "growth/write_iteration", run=context.run, **values)
        self._report(row)

    def _new_chains(self) -> list[Candidate]:
        """Chains of two steps and more that are not asked yet."""
        if not self._elicitor.expands_chains:
            return []
        found = []
        for path in self._paths:
            if path.steps < 2:
                continue
            one, new = self._context.candidates.chain(path.entities, path.relations, self._number)
            if new:
                found.append(one)
        return found

    def _undecided(self) -> bool:
        """Return True if the next iteration depends on open decisions of a person."""
        posted = self._context.posted
        if posted.judge not in ("human", "both") and posted.refine != "human":
            return False
        states = ("review", "conflict") if posted.judge in ("human", "both") else ("review",)
        return any(one.state in states for one in self._context.candidates.all("triplet"))


def _asked(verdicts: Verdicts) -> str:
    return f"the judge would {verdicts.judged} it" if verdicts.judged else "found; not decided yet"


# The chains of a grown graph, from the seed's subject to its object.


def chains_of(db: Database, graph: str, posted: GrowthIn) -> list[rows.ChainRow]:
    """The chains, shortest first; none without a seed, or where the graph does not hold it."""
    seed = seed_of(posted)
    if seed is None:
        return []
    names = {
        normalise(name): entity.name
        for entity in db.read(rows.EntityRow, "graph/entities", graph=graph)
        for name in (*entity.aliases, entity.name)
    }
    subject, _, object = seed
    return db.read(
        rows.ChainRow,
        "chains/enumerate",
        graph=graph,
        subject=names.get(normalise(subject), subject),
        object=names.get(normalise(object), object),
        max_steps=posted.max_steps,
        bare="include",
    )
