"""Knowledge sets drawn from a stored graph and its rules; `draw.py` draws each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thinkeval.loaders.knowledge_sets import KnowledgeSet
from thinkeval.service.depedit.draw import SetOptions, TooSmallError, draw, material_of
from thinkeval.service.errors import NothingStoredError, UsageError

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that gave no set, and why.

    Attributes:
        apart: groundings that a set of it could have; 0 where that is not what it lacks.
    """

    rule: str
    text: str
    reason: str
    apart: int = 0


@dataclass(frozen=True, slots=True)
class Built:
    """The sets that were drawn, and the rules that gave none, those that nearly did first."""

    sets: tuple[KnowledgeSet, ...]
    skipped: tuple[Skipped, ...]


def build(
    db: Database,
    dataset: str,
    options: SetOptions,
    *,
    rules: Sequence[str] | None = None,
    candidates: bool = False,
    per_rule: int = 1,
    progress: Progress | None = None,
) -> Built:
    """Draw sets from a stored graph, `per_rule` for each of its rules; nothing is stored.

    A graph that ships with us brings its rules along where none are stored.

    Args:
        rules: ids of the rules; default: those that are kept, with `candidates` also those that
            nobody reviewed.
        per_rule: how many sets a rule gives, with the seeds options.seed, options.seed + 1, ...

    Raises:
        NotFoundError: no such graph or rule.
        NothingStoredError: the graph has no rule to use.
        UsageError: no rule gave a set, or one that was named; says how many facts there are.
    """
    from thinkeval.service.rules.store import rules_of

    options.check()
    _bring_rules(db, dataset)
    status = ("kept", "candidate") if candidates else ("kept",)
    found = rules_of(db, dataset, status=status, ids=rules)
    if not found:
        raise NothingStoredError(
            f"{dataset!r} has no rules to build sets from.",
            remedy=f"Find some with `thinkeval rules mine {dataset}` and review them, write some"
            f" with `thinkeval rules add {dataset} FILE`, or take those not reviewed:"
            " --candidates.",
        )
    from thinkeval.service.graphs.datasets import stored_graph

    material = material_of(stored_graph(db, dataset))
    sets: list[KnowledgeSet] = []
    skipped: list[Skipped] = []
    for number, stored in enumerate(found, start=1):
        try:
            sets += [
                draw(material, stored.rule, replace(options, seed=options.seed + i))
                for i in range(per_rule)
            ]
        except UsageError as error:
            if rules is not None:
                raise
            apart = error.apart if isinstance(error, TooSmallError) else 0
            skipped.append(Skipped(stored.id, stored.rule.text(), error.detail, apart))
        if progress is not None:
            progress(number, len(found), "drawing sets")
    skipped.sort(key=lambda each: -each.apart)
    if not sets:
        closest = "" if len(skipped) == 1 else " The one that comes closest:"
        raise UsageError(
            f"None of {len(skipped)} rules gives a set.{closest} {skipped[0].reason}",
            remedy="Ask for smaller sets (--facts, --implications, --updates, --unrelated), or"
            " take a larger graph.",
        )
    return Built(tuple(sets), tuple(skipped))


def _bring_rules(db: Database, dataset: str) -> None:
    """Store a bundled graph, and the rules that ship for it where none is kept or was rejected."""
    from thinkeval.loaders import rules as bundled
    from thinkeval.service.graphs import datasets
    from thinkeval.service.rules import add
    from thinkeval.service.rules.store import rules_of

    datasets.ensure(db, dataset)
    path = bundled.path(dataset)
    if path is not None and not rules_of(db, dataset, status=("kept", "rejected")):
        add.add_file(db, dataset, path)
