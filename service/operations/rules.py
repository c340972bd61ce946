"""Operations on the If-Then rules of a data set: find, write, review, ground and apply them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...loaders.rules_yaml import read_rules
from ..base.errors import UsageError
from ..base.formatting import cell, pluralize
from ..base.paging import LIMIT
from ..experiments.derivation import AT_ONCE, DERIVATION, REQUEST, DerivationIn
from ..graphs import datasets
from ..models.edit import Measure
from ..models.options import Option
from ..reports import implied
from ..reports.edit import measure_of
from ..reports.formats import Column, Table, indexed
from ..reports.graph_tables import COUNTS, rules_table
from ..reports.outline import Shown
from ..rules import closure, groundings, implications, mining, omega, review, store
from ..rules.closure import WHOLE
from ..rules.implications import ImplicationsOut
from ..rules.omega import Chosen, MixedPage, OmegaOut
from ..rules.schemas import (
    AgreementOut,
    ClosureOptions,
    ClosureOut,
    GroundingOut,
    Label,
    MiningOptions,
    PartOut,
    ProofOut,
    RuleOut,
    Status,
)
from ..scoring import record
from .operation import Call, Operation

MOST = 1000
"""Conclusions that an answer over REST lists at most."""

Text = Annotated[str, Field(min_length=1, max_length=400)]
Rank = Annotated[
    store.Rank,
    Field(
        description="First: the greatest lower bound of the confidence over distinct conclusions"
        " (lower), or the most groundings whose conclusion is known (support)."
    ),
]


class OfGraph(BaseModel):
    """A graph."""

    model_config = ConfigDict(extra="forbid")

    graph: str = Field(description="Id of a graph: a data set, or one derived from it.")


class OfRule(OfGraph):
    """A rule of a graph's data set."""

    rule: str = Field(description="Id of the rule, or its beginning.")


class ByRules(OfGraph):
    """A graph, and the rules that are used."""

    rules: Annotated[list[Annotated[str, Field(max_length=64)]], Option(("--rule",))] = Field(
        default=[],
        max_length=100,
        description="Only this rule, by its id; several may be given. Default: all kept ones.",
    )
    candidates: bool = Field(default=False, description="Also rules without a review.")
    measure: Measure = Field(default="likelihood", description="Measure of the probabilities.")

    def used(self, call: Call) -> list[store.StoredRule]:
        """Return the rules that are used."""
        return groundings.rules_for(
            call.db, self.graph, ids=self.rules or None, candidates=self.candidates
        )


class RuleChoice(OfGraph):
    """The rules to list."""

    status: Status | None = Field(default=None, description="Only rules with this status.")
    annotator: Text | None = Field(
        default=None, description="Only candidates that this annotator has not labelled yet."
    )
    rank: Rank = store.RANK


class MineIn(MiningOptions, OfGraph):
    """Options of rule mining, and the order of the answer."""

    rank: Rank = store.RANK
    dry_run: bool = Field(default=False, description="Store nothing.")


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


class NewRelations(OfGraph):
    """A graph, and the relations that conclusions may have."""

    new_relations: bool = Field(
        default=False, description="Allow conclusions with relations that no fact has."
    )


class RulesIn(NewRelations):
    """Rules to add; their status is kept, without a review."""

    rules: list[WrittenRule] = Field(min_length=1, max_length=500, description="The rules to add.")


class RulesFile(NewRelations):
    """A file of rules to add."""

    file: Path = Field(
        description="YAML with `rules:`, each with `if:` (one or two lines such as `person born in"
        " city`) and `then:`; knowledge sets in DepEdit's JSONL, whose rules are taken; or the name"
        " of rules that ship with ThinkEval."
    )


class LabelIn(OfRule):
    """An annotator's label for the step from a rule's premises to its conclusion."""

    label: Label = Field(description="; ".join(f"{k}: {v}" for k, v in review.LABELS.items()))
    annotator: str = Field(min_length=1, max_length=100, description="Name of the annotator.")


class GroundIn(ByRules):
    """The groundings to list."""

    show: groundings.Show = Field(
        default="all", description="known: the graph has the conclusion; predicted: it lacks it."
    )
    subject: Text | None = Field(default=None, description="Only with a fact of this subject …")
    relation: Text | None = Field(default=None, description="… and of this relation.")
    limit: int = Field(default=1000, ge=1, le=100_000, description="Number of groundings at most.")

    @model_validator(mode="after")
    def _one_fact(self) -> GroundIn:
        if (self.subject is None) != (self.relation is None):
            raise ValueError("subject and relation name one fact together: give both, or neither")
        return self


class ConcludeIn(ByRules):
    """Options of a closure, and how much of it to list."""

    depth: int | None = Field(
        default=None, ge=1, le=1000, description="Premises above each other at most; null: all."
    )
    confidence: bool = Field(
        default=True, description="A rule's confidence weakens its conclusions."
    )
    new: bool = Field(default=False, description="List only what no fact of the graph says.")
    limit: int = Field(
        default=10,
        ge=0,
        le=MOST,
        description=f"Conclusions to list; 0: all, over REST {MOST:,} at most.",
    )


class ProveIn(ByRules):
    """A triple to prove."""

    subject: Text = Field(description="Subject of the triple.")
    relation: Text = Field(description="Its relation.")
    object: Text = Field(description="Its object.")
    depth: int = Field(default=4, ge=1, le=8, description="Premises above each other at most.")


class ImpliedIn(Chosen):
    """An edit, and the chains over conclusions to list; `steps` counts facts."""

    edit: str = Field(description="Any id that the edit has had.")
    measure: Measure | None = Field(
        default=None, description="Default: likelihood, where it was measured."
    )
    limit: int | None = Field(default=20, ge=1, le=1000, description=LIMIT)


class RuleDetail(RuleOut):
    """A rule with a few groundings."""

    examples: list[GroundingOut] = Field(description="A few groundings.")


class MinedOut(BaseModel):
    """Mined rules."""

    items: list[RuleOut] = Field(description="The rules, in the order of `rank`.")
    total: int = Field(description="Number of rules with enough support.")
    created: int = Field(description="Number of new ones.")


class VocabularyOut(BaseModel):
    """The relations of a graph, and the kinds of its entities."""

    relations: dict[str, int] = Field(description="Number of facts by relation.")
    kinds: dict[str, int] = Field(description="Number of entities by kind.")
    untyped: int = Field(description="Number of entities without a kind.")


class DeletedOut(BaseModel):
    """A deletion."""

    graph: str = Field(description="Id of the graph.")
    deleted: int = Field(description="Number of rules.")


class Groundings(BaseModel):
    """Groundings of rules."""

    rules: int = Field(description="Number of rules.")
    items: list[GroundingOut] = Field(description="The groundings, in order.")
    more: bool = Field(description="True if the limit left some out.")


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


def _counted(call: Call, graph: str, found: list[store.StoredRule]) -> list[RuleOut]:
    return [RuleOut.of(rule) for rule in mining.counted(call.db, graph, found)]


def _list(call: Call, asked: RuleChoice) -> list[RuleOut]:
    dataset = store.dataset_of(call.db, asked.graph)
    if asked.annotator is None:
        wanted = None if asked.status is None else (asked.status,)
        found = store.rules_of(call.db, dataset, status=wanted)
    else:
        waiting = review.waiting(call.db, dataset, asked.annotator)
        found = [rule for rule in waiting if asked.status in (None, rule.status)]
    ranked = store.ranked(mining.counted(call.db, asked.graph, found), asked.rank)
    return [RuleOut.of(rule) for rule in ranked]


def _show_rules(found: list[RuleOut], asked: OfGraph) -> Iterator[Shown]:
    note = pluralize(len(found), "rule") if found else (
        f"none: `thinkeval graph rules mine {asked.graph}`, or `graph rules add`"
    )  # fmt: skip
    yield rules_table(f"Rules of {asked.graph}", found, note)


def _show_added(found: list[RuleOut], asked: OfGraph) -> Iterator[Shown]:
    yield rules_table(f"Added to {asked.graph}", found, pluralize(len(found), "rule"))


def _mine(call: Call, asked: MineIn) -> BaseModel:
    options = asked.model_dump(exclude={"graph", "rank", "dry_run"})
    dataset = datasets.get_or_import(call.db, asked.graph)
    if call.submit and dataset.n_facts > AT_ONCE:
        if asked.dry_run:
            raise UsageError(
                f"{asked.graph!r} has more than {AT_ONCE:,} facts: a worker mines it, and stores.",
                remedy="`thinkeval graph rules mine --dry-run` mines it without.",
            )
        return call.submit(DERIVATION, DerivationIn(graph=asked.graph, force=True, **options))
    mined = mining.mine(
        call.db, asked.graph, store=not asked.dry_run, progress=call.progress, **options
    )
    ranked = store.ranked(mining.mined_rules(call.db, mined), asked.rank)
    items = [RuleOut.of(rule) for rule in ranked]
    return MinedOut(items=items, total=mined.total, created=mined.created)


def _show_mined(found: MinedOut, asked: MineIn) -> Iterator[Shown]:
    note = f"{pluralize(len(found.items), 'rule')} with support ≥ {asked.min_support}" + (
        f" and confidence ≥ {asked.min_confidence:g}" if asked.min_confidence else ""
    )
    left_out = found.total - len(found.items)
    note += f"; {left_out} more left out by the limits" if left_out else ""
    note += "; nothing stored (--dry-run)" if asked.dry_run else f"; {found.created} of them new"
    yield rules_table(f"Rules mined from {asked.graph}", found.items, note)


def _add(call: Call, asked: RulesIn) -> list[RuleOut]:
    rules = [each.model_dump(by_alias=True, exclude_defaults=True) for each in asked.rules]
    content: Any = {"rules": rules}
    read = read_rules(content, Path("request"))
    added, _ = mining.add(call.db, asked.graph, read, new_relations=asked.new_relations)
    return _counted(call, asked.graph, added)


def _add_file(call: Call, asked: RulesFile) -> list[RuleOut]:
    datasets.get_or_import(call.db, asked.graph)
    added, _ = mining.add_file(call.db, asked.graph, asked.file, new_relations=asked.new_relations)
    return _counted(call, asked.graph, added)


def _get(call: Call, asked: OfRule) -> RuleDetail:
    found = store.rule_of(call.db, store.dataset_of(call.db, asked.graph), asked.rule)
    (out,) = _counted(call, asked.graph, [found])
    grounded = groundings.instantiate(call.db, asked.graph, [found], limit=5)
    examples = [GroundingOut.of(row, found) for row in grounded.groundings]
    return RuleDetail(**dict(out), examples=examples)


def _show_rule(found: RuleDetail, asked: OfRule) -> Iterator[Shown]:
    names = [f"premise {n}" for n, _ in enumerate(found.premises, 1)] + ["conclusion"]
    values = [
        *((name, getattr(found, name)) for name in ("id", "status", "source", "shape")),
        *((f"kind of {variable}", kind) for variable, kind in found.kinds.items()),
        *((column.header, column.get(found)) for column in COUNTS),
        *(
            (f"label by {who}", f"{label}: {review.LABELS[label]}")
            for who, label in found.labels.items()
        ),
        *(
            (f"wording of {name}", text)
            for name, atom in zip(names, (*found.premises, found.conclusion), strict=True)
            for text in atom.templates
        ),
    ]
    yield Table("values", found.text, indexed("what", "value"), [(n, cell(v)) for n, v in values])
    yield Table("examples", "For example", GROUNDINGS, found.examples)


def _delete(call: Call, asked: OfRule) -> DeletedOut:
    dataset = store.dataset_of(call.db, asked.graph)
    ids = None if asked.rule == ALL else [asked.rule]
    return DeletedOut(graph=dataset, deleted=store.delete(call.db, dataset, ids))


def _show_deleted(found: DeletedOut, asked: OfRule) -> Iterator[Shown]:
    yield f"Deleted {pluralize(found.deleted, 'rule')} of {found.graph}."


def _label(call: Call, asked: LabelIn) -> RuleOut:
    dataset = store.dataset_of(call.db, asked.graph)
    labelled = review.label(call.db, dataset, asked.rule, asked.annotator, asked.label)
    return _counted(call, asked.graph, [labelled])[0]


def _show_labelled(found: RuleOut, asked: LabelIn) -> Iterator[Shown]:
    yield f"{found.id} is {asked.label} by {asked.annotator}: {found.status}. {found.text}"


def _agreement(call: Call, asked: OfGraph) -> AgreementOut:
    dataset = store.dataset_of(call.db, asked.graph)
    return review.agreement(store.rules_of(call.db, dataset, status=None))


def _show_agreement(found: AgreementOut, asked: OfGraph) -> Iterator[Shown]:
    yield (
        f"Agreement over {pluralize(found.n, 'rule')} with two labels or more: a to e: raw"
        f" {cell(found.raw)}, AC1 {cell(found.ac1)}; plausible or not: raw"
        f" {cell(found.raw_plausible)}, AC1 {cell(found.ac1_plausible)}."
    )


def _vocabulary(call: Call, asked: OfGraph) -> VocabularyOut:
    datasets.get_or_import(call.db, asked.graph)
    found = store.vocabulary(call.db, asked.graph)
    return VocabularyOut(
        relations=dict(found.relations), kinds=dict(found.kinds), untyped=found.untyped
    )


def _show_vocabulary(found: VocabularyOut, asked: OfGraph) -> Iterator[Shown]:
    title = f"Relations of {asked.graph}"
    yield Table("relations", title, indexed("relation", "facts"), sorted(found.relations.items()))
    note = f"entities without a kind: {found.untyped:,}"
    kinds = sorted(found.kinds.items())
    yield Table("kinds", f"Kinds in {asked.graph}", indexed("kind", "entities"), kinds, note)


def _ground(call: Call, asked: GroundIn) -> Groundings:
    rules = asked.used(call)
    if asked.subject is not None and asked.relation is not None:
        found = groundings.touching(
            call.db, asked.graph, rules, asked.subject, asked.relation, measure=asked.measure,
            show=asked.show, limit=asked.limit,
        )  # fmt: skip
    else:
        found = groundings.instantiate(
            call.db, asked.graph, rules, measure=asked.measure, show=asked.show, limit=asked.limit
        )
    items = [GroundingOut.of(row, found.rules[row.rule]) for row in found.groundings]
    return Groundings(rules=len(found.rules), items=items, more=found.cut)


def _part(part: PartOut) -> str:
    text = f"{part.subject} {part.relation} {part.object}"
    if part.pre is None and part.post is None:
        return text
    return f"{text} ({cell(part.pre)}{'' if part.post is None else f' → {cell(part.post)}'})"


GROUNDINGS: list[Column[GroundingOut]] = [
    Column("rule", lambda g: g.rule, whole=True, optional=1),
    Column("premise 1", lambda g: _part(g.premises[0])),
    Column("premise 2", lambda g: " ".join(_part(part) for part in g.premises[1:])),
    Column("conclusion", lambda g: _part(g.conclusion)),
    Column("known", lambda g: g.known),
]


def _show_groundings(found: Groundings, asked: GroundIn) -> Iterator[Shown]:
    note = f"{pluralize(len(found.items), 'grounding')} of {pluralize(found.rules, 'rule')}" + (
        "; more are left out by --limit" if found.more else ""
    )
    yield Table("groundings", f"Groundings in {asked.graph}", GROUNDINGS, found.items, note)


def _bound(call: Call) -> closure.Bound:
    return WHOLE if call.submit is None else REQUEST


def _conclude(call: Call, asked: ConcludeIn) -> ClosureOut:
    options = ClosureOptions(depth=asked.depth, measure=asked.measure, confidence=asked.confidence)
    return closure.shown(
        call.db, asked.graph, asked.used(call), options, new_only=asked.new,
        limit=asked.limit or (MOST if call.submit else 0), bound=_bound(call),
        progress=call.progress,
    )  # fmt: skip


def _show_closure(found: ClosureOut, asked: ConcludeIn) -> Iterator[Shown]:
    yield (
        f"{pluralize(found.conclusions, 'conclusion')} in {pluralize(found.rounds, 'round')} by"
        f" {pluralize(found.rules, 'rule')} ({pluralize(found.groundings, 'grounding')}); of them"
        f" {found.stated} stated as facts too"
    )
    for each in found.items:
        if each.proof is not None:
            yield implied.proof(each.proof, "also a fact" if each.stated else "new")
    if len(found.items) < found.conclusions:
        yield f"showing {len(found.items)} of {found.conclusions}"
    if found.contradictions:
        n = pluralize(len(found.contradictions), "contradiction")
        yield f"\n{n} (the relation has one object only)"
    for pair in found.contradictions[: max(5, len(found.items))]:
        yield implied.proof(pair.conclusion, "against the next")
        yield implied.proof(pair.against)


def _prove(call: Call, asked: ProveIn) -> list[ProofOut]:
    options = ClosureOptions(depth=asked.depth, measure=asked.measure)
    goal = (asked.subject, asked.relation, asked.object)
    return closure.prove(
        call.db, asked.graph, goal, asked.used(call), options, bound=_bound(call),
        progress=call.progress,
    )  # fmt: skip


def _show_proofs(found: list[ProofOut], asked: ProveIn) -> Iterator[Shown]:
    if not found:
        yield f"Nothing proves it: {asked.subject} {asked.relation} {asked.object}"
    yield from map(implied.proof, found)


def _implied(call: Call, asked: ImpliedIn) -> ImpliedOut:
    score = record.get_score(call.db, asked.edit)
    by, rules = measure_of(score, asked.measure), store.kept_rules(call.db, score.dataset)
    return ImpliedOut(
        implications=implications.implications(call.db, score, by, rules),
        omega=omega.omega(call.db, score, by, rules),
        chains=omega.mixed(call.db, score, by, rules, asked),
    )


def _show_implied(found: ImpliedOut, asked: ImpliedIn) -> Iterator[Shown]:
    yield from implied.omega(found.omega, "the old object")
    yield from implied.implications(found.implications)
    yield from implied.chains(found.chains)


ALL = "all"
"""Names all rules where one is deleted."""
AT, TAG = "/v1/graphs/{graph}/rules", "rules"

OPERATIONS = (
    Operation(
        "mine_rules", "graph rules mine", f"POST {AT}/mine", MineIn, MinedOut, _mine, _show_mined,
        "Find rules in a graph: three facts that form a triangle suggest a rule for each of them",
        "They are stored as candidates; labels decide which are kept. Mining again renews the"
        " counts and changes no decision. Support: groundings whose conclusion the graph has;"
        " body: groundings of the premises; confidence: their ratio. The other statistics count a"
        " conclusion once: known of conclusions; lower: lower end of the 95 % Wilson interval of"
        " their ratio; PCA: the ratio over conclusions whose subject has any fact of the relation;"
        " coverage: fraction of the relation's facts that the rule gives. Over REST a worker mines"
        " a graph of more than 200,000 facts, as by `POST /v1/derivations` with the same options.",
        TAG, job=DERIVATION.shown,
    ),
    Operation(
        "list_rules", "graph rules list", f"GET {AT}", RuleChoice, RuleOut, _list, _show_rules,
        "List the rules of a graph's data set",
        "Each with its counts and statistics in the graph, status and labels.", TAG, many=True,
    ),
    Operation(
        "add_rules", "", f"POST {AT}", RulesIn, RuleOut, _add, _show_added,
        "Add hand-written rules",
        "Checks them against the data set's relations and kinds, counts their support, keeps them.",
        TAG, many=True, status=201,
    ),
    Operation(
        "add_rules_of_file", "graph rules add", "", RulesFile, RuleOut, _add_file, _show_added,
        "Add hand-written rules; they are kept at once, and counted in the data set",
        "\b\nrules:\n  - if:\n      - person born in city\n      - city located in country\n"
        "    then: person citizen of country\n"
        "    kinds: {person: person}        # optional, as are words and templates\n"
        "  - if: person married to other    # one premise: sub-relation, inverse, symmetric\n"
        "    then: other married to person\n\n"
        "The first and last word of a line are variables, the words between them are the relation.",
        arguments=("graph", "file"), many=True,
    ),
    Operation(
        "get_agreement", "graph rules agreement", f"GET {AT}/agreement", OfGraph, AgreementOut,
        _agreement, _show_agreement, "Get the annotators' agreement",
        "Raw agreement and Gwet's AC1 over the rules with at least two labels; null without any.",
        TAG,
    ),
    Operation(
        "get_rule", "graph rules show", f"GET {AT}/{{rule}}", OfRule, RuleDetail, _get, _show_rule,
        "Get a rule", "With its words, kinds, counts, labels and a few groundings.", TAG,
    ),
    Operation(
        "delete_rule", "graph rules delete", f"DELETE {AT}/{{rule}}", OfRule, DeletedOut, _delete,
        _show_deleted, "Delete a rule",
        "With its labels; `all` deletes every rule of the data set.", TAG, status=204,
    ),
    Operation(
        "label_rule", "graph rules label", f"POST {AT}/{{rule}}/labels", LabelIn, RuleOut, _label,
        _show_labelled, "Label a rule by plausibility; two annotators decide",
        "\b\nGiven the premises, the conclusion …\n"
        + "".join(f"  {key}  {meaning}\n" for key, meaning in review.LABELS.items())
        + "\nIt replaces the annotator's earlier label. A rule is kept if both gave a or b, and"
        " rejected otherwise. Judge the step from the premises to the conclusion, not whether"
        " either is true. `graph rules list GRAPH --annotator NAME` lists the rules that wait;"
        " page `/rules` of `thinkeval serve` has them as a queue, with examples.",
        TAG, arguments=("graph", "rule", "label"),
    ),
    Operation(
        "list_groundings", "graph rules instantiate", "GET /v1/graphs/{graph}/groundings",
        GroundIn, Groundings, _ground, _show_groundings, "List the groundings of a graph's rules",
        "Premises and conclusion with their probabilities before and after, where measured. A"
        " conclusion that the graph lacks is predicted. Subject and relation name a fact: the"
        " groundings that an edit of it touches.", TAG,
    ),
    Operation(
        "get_vocabulary", "graph rules relations", "GET /v1/graphs/{graph}/vocabulary", OfGraph,
        VocabularyOut, _vocabulary, _show_vocabulary,
        "List a graph's relations and the kinds of its entities", "Rules may speak of these.", TAG,
    ),
    Operation(
        "get_closure", "graph rules closure", "GET /v1/graphs/{graph}/closure", ConcludeIn,
        ClosureOut, _conclude, _show_closure,
        "Conclude all that follows in a graph by its rules, and show it with proofs",
        "The strongest first; contradictions with both sides. Each conclusion is stored in the"
        " graph as IMPLIED, with the strength of its best proof: the product of the facts'"
        " probabilities and the rules' confidences, before and after the edit. They stay until"
        " rules or facts change, or the closure by other options is asked for: a graph has one at a"
        " time. A proof never rests on its own conclusion, so rules may go round in circles. Over"
        " REST a closure of more than 20,000 groundings, or conclusions of more than 200,000 facts,"
        " is read only: `POST /v1/derivations` derives it.", TAG,
    ),
    Operation(
        "get_proofs", "graph rules prove", "GET /v1/graphs/{graph}/proofs", ProveIn, ProofOut,
        _prove, _show_proofs, "Prove one triple",
        "One proof for each rule and premises by which the triple is concluded, the strongest"
        " before the edit first. The closure that they are read off is stored in the graph.",
        TAG, arguments=("graph", "subject", "relation", "object"), many=True,
    ),
    Operation(
        "get_implications", "results implications", "GET /v1/edits/{edit}/implications",
        ImpliedIn, ImpliedOut, _implied, _show_implied, "Get what the rules conclude about an edit",
        "Implications before and after, recovery of the old object, and chains over conclusions."
        " The filters and pages are those of `chains`.", TAG,
    ),
)  # fmt: skip
"""In the order in which routes are matched: `agreement` before `{rule}`."""
