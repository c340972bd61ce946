"""`thinkeval graph rules`: find If-Then rules in a graph, write some, review them, apply them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from ..base.errors import UsageError
from ..base.formatting import cell, pluralize
from ..base.settings import Settings
from ..models.edit import MEASURE_NAMES, Measure, Score
from ..reports import graph_tables
from ..reports.formats import Column, Table, indexed
from ..reports.graph_tables import RULES, STATISTICS, rules_table, ways_table
from ..rules.implications import GOOD, MEANINGS, implications, share_text
from ..rules.omega import OmegaOut, omega
from ..rules.store import kept_rules
from ..scoring.runtime import Runtime
from .options import (
    CandidatesFlag,
    FormatOption,
    JsonFlag,
    MeasureName,
    MeasureOption,
    OutputOption,
    RulesOption,
)
from .output import (
    ProgressBars,
    console,
    emit_json,
    emit_note,
    emit_panel,
    emit_rows,
    emit_table,
    emit_values,
    require_json,
)

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..rules.groundings import Instances
    from ..rules.implications import ImplicationOut, ImplicationsOut, SummaryOut
    from ..rules.omega import MixedChainOut, MixedLinkOut, MixedPage
    from ..rules.schemas import ClosureOut, GroundingOut, PartOut, ProofOut
    from ..rules.store import StoredRule


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

    [bold]thinkeval graph rules closure hogwarts --proof "Harry Potter" "studied at" "Hogwarts
    School of Witchcraft and Wizardry"[/bold] shows one proof for each rule and premises by which
    that is concluded, of four premises above each other at most unless --depth says more.
    """
    from ..rules import closure as views
    from ..rules import groundings
    from ..rules.schemas import ClosureOptions

    require_json(output, json)
    options = ClosureOptions(depth=depth, measure=measure.key, confidence=confidence)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        rules = groundings.rules_for(runtime.db, graph, ids=rule, candidates=candidates)
        if proof is not None:
            found = views.prove(runtime.db, graph, proof, rules, options, progress=progress)
            if json:
                emit_json([each.model_dump() for each in found], output)
            else:
                show_proofs(proof, found)
            return
        shown = views.shown(
            runtime.db, graph, rules, options, limit=limit, new_only=new, progress=progress
        )
    if json:
        emit_json(shown.model_dump(), output)
    else:
        show_closure(shown)


def show_closure(shown: ClosureOut) -> None:
    """Print conclusions, strongest first, each with a proof; then contradicting ones."""
    out = console()
    emit_note(
        f"{pluralize(shown.conclusions, 'conclusion')} in {pluralize(shown.rounds, 'round')} by"
        f" {pluralize(shown.rules, 'rule')}"
        f" ({pluralize(shown.groundings, 'grounding')}); of them {shown.stated} stated as facts"
        " too"
    )
    for item in shown.items:
        if item.proof is not None:
            out.print(proof_tree(item.proof, note="also a fact" if item.stated else "new"))
    if len(shown.items) < shown.conclusions:
        emit_note(f"showing {len(shown.items)} of {shown.conclusions}", "dim")
    if shown.contradictions:
        found = pluralize(len(shown.contradictions), "contradiction")
        emit_note(f"\n{found} (the relation has one object only)")
        for each in shown.contradictions[: max(5, len(shown.items))]:
            out.print(proof_tree(each.conclusion, note="against the next"))
            out.print(proof_tree(each.against))


def show_proofs(goal: tuple[str, str, str], found: list[ProofOut]) -> None:
    """The proofs of one statement."""
    out = console()
    if not found:
        emit_note(f"Nothing proves it: {' '.join(goal)}")
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


def show_implied(db: Database, score: Score, measure: Measure, limit: int = 20) -> None:
    """Print the conclusions of the data set's rules for an edit; nothing without rules."""
    rules = kept_rules(db, score.dataset)
    if rules:
        show_omega(omega(db, score, measure, rules), score)
        show_implications(implications(db, score, measure, rules), limit)


def show_omega(found: OmegaOut, score: Score) -> None:
    """Print the recovery of the old object, by chains or rules, with proofs."""
    emit_table(ways_table(found, score.target_true))
    for proof in found.proofs:
        console().print(proof_tree(proof, note="proves the old fact"))


def show_implications(found: ImplicationsOut, limit: int = 20) -> None:
    """Conclusions that lost a premise, that are due now, or follow either way."""
    shown = found.items[:limit] if limit else found.items
    text = Text()
    for item in shown:
        _append(text, item)
    summary = "\n".join(
        f"{name} {share_text(each)}"
        for name, each in (
            ("stale", found.stale),
            ("propagated", found.propagated),
            ("kept", found.kept),
        )
    )
    if any(item.verdict is None for item in found.items):
        summary += "\nWhat was not asked is undefined: ask again with --implications."
    note = f"showing {len(shown)} of {len(found.items)}" if len(shown) < len(found.items) else None
    title = f"Implications by {pluralize(found.rules, 'rule')} ({MEASURE_NAMES[found.measure]})"
    text.append(summary)
    met = {item.verdict for item in shown}
    for verdict, meaning in MEANINGS.items():
        if verdict in met:
            text.append(f"\n{verdict}: {meaning}", "dim")
    emit_panel(title, [text], note=note)


def _append(text: Text, item: ImplicationOut) -> None:
    good = item.verdict in GOOD
    mark = item.verdict or "not asked"
    style = "dim" if item.verdict in (None, "not known") else "green" if good else "bold red"
    text.append(f"{item.side}: ", "dim")
    text.append(mark, style)
    text.append(f"  {item.subject} {item.relation} {item.object}", "blue")
    text.append(f"   {cell(item.pre)} → {cell(item.post)}\n")
    for grounding in item.groundings:
        text.append(f"     {grounding.text}\n", "italic dim")
        for each in grounding.premises:
            edited = f"  (edited, {grounding.form})" if each.edited else ""
            text.append(
                f"       {each.subject} {each.relation} {each.object}"
                f"   {cell(each.pre)} → {cell(each.post)}{edited}\n"
            )


def statistics_values(stored: StoredRule) -> list[tuple[str, str]]:
    """The statistics of one rule, as names and values."""
    return [(column.header, cell(column.get(stored))) for column in STATISTICS]


def print_rules(
    title: str, found: Sequence[StoredRule], style: str | None, output: Path | None, json: bool,
    note: str,
) -> None:  # fmt: skip
    """Print rules; to a file where one is given.

    Raises:
        UsageError: a table is to be written to a file.
    """
    from ..rules.schemas import RuleOut

    values = [RuleOut.of(r).model_dump() for r in found]
    listed = rules_table(title, found, note)
    emit_rows(listed, value=values, json=json, format=style, output=output)


def show_mixed(page: MixedPage) -> None:
    """The chains, strongest after the edit first; conclusions with their proofs."""
    out = console()
    emit_note(
        f"{page.surviving} of {pluralize(page.looked_at, 'chain')} over conclusions of rules"
        f" {'survives' if page.surviving == 1 else 'survive'}, within"
        f" {pluralize(page.max_steps, 'fact')}, by {pluralize(page.rules, 'rule')}"
        f" ({MEASURE_NAMES[page.measure]})"
    )
    for number, item in enumerate(page.items, 1):
        out.print(_tree(number, item))
    if len(page.items) < page.total:
        emit_note(f"showing {len(page.items)} of {page.total}", "dim")


def _tree(number: int, item: MixedChainOut) -> Tree:
    text = Text(f"{number}. ")
    if item.surviving is None:
        text.append("? not probed", "dim")
    else:
        text.append(*(("● survives", "bold red") if item.surviving else ("○ cut", "dim")))
        text.append(
            f"  {pluralize(item.steps or 0, 'fact')}  R {cell(item.r_pre)} → R' {cell(item.r_post)}"
            f"  retention {cell(item.ratio)}"
        )
    text.append(f"\n   {item.entities[0]}", "blue")
    tree = Tree(text, guide_style="dim")
    for link in item.links:
        branch = tree.add(_link(link))
        if link.proof is not None:
            branch.add(proof_tree(link.proof))
    return tree


def _link(link: MixedLinkOut) -> Text:
    text = Text("∴ " if link.implied else "─ ")
    text.append(f"{link.relation} → {link.object}", "bold" if link.implied else "")
    text.append(f"   {cell(link.pre)} → {cell(link.post)}  retention {cell(link.ratio)}")
    if link.implied and link.facts:
        text.append(f"   a conclusion, by {pluralize(link.facts, 'fact')}", "dim")
    return text


def show_implied_by(db: Database, groups: Mapping[str, Sequence[str]], measure: Measure) -> None:
    """Print the conclusions of rules for edits, pooled: a row for each group of their ids."""
    show_summaries(graph_tables.by_group(db, groups, measure))


def show_summaries(found: Mapping[str, SummaryOut]) -> None:
    """By label: stale, propagated and kept with their n; how the old objects are recovered."""
    if found:
        emit_table(graph_tables.table(found))


# `thinkeval graph rules review`: list rules that wait, store labels, report agreement.


def review(
    dataset: Annotated[str, typer.Argument(help="Id of a graph: a data set.")],
    annotator: Annotated[str | None, typer.Option("--annotator", "-a", help="Who labels.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="RULE=a", help="A rule's label, a to e; repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rules shown.")] = 50,
    json: JsonFlag = False,
) -> None:
    """Label rules by plausibility; two annotators decide.

    \b
    Given the premises, the conclusion …
      a  must be true
      b  likely to be true
      c  unlikely to be true
      d  must be false
      e  the premises are of no use for the conclusion

    A rule is kept if both gave a or b, and rejected otherwise. Judge the step from the premises to
    the conclusion, not whether either is true. Without --label the rules that wait are listed;
    page /rules of [bold]thinkeval serve[/bold] has them as a queue, with examples. Agreement is
    reported as the fraction of equal labels and as Gwet's AC1.
    """  # noqa: D301
    from ..rules import review as agreement
    from ..rules import review as reviewing
    from ..rules import store
    from ..rules.schemas import RuleOut

    given = [_parsed(each) for each in label or []]
    if given and annotator is None:
        raise UsageError("Labels need a name.", remedy="Add --annotator NAME.")
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        of = store.dataset_of(runtime.db, dataset)
        for rule, said in given:
            reviewing.label(runtime.db, of, rule, annotator or "", said)
        waiting = reviewing.waiting(runtime.db, of, annotator)
        agreed = agreement.agreement(store.rules_of(runtime.db, of, status=None))
    if json:
        listed = [RuleOut.of(rule).model_dump() for rule in waiting[:limit]]
        emit_json({"waiting": listed, "total": len(waiting), "agreement": agreed.model_dump()})
        return
    if given:
        emit_note(f"Stored: {', '.join(f'{rule} is {said}' for rule, said in given)}.")
    whose = f" by {annotator}" if annotator else ""
    note = (
        f"{len(waiting)} wait{whose}"
        + (f", the first {limit} are shown" if len(waiting) > limit else "")
        + (
            f". thinkeval graph rules review {of} --annotator {annotator or 'NAME'} --label RULE=a"
            if waiting
            else ""
        )
    )
    title = f"Rules of {of} that wait for a label{whose}"
    columns = [column for column in RULES if column.header not in ("body", "status")]
    emit_table(Table("waiting", title, columns, waiting[:limit], note))
    emit_note(
        f"Agreement over {pluralize(agreed.n, 'rule')} with two labels or more: a to e:"
        f" raw {cell(agreed.raw)}, AC1 {cell(agreed.ac1)};"
        f" plausible or not: raw {cell(agreed.raw_plausible)}, AC1 {cell(agreed.ac1_plausible)}."
    )


def _parsed(text: str) -> tuple[str, str]:
    rule, mark, said = text.rpartition("=")
    if not mark or not rule.strip():
        raise UsageError(f"{text!r} is no label of a rule.", remedy="Write RULE=a, with a to e.")
    return rule.strip(), said.strip()


rules = typer.Typer(
    help=(
        "If-Then rules of a data set: one or two premises and a conclusion that follows.\n\n"
        "[bold]mine[/bold] finds candidates in a graph's own triangles, [bold]add[/bold] reads"
        " hand-written ones, [bold]review[/bold] lets two annotators decide which are kept;"
        " [bold]instantiate[/bold] shows what a rule says of a graph, and [bold]closure[/bold]"
        " all that follows."
    ),
)

DatasetArgument = Annotated[
    str, typer.Argument(help="Id of a graph: a data set, or one derived from it.")
]
RuleArgument = Annotated[str, typer.Argument(help="Id of a rule, or the start of it.")]


class RankName(StrEnum):
    """Order of rules."""

    LOWER = "lower"
    SUPPORT = "support"


class StatusName(StrEnum):
    """The rules that are listed."""

    all = "all"
    candidate = "candidate"
    kept = "kept"
    rejected = "rejected"


RankOption = Annotated[
    RankName,
    typer.Option(
        help="First: the greatest lower bound of the confidence (lower), or the most groundings"
        " whose conclusion the graph has (support)."
    ),
]


@rules.command()
def mine(
    graph: GraphArgument,
    min_support: Annotated[
        int, typer.Option(min=1, help="Groundings at least whose conclusion the graph has.")
    ] = 2,
    min_confidence: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share at least of the premises' groundings with it."),
    ] = 0.0,
    limit: Annotated[int, typer.Option(min=1, help="Rules at most, by support.")] = 1000,
    typed: Annotated[
        bool, typer.Option(help="Restrict a variable to the kind that all its entities share.")
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing.")] = False,
    rank: RankOption = RankName.LOWER,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """Find rules in a graph: three facts that form a triangle suggest a rule for each of them.

    [dim]support[/dim]: groundings whose conclusion the graph has; [dim]body[/dim]: groundings of
    the premises; [dim]confidence[/dim]: their ratio. The next columns count a conclusion once:
    [dim]known[/dim] of [dim]conclusions[/dim]; [dim]lower[/dim]: lower end of the 95 % Wilson
    interval of their ratio; [dim]PCA[/dim]: the ratio over conclusions whose subject has any fact
    of the relation; [dim]coverage[/dim]: fraction of the relation's facts that the rule gives.
    What is found is stored as candidates: `graph rules review` decides which are kept. Mining again
    renews the counts and changes no decision.
    """
    from ..graphs import datasets
    from ..rules import mining, store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, graph)
        mined = mining.mine(
            runtime.db, graph, min_support=min_support, min_confidence=min_confidence, limit=limit,
            typed=typed, store=not dry_run, progress=progress,
        )  # fmt: skip
        found = mining.mined_rules(runtime.db, mined)
    found = store.ranked(found, rank.value)
    left_out = mined.total - len(found)
    note = f"{pluralize(len(found), 'rule')} with support ≥ {min_support}" + (
        f" and confidence ≥ {min_confidence:g}" if min_confidence else ""
    )
    note += f"; {left_out} more left out by the limits" if left_out else ""
    note += "; nothing stored (--dry-run)" if dry_run else f"; {mined.created} of them new"
    print_rules(f"Rules mined from {graph}", found, format, output, json, note)


@rules.command("list")
def list_(
    dataset: DatasetArgument,
    status: Annotated[StatusName, typer.Option(help="Only these.")] = StatusName.all,
    rank: RankOption = RankName.LOWER,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """List a data set's rules, with the columns of `graph rules mine`.

    Statuses: candidate (mined, not decided yet), kept, rejected.
    """
    from ..rules import mining, store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        wanted = None if status is StatusName.all else (status.value,)
        found = store.rules_of(runtime.db, store.dataset_of(runtime.db, dataset), status=wanted)
        found = store.ranked(mining.counted(runtime.db, dataset, found), rank.value)
    note = "" if found else f"none: `thinkeval graph rules mine {dataset}`, or `graph rules add`"
    print_rules(f"Rules of {dataset}", found, format, output, json, note)


@rules.command()
def show(dataset: DatasetArgument, rule: RuleArgument, json: JsonFlag = False) -> None:
    """Show one rule: its words, kinds, counts, labels, and a few groundings."""
    from ..rules import groundings, mining, store
    from ..rules.review import LABELS
    from ..rules.schemas import GroundingOut, RuleOut

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = store.rule_of(runtime.db, store.dataset_of(runtime.db, dataset), rule)
        (found,) = mining.counted(runtime.db, dataset, [found])
        grounded = groundings.instantiate(runtime.db, dataset, [found], limit=5)
    if json:
        examples = [GroundingOut.of(row, found).model_dump() for row in grounded.groundings]
        emit_json(RuleOut.of(found).model_dump() | {"examples": examples})
        return
    r = found.rule
    emit_values(
        r.text(),
        [("id", found.id), ("status", found.status), ("source", r.source), ("shape", r.shape)]
        + [(f"kind of {v}", kind) for v, kind in r.kinds]
        + [("support", cell(r.support)), ("body", cell(r.body)), ("confidence", cell(r.confidence))]
        + statistics_values(found)
        + [(f"label by {who}", f"{label}: {LABELS[label]}") for who, label in found.labels]  # type: ignore[index]
        + [
            (f"wording of {name}", text)
            for name, atom in zip(
                (*("premise 1", "premise 2")[: len(r.premises)], "conclusion"),
                (*r.premises, r.conclusion),
                strict=True,
            )
            for text in atom.templates
        ],
    )
    print_groundings("For example", grounded)


@rules.command()
def add(
    dataset: DatasetArgument,
    file: Annotated[
        Path,
        typer.Argument(
            help="YAML with `rules:`, each with `if:` (one or two lines such as `person born in"
            " city`) and `then:`; knowledge sets in DepEdit's JSONL, whose rules are taken; or the"
            " name of"
            " rules that ship with ThinkEval."
        ),
    ],
    new_relations: Annotated[
        bool,
        typer.Option("--new-relations", help="Let conclusions have relations that no fact has."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Add hand-written rules; they are kept at once, and counted in the data set.

    \b
    rules:
      - if:
          - person born in city
          - city located in country
        then: person citizen of country
        kinds: {person: person}        # optional, as are words and templates
      - if: person married to other    # one premise: sub-relation, inverse, symmetric
        then: other married to person

    The first and last word of a line are variables, the words between them are the relation.
    """  # noqa: D301
    from ..graphs import datasets
    from ..rules import mining
    from ..rules.schemas import RuleOut

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, dataset)
        added, created = mining.add_file(runtime.db, dataset, file, new_relations=new_relations)
        added = mining.counted(runtime.db, dataset, added)
    if json:
        emit_json([RuleOut.of(r).model_dump() for r in added])
        return
    note = f"{pluralize(len(added), 'rule')}, {created} of them new"
    print_rules(f"Added to {dataset}", added, None, None, False, note)


@rules.command()
def delete(
    dataset: DatasetArgument,
    rule: Annotated[list[str] | None, typer.Argument(help="Ids of rules.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All rules of the data set.")] = False,
    json: JsonFlag = False,
) -> None:
    """Delete rules with their labels."""
    from ..rules import store

    if bool(rule) == all_:
        raise UsageError("Which rules?", remedy="Name them by their ids, or give --all.")
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        gone = store.delete(runtime.db, store.dataset_of(runtime.db, dataset), rule or None)
    if json:
        emit_json({"dataset": dataset, "deleted": gone})
    else:
        emit_note(f"Deleted {pluralize(gone, 'rule')} of {dataset}.")


rules.command()(instantiate)
rules.command()(relations)
rules.command()(review)
rules.command()(closure)
