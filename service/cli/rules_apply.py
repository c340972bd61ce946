"""`thinkeval rules closure`: what follows in a graph by its rules, and the proof of one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from thinkeval.service.cli.options import (
    CandidatesFlag,
    JsonFlag,
    MeasureName,
    MeasureOption,
    OutputOption,
    RulesOption,
    cell,
    console,
    emit_json,
    require_json,
    several,
)
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.scoring.runtime import Workbench
from thinkeval.service.settings import Settings

if TYPE_CHECKING:
    from rich.tree import Tree

    from thinkeval.service.rules.schemas import ClosureOut, ProofOut


def closure(
    graph: Annotated[str, typer.Argument(help="Id of a graph: a data set, a model's or an edit.")],
    depth: Annotated[
        int | None,
        typer.Option(min=1, help="Premises above each other at most; without it to the end."),
    ] = None,
    proof: Annotated[
        tuple[str, str, str] | None,
        typer.Option(metavar="SUBJECT RELATION OBJECT", help="Prove this one, from its end."),
    ] = None,
    rule: RulesOption = None,
    candidates: CandidatesFlag = False,
    confidence: Annotated[
        bool,
        typer.Option(help="Whether a rule's confidence weakens what follows by it."),
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
    Witchcraft and Wizardry"[/bold] works the other way: it looks for what would prove that, in four
    steps unless --depth says more.
    """
    from thinkeval.service.rules import backward, groundings, views
    from thinkeval.service.rules.schemas import ClosureOptions

    require_json(output, json)
    options = ClosureOptions(depth=depth, measure=measure.key, confidence=confidence)
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        rules = groundings.rules_for(bench.db, graph, ids=rule, candidates=candidates)
        if proof is not None:
            found = backward.prove(bench.db, graph, proof, rules, options)
            if json:
                emit_json([each.model_dump() for each in found], output)
            else:
                show_proofs(proof, found)
            return
        told = views.shown(bench.db, graph, rules, options, limit=limit, new_only=new)
    if json:
        emit_json(told.model_dump(), output)
    else:
        show_closure(told)


def show_closure(told: ClosureOut) -> None:
    """What follows, strongest first, each with a proof; then what cannot be true together."""
    out = console()
    out.print(
        f"{several(told.conclusions, 'conclusion')} in {several(told.rounds, 'round')} by"
        f" {several(told.rules, 'rule')}"
        f" ({several(told.groundings, 'grounding')}); of them {told.stated} stated as facts too",
        highlight=False,
    )
    for item in told.items:
        if item.proof is not None:
            out.print(proof_tree(item.proof, note="also a fact" if item.stated else "new"))
    if len(told.items) < told.conclusions:
        out.print(f"showing {len(told.items)} of {told.conclusions}", style="dim")
    if told.contradictions:
        found = several(len(told.contradictions), "contradiction")
        out.print(f"\n{found} (the relation has one object only)")
        for each in told.contradictions[: max(5, len(told.items))]:
            out.print(proof_tree(each.conclusion, note="against the next"))
            out.print(proof_tree(each.against))


def show_proofs(goal: tuple[str, str, str], found: list[ProofOut]) -> None:
    """The proofs of one thing."""
    out = console()
    if not found:
        out.print(f"Nothing proves it: {' '.join(goal)}", highlight=False, markup=False)
    for each in found:
        out.print(proof_tree(each))


def proof_tree(proof: ProofOut, *, note: str = "") -> Tree:
    """A proof as a tree: conclusion, the rule, the two premises."""
    from rich.text import Text
    from rich.tree import Tree

    def label(node: ProofOut, said: str = "") -> Text:
        text = Text()
        text.append(f"{node.subject} ", "blue")
        text.append(f"{node.relation} ", "bold" if node.implied else "")
        text.append(node.object, "blue")
        if node.strength_pre is not None:
            after = "" if node.strength_post is None else f" → {cell(node.strength_post)}"
            text.append(f"   {cell(node.strength_pre)}{after}")
        if said:
            text.append(f"   {said}", "dim")
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
