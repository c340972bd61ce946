"""The additional probes of `score --implications`: conclusions that an edit touches, and premises.

They are probed separately, after the facts in scope, so that no other number changes; in the edit's
graph they have the role `implication`, which no chain passes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import Fact, digest
from ..errors import UsageError
from ..graphs.datasets import to_fact
from ..rules.implications import other_premise, read
from ..rules.schemas import Triple, rules_digest
from ..rules.store import StoredRule, rules_of
from .probe import Question

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .request import ScoreRequest
    from .scope import Scope

ROLE = "implication"


@dataclass(frozen=True, slots=True)
class Implied:
    """The additional probes of one edit.

    Attributes:
        rules: ids of the rules that were applied.
        unasked: conclusions that cannot be probed, as their relation has no cloze.
    """

    questions: tuple[Question, ...]
    rules: tuple[str, ...]
    unasked: int
    identity: str

    def about(self) -> dict[str, object]:
        """For the record."""
        return {"asked": len(self.questions), "unasked": self.unasked, "rules": list(self.rules)}


def implied(db: Database, request: ScoreRequest, scope: Scope) -> Implied:
    """The conclusions and premises of every grounding an edit touches, without those in scope.

    Raises:
        UsageError: the data set has no rules with the status `kept`.
    """
    rules = rules_of(db, request.graph)
    if not rules:
        raise UsageError(
            f"{request.graph!r} has no rules with the status `kept`: an edit implies nothing.",
            remedy=f"`thinkeval rules add {request.graph} FILE`, or mine and review some.",
        )
    rewrite = request.rewrite
    edited = (rewrite.subject, rewrite.relation, rewrite.target_true, rewrite.target_new)
    found = read(db, request.graph, edited, rules)
    wanted = dict.fromkeys(
        triple
        for row in found
        for triple in (other_premise(row), (row.subject, row.relation, row.conclusion))
        if triple is not None
    )
    known = {(f.subject, f.relation, f.object) for f in scope.facts}
    known |= {(rewrite.subject, rewrite.relation, o) for o in edited[2:]}
    open_ = [triple for triple in wanted if triple not in known]
    stored = (
        [to_fact(row) for row in db.read(rows.FactRow, "graph/facts", graph=request.graph)]
        if open_
        else []
    )
    facts = {(f.subject, f.relation, f.object): f for f in stored}
    clozes = _clozes(stored, rules)
    questions = []
    for triple in open_:
        fact = facts.get(triple) or _fact(triple, clozes)
        if fact is not None:
            aliases = scope.aliases.get(fact.object, ())
            questions.append(Question(fact, aliases, role=ROLE, listed=triple in facts))
    return Implied(
        tuple(questions),
        tuple(stored.id for stored in rules),
        len(open_) - len(questions),
        digest([rules_digest(rules), sorted(q.fact.id for q in questions)]),
    )


def _clozes(facts: Sequence[Fact], rules: Sequence[StoredRule]) -> dict[str, str]:
    """{relation: cloze}: of most facts of the data set, else of a rule."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        seen[fact.relation][fact.prompt] += 1
    out = {relation: counts.most_common(1)[0][0] for relation, counts in seen.items()}
    for stored in rules:
        relation = stored.rule.conclusion.relation
        if relation not in out and (clozes := stored.rule.conclusion_clozes()):
            out[relation] = clozes[0]
    return out


def _fact(triple: Triple, clozes: dict[str, str]) -> Fact | None:
    subject, relation, object_ = triple
    cloze = clozes.get(relation)
    return None if cloze is None else Fact(subject, relation, object_, prompt=cloze)
