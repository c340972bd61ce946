"""New objects of co-edits: each its own, and none from which the old object can be reached.

In this order: the object that was given; the one that follows by an If-Then rule from the edit;
another object of the same relation; the answer of a model taught not to know; another entity
of the graph, of the same kind where it has kinds. A shared object would make a conflicting batch
look installed, so no object is used twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ....cypher import rows
from ...errors import UsageError
from ...rules import implications
from ...rules.omega import kept_rules
from ..leaks import Leaks

if TYPE_CHECKING:
    from ....cypher.run import Database

Source = Literal["given", "rule", "relation", "entity", "unknown"]


@dataclass(frozen=True, slots=True)
class NewObject:
    """The new object of a fact."""

    name: str
    source: Source


@dataclass
class NewObjects:
    """The objects that the facts on a rewrite's paths may get; `take` uses each once.

    Attributes:
        refused: a line for each object or fact that was refused, with the reason.
    """

    found: Mapping[str, Sequence[NewObject]]
    used: set[str]
    refused: list[str] = field(default_factory=list)

    @property
    def without(self) -> dict[str, str]:
        """{fact: reason} of the facts that no object is left for: they cannot be edited."""
        return {
            fact: "no object is left that leads nowhere"
            for fact, objects in self.found.items()
            if all(each.name in self.used for each in objects)
        }

    def take(self, fact: str) -> NewObject | None:
        """The first object of a fact that no other has; None where none is left."""
        for each in self.found[fact]:
            if each.name not in self.used:
                self.used.add(each.name)
                return each
        return None


def new_objects(
    db: Database,
    leaks: Leaks,
    max_steps: int,
    *,
    given: Mapping[str, str] | None = None,
    unknown: str | None = None,
) -> NewObjects:
    """The objects for each fact on the paths, best first.

    Args:
        given: {fact: object} by the user.
        unknown: the model's answer for unknown facts; None without one.

    Raises:
        UsageError: a given object opens a chain to the old object, is the object that the fact has
            already, or belongs to a fact that is on no path.
    """
    given = given or {}
    facts = list(leaks.facts)
    stray = sorted(given.keys() - leaks.facts.keys())
    if stray:
        raise UsageError(
            f"The fact {stray[0]!r} is on no chain, so it gets no new object.",
            remedy="`thinkeval leakcut … --json` lists the facts with their ids.",
        )
    safe = _safe(db, leaks, facts, max_steps)
    leading = _leading(db, leaks, max_steps, [*given.values()])
    due = _due(db, leaks)
    kinds = {
        row.name: row.kind for row in db.read(rows.EntityRow, "graph/entities", graph=leaks.dataset)
    }
    others = db.read(
        rows.HarmlessEntityRow,
        "leakcut/entities",
        graph=leaks.dataset,
        object=leaks.ends[1],
        max_steps=max_steps,
    )
    out: dict[str, list[NewObject]] = {}
    refused: dict[str, None] = {}
    for fact, row in zip(facts, safe, strict=True):
        about = leaks.facts[fact]
        label = f"{about.subject} | {about.relation}"
        refused |= dict.fromkeys(f"{label} → {name}: opens a chain" for name in row.refused)
        if fact in given:
            out[fact] = [_given(given[fact], leading, about)]
            continue
        follows = due.get((about.subject, about.relation))
        ranked = [NewObject(follows, "rule")] if follows in row.safe and follows else []
        ranked += [NewObject(name, "relation") for name in row.safe if name != follows]
        if unknown is not None:
            ranked.append(NewObject(unknown, "unknown"))
        known = {about.subject, about.object, *row.safe}
        ranked += [
            NewObject(other.name, "entity")
            for other in others
            if other.kind == kinds.get(about.object) and other.name not in known
        ]
        if not ranked:
            refused[f"{label} → {about.object}: stays, as every entity leads on"] = None
        out[fact] = ranked
    return NewObjects(out, {leaks.target_new}, list(refused))


def _safe(
    db: Database, leaks: Leaks, facts: Sequence[str], max_steps: int
) -> list[rows.SafeObjectsRow]:
    """The safe objects of each fact in the data set's graph."""
    if not facts:
        return []
    asked = [
        {"subject": row.subject, "relation": row.relation, "object": row.object}
        for row in (leaks.facts[fact] for fact in facts)
    ]
    return db.read(
        rows.SafeObjectsRow, "leakcut/objects",
        graph=leaks.dataset, object=leaks.ends[1], max_steps=max_steps, facts=asked,
    )  # fmt: skip


def _leading(db: Database, leaks: Leaks, max_steps: int, names: Sequence[str]) -> set[str]:
    """Those of the given objects from which the old object can be reached, or that are it."""
    found = db.read(
        str, "leakcut/leading",
        graph=leaks.dataset, object=leaks.ends[1], max_steps=max_steps, names=list(names),
    )  # fmt: skip
    return {*found, leaks.ends[1]}


def _given(name: str, leading: set[str], about: rows.FactRow) -> NewObject:
    label = f"{about.subject} | {about.relation} | {about.object}"
    if name == about.object:
        raise UsageError(
            f"The new object of {label!r} is the one it has.", remedy="Give another with --new."
        )
    if name in leading:
        raise UsageError(
            f"{name!r} as the new object of {label!r} opens a chain to the old object.",
            remedy="Give one from which it cannot be reached, or none: one is found then.",
        )
    return NewObject(name, "given")


def _due(db: Database, leaks: Leaks) -> dict[tuple[str, str], str]:
    """Return {(subject, relation): object} of the edit's conclusions by the data set's rules."""
    rules = kept_rules(db, leaks.dataset)
    edited = (leaks.ends[0], leaks.relation, leaks.ends[1], leaks.target_new)
    found = implications.read(db, leaks.dataset, edited, rules)
    return {(r.subject, r.relation): r.conclusion for r in found if r.object == leaks.target_new}
