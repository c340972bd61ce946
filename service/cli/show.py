"""`thinkeval show`: one edit on a screen: verdict, the chains as a tree, and what to edit next.

The verdict and the tree are those of the edit's page; the next step is that of the leak cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from ..base.errors import NothingStoredError
from ..base.formatting import UNDEFINED, number, objects, percent, pluralize, with_interval
from ..base.settings import Settings
from ..experiments.edit import EDIT
from ..models.edit import MEASURE_NAMES, Measure, MetricValue, Score
from ..reports.edit import chain_tree, measure_of
from ..reports.formats import Column, Table
from ..reports.verdict import judged, next_steps
from ..scoring import record
from ..scoring.metrics import chain_rows
from ..scoring.runtime import Runtime
from .options import JsonFlag, MeasureName, MeasureOption
from .output import ProgressBars, console, emit_command, emit_json, emit_note, emit_table
from .render import show_asked, show_counterfact, show_score

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..models.leakcut import CutOut
    from ..reports.edit import Branch
    from ..reports.verdict import Part, Verdict


METRICS = {
    "efficacy": "Efficacy",
    "ifr": "IFR",
    "preservation": "Preservation",
    "subject_retention": "Subject retention",
}
"""The metric of each part of a verdict, in their order."""


def metrics_of(score: Score) -> dict[str, str]:
    """The metrics of the parts: a request to forget has forgetting in place of efficacy."""
    if score.kind != "forget":
        return METRICS
    return {"forgetting": "Forgetting"} | {k: v for k, v in METRICS.items() if k != "efficacy"}


STYLES = {"good": "green", "fair": "yellow", "bad": "red", "none": "dim"}
FACTS_SHOWN = 3
"""Facts of the leak cut that are listed."""
BRANCHES_SHOWN = 6
"""Branches below a fact of the tree, where no limit is given."""

AllMetrics = Annotated[
    bool, typer.Option("--all-metrics", help="Also print every metric by each measure.")
]


def show(
    edit: Annotated[
        str | None,
        typer.Argument(
            help="Id of a scored edit (see `thinkeval results edits`); default: the newest."
        ),
    ] = None,
    depth: Annotated[
        int, typer.Option(min=1, max=5, help="Facts of each chain that the tree unfolds.")
    ] = 1,
    limit: Annotated[
        int, typer.Option(min=0, help="Branches at most below a fact; 0 shows all.")
    ] = BRANCHES_SHOWN,
    measure: MeasureOption = MeasureName.likelihood,
    all_metrics: AllMetrics = False,
    json: JsonFlag = False,
) -> None:
    """Show one edit: its verdict, the chains left, what to edit next.

    The verdict grades efficacy, IFR, Preservation and subject retention in words, and says by which
    thresholds. The tree folds the chains by their first facts: a branch has all chains that begin
    with it, its fraction of IFR, and the largest retention R'/R of its chains. The next step is the
    smallest set of further facts that closes every chain (`thinkeval lab leakcut EDIT` has
    options).
    """
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        score = record.get_score(runtime.db, edit or newest(runtime.db))
        if json:
            emit_json(_as_dict(runtime.db, score, measure.key))
        else:
            show_edit(
                runtime.db, score, measure.key,
                depth=depth, limit=limit, all_metrics=all_metrics,
            )  # fmt: skip


def newest(db: Database) -> str:
    """The id of the edit that was scored last.

    Raises:
        NothingStoredError: none is stored.
    """
    for each in EDIT.store.listing(db, status="succeeded", limit=1):
        return each.id
    raise NothingStoredError(
        "No edit is stored yet.", remedy="`thinkeval score harry-potter--studied-at` scores one."
    )


def show_edit(
    db: Database,
    score: Score,
    measure: Measure,
    *,
    depth: int = 1,
    limit: int = BRANCHES_SHOWN,
    all_metrics: bool = False,
) -> None:
    """Print one edit: its verdict, through whom the old fact survives, and the next step.

    An appended answer leaves no old fact: its metrics and its additivity are printed.
    """
    if score.kind == "append":
        show_score(score)
        return
    measure_of(score, measure)  # not taken: refused
    rows = chain_rows(db, score, measure)
    found = judged(db, score, measure, rows)
    if all_metrics:
        show_score(score)
        if not found.nothing:
            show_counterfact(score)
    show_verdict(score, measure, found)
    show_covariance(score)
    show_subject(score)
    if not all_metrics:
        for sentence in score.notes if measure == "p" else ():
            emit_note(sentence)
        show_asked(score)
    if not found.nothing:
        show_tree(score, chain_tree(rows), depth=depth, limit=limit)
    show_next(db, score, measure)


def next_cut(db: Database, score: Score, measure: Measure) -> CutOut:
    """The fewest further facts that close every chain that still leaks."""
    from ..leakcut.request import edit_cut

    return edit_cut(db, score, measure)


def _as_dict(db: Database, score: Score, measure: Measure) -> dict[str, Any]:
    if score.kind == "append":
        return score.model_dump()
    from ..leakcut import words

    measure_of(score, measure)  # not taken: refused
    rows = chain_rows(db, score, measure)
    found, cut = judged(db, score, measure, rows), next_cut(db, score, measure)
    parts = [
        {
            "metric": metric,
            **asdict(part),
            "grade": part.grade,
            **_bounds(score.get(metric, measure)),
        }
        for metric, part in zip(metrics_of(score), found.parts, strict=True)
    ]
    return {
        "edit": score.edit,
        "measure": measure,
        "headline": found.headline,
        "kind": found.kind,
        "verdict": [] if found.nothing else parts,
        "about_subject": score.about_subject.model_dump() if score.about_subject else None,
        "side_effects": score.side_effects.model_dump() | {"word": found.unrelated.word},
        "checks": [each.model_dump() for each in score.checks],
        "tasks": [task.model_dump() for task in score.tasks],
        "tree": [] if found.nothing else [asdict(branch) for branch in chain_tree(rows)],
        "next": {
            "headline": words.headline(cut),
            "facts": [fact.model_dump() for fact in cut.facts],
            "command": words.next_step(cut, score)[1] if cut.facts else None,
            "steps": [
                {"said": said, "command": command} for said, command in next_steps(score, measure)
            ],
        },
    }


def _bounds(value: MetricValue | None) -> dict[str, Any]:
    return {name: getattr(value, name, None) for name in ("low", "high", "n", "excluded", "reason")}


def show_verdict(score: Score, measure: Measure, found: Verdict) -> None:
    """The edit, the headline, and the four metrics with their words and thresholds."""
    emit_note(
        f"{score.subject} {score.relation}: {objects(score.target_true, score.target_new)}", "bold"
    )
    earlier = ", stored earlier" * score.reused
    about = f"{score.method} on {score.model}, graph {score.dataset}"
    emit_note(f"{score.edit}: {about}{earlier}", "dim")
    if found.nothing:
        emit_note(found.nothing, "dim")
        return
    emit_note(found.headline, "bold")
    metrics = metrics_of(score)
    rows = list(zip(metrics.items(), found.parts, strict=True))
    bounded = any(_bounds(score.get(name, measure))["low"] is not None for name in metrics)
    columns: list[Column[tuple[tuple[str, str], Part]]] = [
        Column("metric", lambda row: row[0][1], whole=True),
        Column(
            "value [low, high]" if bounded else "value",
            lambda row: _value(row[1], score.get(row[0][0], measure)),
            whole=True,
        ),
        Column("verdict", lambda row: row[1].word, whole=True),
        Column("which means", lambda row: row[1].sentence),
    ]
    interval = (
        "[low, high]: 95 % interval of the sampled answers: were they drawn again, the value"
        " would be in it 95 times of 100."
    )
    title = f"Verdict by {MEASURE_NAMES[measure]}"
    emit_table(Table("verdict", title, columns, rows, interval * bounded))
    if found.unrelated.value is not None:
        emit_note(found.unrelated.sentence)


def show_covariance(score: Score) -> None:
    """The tokens of the covariance for each dimension of its keys, and the ridge that was added."""
    about = score.provenance.get("covariance") or {}
    size, tokens = about.get("dimensions"), about.get("n_tokens")
    if size and tokens:
        ridge = about.get("ridge")
        added = f", mom2_ridge {ridge:g}" if ridge is not None else ""
        emit_note(
            f"Covariance: {tokens:,} tokens for {size:,} dimensions, ratio"
            f" {number(tokens / size)}{added}",
            "dim",
        )


def _value(part: Part, value: MetricValue | None) -> str:
    if part.value is None or value is None:
        return number(None)
    return with_interval(part.value, value.low, value.high)


def show_subject(score: Score) -> None:
    """The known facts about the subject that are not kept, with the model's own answer now."""
    found = score.about_subject
    for fact in [fact for fact in found.facts if fact.change != "kept"] if found else []:
        says = f"; it now says {fact.says_post}" if fact.says_post else ""
        follows = f", as follows from {score.target_new}" if fact.follows else ""
        emit_note(
            f"{score.subject} {fact.relation} {fact.object}: {number(fact.pre)} →"
            f" {number(fact.post)}, {fact.change}{says}{follows}",
            indent=2,
        )


def show_tree(score: Score, branches: Sequence[Branch], *, depth: int, limit: int) -> None:
    """The chains folded by their first facts: fraction of IFR, chains, fact, largest retention."""
    if not branches:
        return
    chains = pluralize(sum(branch.chains for branch in branches), "chain")
    emit_note(f"Through whom: {chains} by first fact, with their fraction of IFR", "bold")
    tree = Tree(Text(score.subject))
    _grow(tree, branches, depth, limit)
    console().print(tree)


def _grow(tree: Tree, branches: Sequence[Branch], depth: int, limit: int) -> None:
    shown = branches[:limit] if 0 < limit < len(branches) - 1 else branches
    for branch in shown:
        node = tree.add(_branch_text(branch))
        if depth > 1:
            _grow(node, branch.branches, depth - 1, limit)
    if rest := branches[len(shown) :]:
        share = sum(branch.ifr_share or 0.0 for branch in rest)
        chains = sum(branch.chains for branch in rest)
        tree.add(Text(f"{_counts(share, chains)}  {len(rest)} more", "dim"))


def _counts(share: float | None, chains: int) -> str:
    """Fraction of IFR and number of chains, in columns of equal width."""
    fraction = UNDEFINED if share is None else percent(share)
    return f"{fraction:>5}  {pluralize(chains, 'chain'):<10}"


def _branch_text(branch: Branch) -> Text:
    """A branch in a line; dim where none of its chains survives."""
    keeps = "" if branch.best is None else f"  keeps {percent(branch.best)}"
    if keeps and branch.chains > 1:
        keeps = f"  best retention {percent(branch.best or 0.0)}"
    style = "" if branch.surviving else "dim"
    return Text.assemble(
        (_counts(branch.ifr_share, branch.chains), "cyan" if branch.surviving else "dim"),
        (f"  {branch.link.relation} → {branch.link.object}", style),
        (keeps, "dim"),
    )


def show_next(db: Database, score: Score, measure: Measure) -> None:
    """Print what to try next: of an edit that leaks its leak cut, of others a command."""
    if steps := next_steps(score, measure):
        for said, command in steps:
            emit_note(said)
            emit_command(command)
        return
    from ..leakcut import words

    cut = next_cut(db, score, measure)
    emit_note(f"Next: {words.headline(cut)}", "bold")
    for fact in cut.facts[:FACTS_SHOWN]:
        closes = pluralize(fact.closes, "chain")
        after = f"closes {closes}; expected IFR {number(fact.expected)}"
        emit_note(f"{words.fact_text(cut, fact.id)} ({after})", indent=2)
    if len(cut.facts) > FACTS_SHOWN:
        emit_note(
            f"and {len(cut.facts) - FACTS_SHOWN} more (all: thinkeval lab leakcut {score.edit})",
            "dim",
            indent=2,
        )
    if cut.facts:
        said, command = words.next_step(cut, score)
        emit_note(said)
        emit_command(command)
    emit_note("More of this edit: --depth 2 unfolds the tree, --all-metrics has every number, and")
    emit_command(f"thinkeval results chains {score.edit} --surviving")
