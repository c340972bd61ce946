"""Records and response models of rules: triples, groundings, proofs, closures, rules, agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...cypher import rows
from ...loaders.records import digest
from ..models.edit import Measure, ProbedFact
from .mining import LIMIT, MIN_SUPPORT
from .store import StoredRule, columns

Triple = tuple[str, str, str]
"""Subject, relation, object."""


@dataclass(frozen=True, slots=True)
class Grounding:
    """An instantiated rule: the premises entail the conclusion.

    Attributes:
        second: None for a rule with one premise.
        factor: the rule's confidence; 1 without one, or if the options ignore it.
    """

    rule: str
    first: Triple
    second: Triple | None
    conclusion: Triple
    factor: float

    @property
    def premises(self) -> tuple[Triple, ...]:
        """The one or two premises."""
        return (self.first,) if self.second is None else (self.first, self.second)


class ClosureOptions(BaseModel):
    """Options of a closure; part of its digest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="Maximum height of a proof, in premises above each other; null: to the"
        " fixpoint.",
    )
    measure: Measure = Field(
        default="likelihood", description="Kind of probabilities that are the strengths of facts."
    )
    confidence: bool = Field(
        default=True, description="True if a rule's confidence weakens its conclusions."
    )


class MiningOptions(BaseModel):
    """Options of rule mining."""

    model_config = ConfigDict(extra="forbid")

    min_support: int = Field(
        default=MIN_SUPPORT,
        ge=1,
        le=10**9,
        description="Least number of groundings whose conclusion is known.",
    )
    min_confidence: float = Field(default=0.0, ge=0, le=1, description="Least confidence.")
    limit: int = Field(default=LIMIT, ge=1, le=10_000, description="Keep at most this many rules.")
    typed: bool = Field(
        default=True,
        description="Restrict a variable to the kind that all its entities share.",
    )


class ProofOut(BaseModel):
    """A proof: a fact, or a conclusion with its premises."""

    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    implied: bool = Field(description="True if it is a conclusion.")
    strength_pre: float | None = Field(
        default=None,
        description="Before the edit: of a fact its probability, of a conclusion the product of"
        " all facts and rules of this proof; null if one is unknown.",
    )
    strength_post: float | None = Field(default=None, description="After the edit, likewise.")
    leaves: int = Field(
        default=1,
        description="Number of facts of the proof; a fact that is used twice counts twice.",
    )
    rule: str | None = Field(default=None, description="Id of the rule; null for a fact.")
    text: str | None = Field(default=None, description="Text of the rule; null for a fact.")
    premises: list[ProofOut] = Field(
        default=[], description="Proofs of the rule's premises; empty for a fact."
    )


class ConclusionOut(BaseModel):
    """A conclusion with the strength of its best proof."""

    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    stated: bool = Field(description="True if it is also a fact of the graph.")
    round: int = Field(description="Height of its lowest proof, in premises above each other.")
    leaves: int = Field(description="Number of facts of its smallest proof.")
    strength_pre: float | None = Field(
        description="Strength of the best proof before the edit; null if unknown."
    )
    strength_post: float | None = Field(
        description="Strength of the best proof after the edit; null if unknown."
    )
    proof: ProofOut | None = Field(
        default=None, description="The best proof; null where proofs were not asked for."
    )


class ContradictionOut(BaseModel):
    """Two objects of a functional relation: `conclusion` proves one, `against` the other."""

    # Without descriptions: pydantic writes one of a recursive model into every reference to it.

    subject: str = Field(description="Subject that has both objects.")
    relation: str = Field(description="Relation of the fact.")
    conclusion: ProofOut
    against: ProofOut


class ClosureOut(BaseModel):
    """A graph's closure."""

    graph: str = Field(description="Id of the graph.")
    rules: int = Field(description="Number of rules.")
    options: ClosureOptions = Field(description="The options that it was computed with.")
    rounds: int = Field(
        description="Number of rounds until the fixpoint; cycles of rules terminate too."
    )
    groundings: int = Field(description="Number of groundings.")
    conclusions: int = Field(description="Number of conclusions.")
    stated: int = Field(description="Number of conclusions that are also facts of the graph.")
    contradictions: list[ContradictionOut] = Field(
        default=[], description="Two objects of a functional relation, each with its proof."
    )
    items: list[ConclusionOut] = Field(default=[], description="The strongest conclusions.")


def rule_rows(rules: Sequence[StoredRule]) -> list[dict[str, Any]]:
    """Rules as parameters of the queries of closure/."""
    return [{"id": stored.id, **columns(stored.rule)} for stored in rules]


def factors(rules: Sequence[StoredRule], options: ClosureOptions) -> dict[str, float]:
    """{rule: factor of a proof that uses it}."""
    return {
        stored.id: (stored.rule.confidence if options.confidence else None) or 1.0
        for stored in rules
        if not options.confidence or stored.rule.confidence != 0
    }


def rules_digest(rules: Sequence[StoredRule]) -> str:
    """Digest of the rules and their confidence."""
    return digest(sorted((stored.id, stored.rule.confidence) for stored in rules))


Label = Literal["a", "b", "c", "d", "e"]
Status = Literal["candidate", "kept", "rejected"]


class AtomOut(BaseModel):
    """A premise or the conclusion, over the variables x, y and z."""

    subject: str = Field(description="Variable: x, y or z.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Variable: x, y or z.")
    templates: list[str] = Field(description="Sentences for it; the first is the uniform one.")


class RuleStatisticsOut(BaseModel):
    """Statistics over distinct conclusions, each counted once."""

    conclusions: int = Field(description="Number of distinct conclusions.")
    known: int = Field(description="Number of those that the graph has.")
    comparable: int = Field(
        description="Number of those whose subject has any fact of the conclusion's relation."
    )
    heads: int = Field(description="Number of facts of the conclusion's relation.")
    confidence: float | None = Field(description="known / conclusions.")
    pca_confidence: float | None = Field(description="known / comparable (AMIE).")
    head_coverage: float | None = Field(description="known / heads.")
    lower: float | None = Field(
        description="Lower end of the 95 % Wilson interval of this confidence."
    )


class RuleOut(BaseModel):
    """A stored rule. x –conclusion→ z; two premises share y."""

    id: str = Field(description="Id of the rule.")
    dataset: str = Field(description="Id of the data set's graph.")
    text: str = Field(description="The rule as a sentence.")
    status: Status = Field(description="candidate, kept or rejected.")
    source: str = Field(description="given, mined, or the loader's key.")
    shape: str = Field(description="How the premises share their variables.")
    premises: list[AtomOut] = Field(description="One or two atoms.")
    conclusion: AtomOut = Field(description="The atom that they entail.")
    kinds: dict[str, str] = Field(
        description="Kind of entity that a variable is restricted to, by variable."
    )
    support: int | None = Field(description="Number of groundings whose conclusion is known.")
    body: int | None = Field(description="Number of groundings of the premises.")
    confidence: float | None = Field(description="support / body; null where body is 0 or unknown.")
    labels: dict[str, Label] = Field(description="Label by annotator.")
    statistics: RuleStatisticsOut | None = Field(
        default=None, description="Over distinct conclusions; null where they were not counted."
    )

    @classmethod
    def of(cls, stored: StoredRule) -> RuleOut:
        """The response for a stored rule."""
        rule = stored.rule
        *premises, conclusion = (
            AtomOut(
                subject=a.subject, relation=a.relation, object=a.object, templates=[*a.templates]
            )
            for a in (*rule.premises, rule.conclusion)
        )
        return cls.model_validate({
            "id": stored.id, "dataset": stored.dataset, "text": rule.text(),
            "status": stored.status, "source": rule.source, "shape": rule.shape,
            "premises": premises, "conclusion": conclusion, "kinds": dict(rule.kinds),
            "support": rule.support, "body": rule.body, "confidence": rule.confidence,
            "labels": dict(stored.labels), "statistics": _statistics(stored),
        })  # fmt: skip


def _statistics(stored: StoredRule) -> dict[str, int | float | None] | None:
    of = stored.statistics
    if of is None:
        return None
    return {name: getattr(of, name) for name in RuleStatisticsOut.model_fields}


class PartOut(ProbedFact):
    """A fact of a grounding; `fact` is its id in the database, null if not in the graph."""

    fact: str | None = Field(description="Id of the fact; null if the graph does not have it.")


class GroundingOut(BaseModel):
    """Facts that match a rule's premises, and the conclusion."""

    rule: str = Field(description="Id of the rule.")
    x: str = Field(description="Name of the entity for the variable x.")
    y: str | None = Field(description="Null for a rule with one premise.")
    z: str = Field(description="Name of the entity for the variable z.")
    premises: list[PartOut] = Field(description="The facts that match the premises.")
    conclusion: PartOut = Field(description="The triple that they entail.")
    known: bool = Field(description="True if the conclusion is in the graph; else it is predicted.")

    @classmethod
    def of(cls, row: rows.GroundingRow | rows.AffectedRow, stored: StoredRule) -> GroundingOut:
        """The response for a grounding of a rule."""
        named = {"x": row.x, "y": row.y or "", "z": row.z}
        rule = stored.rule
        names = ("premise1", "premise2")[: len(rule.premises)]
        parts = zip((*rule.premises, rule.conclusion), (*names, "conclusion"), strict=True)
        *premises, conclusion = (
            PartOut(
                subject=named[atom.subject], relation=atom.relation, object=named[atom.object],
                fact=getattr(row, part), pre=getattr(row, f"{part}_pre"),
                post=getattr(row, f"{part}_post"),
            )
            for atom, part in parts
        )  # fmt: skip
        return cls(
            rule=row.rule, x=row.x, y=row.y, z=row.z, premises=premises,
            conclusion=conclusion, known=row.conclusion is not None,
        )  # fmt: skip


class AgreementOut(BaseModel):
    """Agreement of annotators, over the `n` rules with two labels or more."""

    n: int = Field(description="Number of rules with two labels or more.")
    raw: float | None = Field(description="Fraction of equal pairs of labels.")
    ac1: float | None = Field(description="Gwet's AC1 over a to e.")
    raw_plausible: float | None = Field(
        description="Likewise, with a, b as one label and c, d, e as one."
    )
    ac1_plausible: float | None = Field(
        description="Gwet's AC1 with a, b as one label and c, d, e as one."
    )
