"""What the closure speaks of: triples, groundings, options, and proof trees.

Rules, groundings and agreement as CLI and REST show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from thinkeval.cypher import rows
from thinkeval.loaders.records import digest
from thinkeval.service.rules.store import StoredRule, columns
from thinkeval.service.schemas import Measure

Triple = tuple[str, str, str]
"""Subject, relation, object."""


@dataclass(frozen=True, slots=True)
class Grounding:
    """A rule with entities in it: the conclusion follows from the two premises.

    Attributes:
        factor: the rule's confidence; 1 where it has none, or where it is not to count.
    """

    rule: str
    first: Triple
    second: Triple
    conclusion: Triple
    factor: float


class ClosureOptions(BaseModel):
    """How a closure is taken; part of its digest.

    Attributes:
        depth: premises above each other in a proof at most; None: to the fixpoint.
        measure: which probabilities are the strengths of facts.
        confidence: whether a rule's confidence weakens what follows by it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: int | None = Field(default=None, ge=1, le=1000)
    measure: Measure = "likelihood"
    confidence: bool = True


class ProofOut(BaseModel):
    """A proof: a fact, or a conclusion with the two premises it follows from.

    Attributes:
        implied: whether it is a conclusion.
        strength_pre, strength_post: of a fact its probability, of a conclusion the product of all
            facts and rules of this proof, before and after the edit; None where one is not known.
        leaves: facts of the proof; one that is used twice counts twice.
        rule, text: id and words of the rule; None for a fact.
    """

    subject: str
    relation: str
    object: str
    implied: bool
    strength_pre: float | None = None
    strength_post: float | None = None
    leaves: int = 1
    rule: str | None = None
    text: str | None = None
    premises: list[ProofOut] = []


class ConclusionOut(BaseModel):
    """What follows, with the worth of its best proof.

    Attributes:
        stated: whether the graph also has it as a fact.
        round: premises above each other in its lowest proof.
        leaves: facts of its smallest proof.
    """

    subject: str
    relation: str
    object: str
    stated: bool
    round: int
    leaves: int
    strength_pre: float | None
    strength_post: float | None
    proof: ProofOut | None = None


class ContradictionOut(BaseModel):
    """Two objects of a relation that has one only, each with its proof."""

    subject: str
    relation: str
    conclusion: ProofOut
    against: ProofOut


class ClosureOut(BaseModel):
    """A graph's closure.

    Attributes:
        rounds: until nothing new followed; a cycle of rules ends too.
        stated: conclusions that are facts of the graph as well.
        pruned: what was found on the way and rests on nothing but itself.
    """

    graph: str
    rules: int
    options: ClosureOptions
    rounds: int
    groundings: int
    conclusions: int
    stated: int
    contradictions: list[ContradictionOut] = []
    items: list[ConclusionOut] = []


def rule_rows(rules: Sequence[StoredRule]) -> list[dict[str, Any]]:
    """Rules as the queries of closure/ take them."""
    return [{"id": stored.id, **columns(stored.rule)} for stored in rules]


def factors(rules: Sequence[StoredRule], options: ClosureOptions) -> dict[str, float]:
    """{rule: what it multiplies a proof by}."""
    return {
        stored.id: (stored.rule.confidence if options.confidence else None) or 1.0
        for stored in rules
        if not options.confidence or stored.rule.confidence != 0
    }


def rules_digest(rules: Sequence[StoredRule]) -> str:
    """Changes with the rules that are used, and with their confidence."""
    return digest(sorted((stored.id, stored.rule.confidence) for stored in rules))


Label = Literal["a", "b", "c", "d", "e"]
Status = Literal["candidate", "kept", "rejected"]


class AtomOut(BaseModel):
    """A premise or the conclusion, over the variables x, y and z."""

    subject: str
    relation: str
    object: str
    templates: list[str] = Field(description="Sentences that say it; the first is the uniform one.")


class RuleOut(BaseModel):
    """A stored rule. x –conclusion→ z; y is what the premises share."""

    id: str
    dataset: str
    text: str
    status: Status
    source: str = Field(description="given, mined, or the loader's key.")
    shape: str
    premises: list[AtomOut]
    conclusion: AtomOut
    kinds: dict[str, str]
    support: int | None = Field(description="Groundings whose conclusion is known.")
    body: int | None = Field(description="Groundings of the premises.")
    confidence: float | None = Field(description="support / body; null where body is 0 or unknown.")
    labels: dict[str, Label] = Field(description="What each annotator said.")

    @classmethod
    def of(cls, stored: StoredRule) -> RuleOut:
        """A stored rule as it is shown."""
        rule = stored.rule
        first, second, conclusion = (
            AtomOut(
                subject=a.subject, relation=a.relation, object=a.object, templates=[*a.templates]
            )
            for a in (rule.first, rule.second, rule.conclusion)
        )
        return cls.model_validate({
            "id": stored.id, "dataset": stored.dataset, "text": rule.text(),
            "status": stored.status, "source": rule.source, "shape": rule.shape,
            "premises": [first, second], "conclusion": conclusion, "kinds": dict(rule.kinds),
            "support": rule.support, "body": rule.body, "confidence": rule.confidence,
            "labels": dict(stored.labels),
        })  # fmt: skip


class PartOut(BaseModel):
    """A fact of a grounding; `fact` is its id in the database, null where the graph lacks it."""

    subject: str
    relation: str
    object: str
    fact: str | None
    pre: float | None = Field(description="Probability before the edit; null: not measured.")
    post: float | None


class GroundingOut(BaseModel):
    """Two facts that are a rule's premises, and its conclusion."""

    rule: str
    x: str
    y: str
    z: str
    premises: list[PartOut]
    conclusion: PartOut
    known: bool = Field(description="Whether the graph has the conclusion; else it is predicted.")

    @classmethod
    def of(cls, row: rows.GroundingRow | rows.AffectedRow, stored: StoredRule) -> GroundingOut:
        """A grounding of that rule as it is shown."""
        named = {"x": row.x, "y": row.y, "z": row.z}
        rule = stored.rule
        first, second, conclusion = (
            PartOut(
                subject=named[atom.subject], relation=atom.relation, object=named[atom.object],
                fact=getattr(row, part), pre=getattr(row, f"{part}_pre"),
                post=getattr(row, f"{part}_post"),
            )
            for atom, part in (
                (rule.first, "premise1"), (rule.second, "premise2"),
                (rule.conclusion, "conclusion"),
            )
        )  # fmt: skip
        return cls(
            rule=row.rule, x=row.x, y=row.y, z=row.z, premises=[first, second],
            conclusion=conclusion, known=row.conclusion is not None,
        )  # fmt: skip


class AgreementOut(BaseModel):
    """How far annotators agree; every value is over the `n` rules with two labels or more."""

    n: int
    raw: float | None = Field(description="Share of pairs of labels that are equal.")
    ac1: float | None = Field(description="Gwet's AC1 over a to e.")
    raw_plausible: float | None = Field(description="Likewise, with a and b as one, c to e too.")
    ac1_plausible: float | None
