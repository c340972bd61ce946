"""What follows by rules: the closure of a graph, proofs, an edit's implications and Omega."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from thinkeval.service.api.edits import EditId
from thinkeval.service.api.graphs import GraphId
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.results import MeasureQuery
from thinkeval.service.api.state import Db
from thinkeval.service.reports.edit import measure_of, offset_of
from thinkeval.service.rules import backward, groundings, implications, mixed_chains, omega, views
from thinkeval.service.rules.implications import ImplicationsOut
from thinkeval.service.rules.mixed_chains import Chosen, MixedPage
from thinkeval.service.rules.omega import OmegaOut
from thinkeval.service.rules.schemas import ClosureOptions, ClosureOut, ProofOut
from thinkeval.service.scoring import record

router = APIRouter(prefix="/v1", tags=["rules"], responses=DESCRIBED)

Text = Annotated[str, Query(min_length=1, max_length=400)]


class ProofPage(BaseModel):
    """Proofs of one triple, strongest before the edit first; none: nothing proves it."""

    items: list[ProofOut]


class ClosureChoice(ClosureOptions):
    """How to close a graph, and how much of it to show."""

    rules: list[Annotated[str, Field(max_length=64)]] = Field(default_factory=list, max_length=100)
    candidates: bool = False
    new: bool = False
    limit: int = Field(default=100, ge=1, le=1000)

    @property
    def options(self) -> ClosureOptions:
        """How the closure is taken."""
        return ClosureOptions(depth=self.depth, measure=self.measure, confidence=self.confidence)


class MixedChoice(BaseModel):
    """Which chains with implied links to list; steps are facts."""

    surviving: bool = False
    steps: int | None = Field(default=None, ge=1, le=5)
    max_steps: int = Field(default=5, ge=1, le=5)
    limit: int = Field(default=100, ge=1, le=1000)
    cursor: str | None = Field(default=None, max_length=20)


@router.get(
    "/graphs/{graph}/closure", response_model=ClosureOut, summary="Conclude what follows in a graph"
)
def get_closure(graph: GraphId, db: Db, chosen: Annotated[ClosureChoice, Query()]) -> ClosureOut:
    """All that follows by the rules, strongest first, each with a proof; contradictions with both.

    What follows is kept in the graph as IMPLIED until rules or facts change.
    """
    rules = groundings.rules_for(db, graph, ids=chosen.rules or None, candidates=chosen.candidates)
    return views.shown(db, graph, rules, chosen.options, limit=chosen.limit, new_only=chosen.new)


@router.get("/graphs/{graph}/proofs", response_model=ProofPage, summary="Prove one thing")
def get_proofs(
    graph: GraphId,
    db: Db,
    subject: Text,
    relation: Text,
    object: Text,
    depth: Annotated[int, Query(ge=1, le=8)] = 4,
    measure: MeasureQuery = None,
    candidates: bool = False,
) -> ProofPage:
    """Proofs from the goal backwards, to a depth; one for each way to conclude it."""
    rules = groundings.rules_for(db, graph, candidates=candidates)
    options = ClosureOptions(depth=depth, measure=measure or "likelihood")
    return ProofPage(items=backward.prove(db, graph, (subject, relation, object), rules, options))


@router.get(
    "/edits/{edit}/implications",
    response_model=ImplicationsOut,
    summary="List what the rules say an edit should change",
)
def get_implications(edit: EditId, db: Db, measure: MeasureQuery = None) -> ImplicationsOut:
    """Conclusions that lost a premise, and those due now, with their truth before and after.

    What the model was not asked is null: post the edit with `implications`.
    """
    score = record.get_score(db, edit)
    return implications.implications(db, score, measure_of(score, measure))


@router.get(
    "/edits/{edit}/omega",
    response_model=OmegaOut,
    summary="Read whether the old object comes back, by chains, rules or both",
)
def get_omega(edit: EditId, db: Db, measure: MeasureQuery = None) -> OmegaOut:
    """Deep-edited up to n facts: asked of paths, of rules, and of both in one closure."""
    score = record.get_score(db, edit)
    return omega.omega(db, score, measure_of(score, measure))


@router.get(
    "/edits/{edit}/omega/chains",
    response_model=MixedPage,
    summary="List the chains that pass conclusions",
)
def get_mixed_chains(
    edit: EditId, db: Db, chosen: Annotated[MixedChoice, Query()], measure: MeasureQuery = None
) -> MixedPage:
    """Chains over facts and conclusions together, strongest after the edit first.

    Steps count facts: an implied link has as many as its proof, which says rule and premises.
    """
    score = record.get_score(db, edit)
    part = Chosen(
        surviving=chosen.surviving,
        steps=chosen.steps,
        max_steps=chosen.max_steps,
        start=offset_of(chosen.cursor),
        limit=chosen.limit,
    )
    return mixed_chains.mixed(db, score, measure_of(score, measure), chosen=part)
