"""`thinkeval rules closure`, `instantiate`, `relations`: apply rules to a graph."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..formatting import cell, pluralize
from ..reports.formats import Column, Table, indexed
from ..scoring.runtime import Runtime
from ..settings import Settings
from .options import (
    CandidatesFlag,
    JsonFlag,
    MeasureName,
    MeasureOption,
    OutputOption,
    RulesOption,
)
from .output import console, emit_json, emit_table, require_json
from .progress import ProgressBars

if TYPE_CHECKING:
    from rich.tree import Tree

    from ..rules.groundings import Instances
    from ..rules.schemas import ClosureOut, GroundingOut, PartOut, ProofOut


def closure(
    graph: Annotated[
        str, typer.Argument(help="Id of a graph: a data set, a model graph or an edit graph.")
    ],
    depth: Annotated[
        int | None,
        typer.Option(min=1, help="Premises above each other at most; without it to the end."),
    ] = None,
    proof: Annotated[
        tuple[str, str, str] | None,
        typer.Option(metavar="SUBJECT RELATION OBJECT", help="Show the proofs of this one."),
    ] = None,
    rule: RulesOption = None,
    candidates: CandidatesFlag = False,
    confidence: Annotated[
        bool,
        typer.Option(help="Let a rule's confidence weaken its conclusions."),
    ] = True,
    new: Annotated[
        bool, typer.Option("--new", help="Only what no fact of the graph says.")
    ] = False,
    limit: Annotated[int, typer.Option(min=0, help="Show at most so many; 0 shows all.")] = 10,
    measure: MeasureOption = MeasureName.likelihood,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Conclude all that follows in a graph by its rules, and show it with proofs.

    What follows is stored in the graph as [bold]IMPLIED[/bold], each with the strength of its best
    proof: the product of the facts' probabilities and the rules' confidences, before and after the
    edit. A proof never rests on what it proves, so rules may go round in circles.

    [bold]thinkeval rules closure hogwarts --proof "Harry Potter" "studied at" "Hogwarts School of
    Witchcraft and Wizardry"[/bold] shows one proof for each rule and premises by which that is
    concluded, of four premises above each other at most unless --depth says more.
    """
    from ..rules import closure as views
    from ..rules import groundings
    from ..rules.schemas import ClosureOptions

    require_json(output, json)
    options = ClosureOptions(depth=depth, measure=measure.key, confidence=confidence)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        rules = groundings.rules_for(runtime.db, graph, ids=rule, candidates=candidates)
        if proof is not None:
            found = views.prove(runtime.db, graph, proof, rules, options)
            if json:
                emit_json([each.model_dump() for each in found], output)
            else:
                show_proofs(proof, found)
            return
        shown = views.shown(runtime.db, graph, rules, options, limit=limit, new_only=new)
    if json:
        emit_json(shown.model_dump(), output)
    else:
        show_closure(shown)


def show_closure(shown: ClosureOut) -> None:
    """Print conclusions, strongest first, each with a proof; then contradicting ones."""
    out = console()
    out.print(
        f"{pluralize(shown.conclusions, 'conclusion')} in {pluralize(shown.rounds, 'round')} by"
        f" {pluralize(shown.rules, 'rule')}"
        f" ({pluralize(shown.groundings, 'grounding')}); of them {shown.stated} stated as facts"
        " too",
        highlight=False,
    )
    for item in shown.items:
        if item.proof is not None:
            out.print(proof_tree(item.proof, note="also a fact" if item.stated else "new"))
    if len(shown.items) < shown.conclusions:
        out.print(f"showing {len(shown.items)} of {shown.conclusions}", style="dim")
    if shown.contradictions:
        found = pluralize(len(shown.contradictions), "contradiction")
        out.print(f"\n{found} (the relation has one object only)")
        for each in shown.contradictions[: max(5, len(shown.items))]:
            out.print(proof_tree(each.conclusion, note="against the next"))
            out.print(proof_tree(each.against))


def show_proofs(goal: tuple[str, str, str], found: list[ProofOut]) -> None:
    """The proofs of one statement."""
    out = console()
    if not found:
        out.print(f"Nothing proves it: {' '.join(goal)}", highlight=False, markup=False)
    for each in found:
        out.print(proof_tree(each))


def proof_tree(proof: ProofOut, *, note: str = "") -> Tree:
    """A proof as a tree: conclusion, the rule, its premises."""
    from rich.text import Text
    from rich.tree import Tree

    def label(node: ProofOut, note: str = "") -> Text:
        text = Text()
        text.append(f"{node.subject} ", "blue")
        text.append(f"{node.relation} ", "bold" if node.implied else "")
        text.append(node.object, "blue")
        if node.strength_pre is not None:
            after = "" if node.strength_post is None else f" → {cell(node.strength_post)}"
            text.append(f"   {cell(node.strength_pre)}{after}")
        if note:
            text.append(f"   {note}", "dim")
        return text

    def grow(tree: Tree, node: ProofOut) -> None:
        branch = tree
        if node.text:
            branch = tree.add(Text(node.text, "italic dim"))
        for premise in node.premises:
            grow(branch.add(label(premise, "" if premise.implied else "fact")), premise)

    tree = Tree(label(proof, note))
    grow(tree, proof)
    return tree


GraphArgument = Annotated[
    str, typer.Argument(help="Id of a graph: a data set, a model graph or an edit graph.")
]


class ShowName(StrEnum):
    """The groundings that are shown."""

    all = "all"
    known = "known"
    predicted = "predicted"


def instantiate(
    graph: GraphArgument,
    rule: RulesOption = None,
    candidates: CandidatesFlag = False,
    show: Annotated[
        ShowName, typer.Option(help="known: the graph has the conclusion; predicted: it lacks it.")
    ] = ShowName.all,
    subject: Annotated[
        str | None,
        typer.Option(help="Only groundings with a fact of this subject …"),
    ] = None,
    relation: Annotated[str | None, typer.Option(help="… and of this relation.")] = None,
    measure: Annotated[
        MeasureName, typer.Option("--measure", help="The measure that is shown.")
    ] = MeasureName.likelihood,
    limit: Annotated[int, typer.Option(min=1, help="Groundings at most.")] = 1000,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """Show the groundings of a graph's rules: premises and conclusion, with p before → after.

    A conclusion that the graph lacks is predicted. Without --rule these are the kept rules of the
    graph's data set. [bold]--subject … --relation …[/bold] shows what an edit of that fact touches.
    """
    from ..rules import groundings
    from ..rules.schemas import GroundingOut

    require_json(output, json)
    if (subject is None) != (relation is None):
        raise UsageError(
            "--subject and --relation name one fact together.", remedy="Give both, or neither."
        )
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        chosen = groundings.rules_for(runtime.db, graph, ids=rule, candidates=candidates)
        if subject is not None and relation is not None:
            found = groundings.touching(
                runtime.db, graph, chosen, subject, relation, measure=measure.key, show=show.value,
                limit=limit,
            )  # fmt: skip
        else:
            found = groundings.instantiate(
                runtime.db, graph, chosen, measure=measure.key, show=show.value, limit=limit
            )
    if json:
        shown = [GroundingOut.of(g, found.rules[g.rule]).model_dump() for g in found.groundings]
        emit_json(shown, output)
        return
    print_groundings(f"Groundings in {graph}", found)


def relations(graph: GraphArgument, json: JsonFlag = False) -> None:
    """List a graph's relations and the kinds of its entities: what rules may speak of."""
    from ..graphs import datasets
    from ..rules import store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, graph)
        found = store.vocabulary(runtime.db, graph)
    if json:
        emit_json({"relations": found.relations, "kinds": found.kinds, "untyped": found.untyped})
        return
    title = f"Relations of {graph}"
    columns = indexed("relation", "facts")
    emit_table(Table("relations", title, columns, sorted(found.relations.items())))
    kinds = sorted(found.kinds.items())
    untyped = "1 entity has" if found.untyped == 1 else f"{found.untyped:,} entities have"
    columns = indexed("kind", "entities")
    emit_table(Table("kinds", f"Kinds in {graph}", columns, kinds, f"{untyped} no kind"))


def _fact(part: PartOut) -> str:
    text = f"{part.subject} {part.relation} {part.object}"
    if part.pre is None and part.post is None:
        return text
    return f"{text} ({cell(part.pre)}{'' if part.post is None else f' → {cell(part.post)}'})"


GROUNDINGS: list[Column[GroundingOut]] = [
    Column("rule", lambda g: g.rule, whole=True, optional=1),
    Column("premise 1", lambda g: _fact(g.premises[0])),
    Column("premise 2", lambda g: " ".join(_fact(part) for part in g.premises[1:])),
    Column("conclusion", lambda g: _fact(g.conclusion)),
    Column("known", lambda g: g.known),
]


def print_groundings(title: str, found: Instances) -> None:
    """Print groundings as a table, with the number left out."""
    from ..rules.schemas import GroundingOut

    shown = [GroundingOut.of(row, found.rules[row.rule]) for row in found.groundings]
    note = f"{pluralize(len(shown), 'grounding')} of {pluralize(len(found.rules), 'rule')}" + (
        "; more are left out by --limit" if found.cut else ""
    )
    emit_table(Table("groundings", title, GROUNDINGS, shown, note))
