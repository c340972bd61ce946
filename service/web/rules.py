"""Rule routes: mine, write, review and ground the If-Then rules of a data set (/v1/graphs/G/rules).

Conclusions of the rules: closure of a graph, proofs, implications of an edit, and Omega.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi import Path as PathParam
from pydantic import BaseModel, ConfigDict, Field

from ...loaders.rules_yaml import read_rules
from ..base.paging import LIMIT, offset_page, read_offset
from ..experiments.derivation import AT_ONCE, DERIVATION, REQUEST, DerivationIn
from ..graphs import datasets
from ..reports.edit import measure_of
from ..rules import closure, groundings, implications, mining, omega, review, store
from ..rules.implications import ImplicationsOut
from ..rules.omega import Chosen, MixedPage, OmegaOut
from ..rules.schemas import (
    AgreementOut,
    ClosureOptions,
    ClosureOut,
    GroundingOut,
    Label,
    MiningOptions,
    ProofOut,
    RuleOut,
    Status,
)
from ..scoring import record
from .edits import MeasureQuery
from .graphs import GraphId
from .parameters import Candidates, Cursor, EditId, InMeasure, Limit
from .problems import DESCRIBED, QUEUE_FULL
from .state import AppState, Db

if TYPE_CHECKING:
    from ...cypher.run import Database


router = APIRouter(prefix="/v1/graphs/{graph}/rules", tags=["rules"], responses=DESCRIBED)

RuleId = Annotated[
    str, PathParam(min_length=1, max_length=64, description="Id of a rule, or its beginning.")
]
Text = Annotated[str, Field(min_length=1, max_length=400)]


RANKED = (
    "First: the greatest lower bound of the confidence over distinct conclusions (lower), or the"
    " most groundings whose conclusion is known (support)."
)


class Rules(BaseModel):
    """Rules with their statistics; `total` includes those on other pages."""

    items: list[RuleOut] = Field(description="The items of this page, in order.")
    total: int = Field(description="Number of rules found, on all pages.")


class RulePage(Rules):
    """One page of rules, in the order of `rank`."""

    next: str | None = Field(default=None, description="`cursor` of the next page, or null.")


class WrittenRule(BaseModel):
    """A hand-written rule: lines of variable, relation, variable."""

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
        json_schema_extra={
            "examples": [
                {
                    "if": ["person was sorted into house", "house is a house at school"],
                    "then": "person studied at school",
                    "kinds": {"person": "person"},
                }
            ]
        },
    )

    if_: list[Text] = Field(
        alias="if",
        min_length=1,
        max_length=2,
        description="One or two premises: variable, relation, variable.",
    )
    then: Text = Field(description="The conclusion: variable, relation, variable.")
    kinds: dict[str, Text] = Field(
        default={},
        max_length=3,
        description="Kind of entity that a variable is restricted to, by variable.",
    )
    words: dict[str, Text] = Field(
        default={}, max_length=3, description="Words for a variable in sentences, by variable."
    )
    templates: dict[str, list[Text]] = Field(
        default={}, max_length=3, description="Sentences for an atom, by relation."
    )


class RulesIn(BaseModel):
    """Rules to add; their status is kept, without a review."""

    model_config = ConfigDict(extra="forbid")

    rules: list[WrittenRule] = Field(min_length=1, max_length=500, description="The rules to add.")
    new_relations: bool = Field(
        default=False, description="Allow conclusions with relations that no fact has."
    )


class MineIn(MiningOptions):
    """Options of rule mining, and the order of the answer."""

    rank: store.Rank = Field(default=store.RANK, description=RANKED)


class MinedOut(Rules):
    """Mined rules; `total` is the number with enough support, `created` the number of new ones."""

    created: int = Field(description="Number of new ones.")


class LabelIn(BaseModel):
    """An annotator's label for the step from a rule's premises to its conclusion."""

    model_config = ConfigDict(extra="forbid")

    annotator: str = Field(min_length=1, max_length=100, description="Name of the annotator.")
    label: Label = Field(description="; ".join(f"{k}: {v}" for k, v in review.LABELS.items()))


class Groundings(BaseModel):
    """Groundings of a rule; `more`: the limit left some out."""

    rule: RuleOut = Field(description="The rule.")
    items: list[GroundingOut] = Field(description="The items of this page, in order.")
    more: bool = Field(description="True if the limit left some out.")


@router.get("", response_model=RulePage, summary="List the rules of a graph's data set")
def list_rules(
    graph: GraphId,
    db: Db,
    status: Annotated[Status | None, Query(description="Only rules with this status.")] = None,
    annotator: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=100,
            description="Only candidates that this annotator has not labelled yet.",
        ),
    ] = None,
    rank: Annotated[store.Rank, Query(description=RANKED)] = store.RANK,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> RulePage:
    """Each with its counts and statistics in the graph, status and labels, one page at a time."""
    dataset = store.dataset_of(db, graph)
    if annotator is not None:
        found = review.waiting(db, dataset, annotator)
        found = [rule for rule in found if status in (None, rule.status)]
    else:
        found = store.rules_of(db, dataset, status=None if status is None else (status,))
    ranked = store.ranked(mining.counted(db, graph, found), rank)
    shown, following = offset_page(ranked, read_offset(cursor), limit)
    items = [RuleOut.of(rule) for rule in shown]
    return RulePage(items=items, next=following, total=len(ranked))


@router.post("", response_model=Rules, status_code=201, summary="Add hand-written rules")
def add_rules(graph: GraphId, body: RulesIn, db: Db) -> Rules:
    """Checks them against the data set's relations and kinds, counts their support, keeps them."""
    content: Any = {"rules": [_plain(each) for each in body.rules]}
    read = read_rules(content, Path("request"))
    added, _ = mining.add(db, graph, read, new_relations=body.new_relations)
    return Rules(items=_shown(db, graph, added), total=len(added))


def _shown(db: Database, graph: str, rules: Sequence[store.StoredRule]) -> list[RuleOut]:
    """The rules with their statistics in the graph, in the same order."""
    return [RuleOut.of(rule) for rule in mining.counted(db, graph, rules)]


def _plain(rule: WrittenRule) -> dict[str, Any]:
    return rule.model_dump(by_alias=True, exclude_defaults=True)


@router.post(
    "/mine",
    response_model=MinedOut,
    summary="Find rules in a graph",
    responses={
        202: {
            "description": "The graph is large: a worker mines it, and this is its job.",
            "model": DERIVATION.shown,
        },
        429: QUEUE_FULL,
    },
)
def mine_rules(graph: GraphId, db: Db, here: AppState, body: MineIn | None = None) -> Any:
    """Each triangle of facts suggests three rules, which are stored as candidates.

    Mining again updates the counts and changes no decision. A graph of more than 200,000 facts is
    mined by a worker, as by `POST /v1/derivations` with the same options.
    """
    asked = body or MineIn()
    options = asked.model_dump(exclude={"rank"})
    if datasets.get_or_import(db, graph).n_facts > AT_ONCE:
        posted = DerivationIn(graph=graph, force=True, **options)
        accepted = DERIVATION.store.submit(db, here.settings, posted)
        here.dispatcher.wake()
        job = DERIVATION.store.get(db, accepted.edit)
        where = {"Location": job.links["self"]}
        return Response(job.model_dump_json(), 202, where, "application/json")
    mined = mining.mine(db, graph, **options)
    ranked = store.ranked(mining.mined_rules(db, mined), asked.rank)
    items = [RuleOut.of(rule) for rule in ranked]
    return MinedOut(items=items, total=mined.total, created=mined.created)


@router.get("/agreement", response_model=AgreementOut, summary="Get the annotators' agreement")
def get_agreement(graph: GraphId, db: Db) -> AgreementOut:
    """Raw agreement and Gwet's AC1 over the rules with at least two labels; null without any."""
    return review.agreement(store.rules_of(db, store.dataset_of(db, graph), status=None))


@router.get("/{rule}", response_model=RuleOut, summary="Get a rule")
def get_rule(graph: GraphId, rule: RuleId, db: Db) -> RuleOut:
    """One rule of the graph's data set."""
    found = store.rule_of(db, store.dataset_of(db, graph), rule)
    return _shown(db, graph, [found])[0]


@router.delete("/{rule}", status_code=204, summary="Delete a rule")
def delete_rule(graph: GraphId, rule: RuleId, db: Db) -> Response:
    """Delete a rule with its labels."""
    store.delete(db, store.dataset_of(db, graph), [rule])
    return Response(status_code=204)


@router.post("/{rule}/labels", response_model=RuleOut, summary="Label a rule by plausibility")
def label_rule(graph: GraphId, rule: RuleId, body: LabelIn, db: Db) -> RuleOut:
    """Replaces the annotator's earlier label; returns the updated rule.

    Two labels decide its status: kept if all are a or b, else rejected.
    """
    dataset = store.dataset_of(db, graph)
    return _shown(db, graph, [review.label(db, dataset, rule, body.annotator, body.label)])[0]


@router.get("/{rule}/groundings", response_model=Groundings, summary="Ground a rule in a graph")
def get_groundings(
    graph: GraphId,
    rule: RuleId,
    db: Db,
    show: Annotated[
        groundings.Show,
        Query(description="known: the graph has the conclusion; predicted: not."),
    ] = "all",
    measure: InMeasure = "likelihood",
    limit: Annotated[int, Query(ge=1, le=100_000, description=LIMIT)] = 1000,
) -> Groundings:
    """Premises and conclusion with their probabilities before and after, where measured."""
    found = store.rule_of(db, store.dataset_of(db, graph), rule)
    grounded = groundings.instantiate(db, graph, [found], measure=measure, show=show, limit=limit)
    items = [GroundingOut.of(row, found) for row in grounded.groundings]
    return Groundings(rule=_shown(db, graph, [found])[0], items=items, more=grounded.cut)


closure_router = APIRouter(prefix="/v1", tags=["rules"], responses=DESCRIBED)

QueryText = Annotated[
    str, Query(min_length=1, max_length=400, description="Part of the fact, by name.")
]


class ProofPage(BaseModel):
    """Proofs of one triple, strongest before the edit first; empty if there is none."""

    items: list[ProofOut] = Field(description="The items of this page, in order.")


class ClosureChoice(ClosureOptions):
    """Options of a closure, and how much of it to list."""

    rules: list[Annotated[str, Field(max_length=64)]] = Field(
        default_factory=list,
        max_length=100,
        description="Ids of the rules to use; default: all kept rules.",
    )
    candidates: Candidates = False
    new: bool = Field(
        default=False, description="List only conclusions that the graph does not have as facts."
    )
    limit: int = Field(default=100, ge=1, le=1000, description="Number of conclusions to list.")

    @property
    def options(self) -> ClosureOptions:
        """The options of the closure alone."""
        return ClosureOptions(depth=self.depth, measure=self.measure, confidence=self.confidence)


class ImpliedOut(BaseModel):
    """Conclusions of the data set's rules about an edit, all by one measure."""

    implications: ImplicationsOut = Field(
        description="Conclusions that lost a premise, and newly entailed ones; null where the"
        " model was not probed: submit the edit with `implications`."
    )
    omega: OmegaOut = Field(
        description="Recovery of the old object: by chains, by rules, by both in one closure."
        " `deep` is the greatest number of facts up to which none of the kind survives."
    )
    chains: MixedPage = Field(
        description="Chains over facts and conclusions, strongest after the edit first. `steps`"
        " counts facts: a conclusion has as many as its proof, which states rule and premises."
    )


class MixedChoice(Chosen):
    """Filter and page of the chains over conclusions; `steps` counts facts."""

    limit: int | None = Field(default=100, ge=1, le=1000, description=LIMIT)


@closure_router.get(
    "/graphs/{graph}/closure",
    response_model=ClosureOut,
    summary="Get the closure of a graph under its rules",
)
def get_closure(graph: GraphId, db: Db, chosen: Annotated[ClosureChoice, Query()]) -> ClosureOut:
    """All conclusions, strongest first, each with a proof; contradictions with both sides.

    Conclusions are stored in the graph as IMPLIED until rules or facts change, or the closure by
    other options is asked for: a graph has one at a time. More than 20,000 groundings, or
    conclusions of more than 200,000 facts, are read only: `POST /v1/derivations` derives them.
    """
    rules = groundings.rules_for(db, graph, ids=chosen.rules or None, candidates=chosen.candidates)
    return closure.shown(
        db, graph, rules, chosen.options, limit=chosen.limit, new_only=chosen.new, bound=REQUEST
    )


@closure_router.get("/graphs/{graph}/proofs", response_model=ProofPage, summary="Prove one triple")
def get_proofs(
    graph: GraphId,
    db: Db,
    subject: QueryText,
    relation: QueryText,
    object: QueryText,
    depth: Annotated[int, Query(ge=1, le=8, description="Maximum height of a proof.")] = 4,
    measure: MeasureQuery = None,
    candidates: Candidates = False,
) -> ProofPage:
    """Proofs up to a depth, one for each rule and premises by which the triple is concluded.

    The closure that they are read off is stored in the graph, as by `GET /graphs/{graph}/closure`.
    """
    rules = groundings.rules_for(db, graph, candidates=candidates)
    options = ClosureOptions(depth=depth, measure=measure or "likelihood")
    goal = (subject, relation, object)
    return ProofPage(items=closure.prove(db, graph, goal, rules, options, bound=REQUEST))


@closure_router.get(
    "/edits/{edit}/implications",
    response_model=ImpliedOut,
    summary="Get what the rules conclude about an edit",
)
def get_implications(
    edit: EditId, db: Db, chosen: Annotated[MixedChoice, Query()], measure: MeasureQuery = None
) -> ImpliedOut:
    """Implications before and after, recovery of the old object, and chains over conclusions.

    The filters and pages are those of `chains`.
    """
    score = record.get_score(db, edit)
    by, rules = measure_of(score, measure), store.kept_rules(db, score.dataset)
    return ImpliedOut(
        implications=implications.implications(db, score, by, rules),
        omega=omega.omega(db, score, by, rules),
        chains=omega.mixed(db, score, by, rules, chosen),
    )
