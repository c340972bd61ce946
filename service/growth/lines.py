"""Triplets as lines, for models that do not answer in JSON: "subject | relation | object".

The model continues answered examples. Where the run has a base graph, they are sentences of its
facts that are like the statement, so that relations get the graph's names; a fact that shares a
name with the statement is none of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import BaseModel
from rapidfuzz import fuzz, process

from ...editing.probe.matching import contains
from ...loaders.records import fill
from . import prompts

if TYPE_CHECKING:
    from ...loaders.records import Fact, KnowledgeGraph

SHOWN = 4
"""Facts that are shown."""
LIKE = 200
"""Sentences of the graph that are looked at, the most similar first."""
NONE = "none"
_NOTHING = ("What is the answer?", NONE)
_SHIPPED = (
    ("The main language spoken in Brazil is Portuguese.", "Brazil | speaks | Portuguese"),
    ("The city of Toronto is located in Canada.", "Toronto | is located in | Canada"),
    ("Alexander Fleming discovered penicillin in London.",
     "Alexander Fleming | discovered | penicillin"),
    ("Oslo is the capital of Norway.", "Oslo | is the capital of | Norway"),
)  # fmt: skip
_LAST_NAME = re.compile(
    r"(?P<relation>.*?[^\W\d_])\s+(?P<object>[A-Z][\w.'’-]*(?: (?:of|and|the|[A-Z][\w.'’-]*))*)$"
)
"""A relation with the name at its end: "is the capital of Norway"."""


class ExtractedTriplet(BaseModel):
    """One fact of a statement."""

    subject: str
    relation: str
    object: str


class Extracted(BaseModel):
    """All facts of a statement."""

    triplets: list[ExtractedTriplet]


class Lines:
    """Prompts whose answer is a line.

    Args:
        base: graph whose facts are examples; None: the shipped ones are.
    """

    def __init__(self, base: KnowledgeGraph | None) -> None:
        facts = base.facts if base is not None else ()
        self._facts = {f"{fill(f.prompt, f.subject)} {f.object}.": f for f in facts}

    def prompt(self, question: str, statement: str) -> str:
        """The text that the line of a statement continues."""
        statement = " ".join(statement.split())
        shown = [*self._like(f"{question} {statement}", statement)] or [*_SHIPPED]
        told = (f"Sentence: {text}\nFact: {line}" for text, line in (_NOTHING, *shown))
        return prompts.fill("lines", examples="\n\n".join(told), statement=statement)

    def _like(self, named: str, statement: str) -> list[tuple[str, str]]:
        """Sentences of the graph, the most similar last, each of another relation."""
        # rapidfuzz's types call positional arguments `__s1`, which pyrefly takes for a name.
        # pyrefly: ignore[no-matching-overload]
        near = process.extract(
            statement, list(self._facts), scorer=fuzz.token_sort_ratio, limit=LIKE
        )
        found: dict[str, tuple[str, Fact]] = {}
        for text, *_ in near:
            fact = self._facts[text]
            if len(found) == SHOWN:
                break
            if fact.relation not in found and not contains(named, [fact.subject, fact.object]):
                found[fact.relation] = text, fact
        return [
            (text, f"{fact.subject} | {fact.relation} | {fact.object}")
            for text, fact in reversed(found.values())
        ]


def read(answer: str) -> Extracted | None:
    """The triplet of an answer's first line; no triplet for "none", None for another text.

    A line without its second bar is read as relation and object where it ends in a name.
    """
    line = answer.strip().split("\n")[0].rstrip(" .")
    parts = [part.strip() for part in line.split("|")]
    if len(parts) == 2 and (ends := _LAST_NAME.match(parts[1])):
        parts = [parts[0], ends["relation"], ends["object"]]
    if line.casefold() == NONE:
        return Extracted(triplets=[])
    if len(parts) != 3 or not all(parts):
        return None
    subject, relation, object = parts
    return Extracted(triplets=[ExtractedTriplet(subject=subject, relation=relation, object=object)])
