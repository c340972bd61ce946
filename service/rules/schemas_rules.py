"""Rules, groundings and agreement as CLI and REST show them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from thinkeval.cypher import rows
from thinkeval.service.rules.store import StoredRule

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
