"""Selection of a leakage map's chains, by the same parameters in page, export and REST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from ...cypher.rows import ScoredChainRow


Length = Annotated[int, Field(ge=1, le=5)]


class Selection(BaseModel, frozen=True):
    """Conditions on the chains to draw; each condition given must hold.

    Attributes:
        through: names of entities that a chain passes, in any order.
        first: id of a chain's first fact.
        fact: id of a fact on the chain.
        chain: the number of one chain, as `thinkeval results chains` counts them from 1.
        steps: of these lengths only; all lengths where it is empty.
        min_ratio: with R'/R of at least this.
        surviving: only those that survive.
    """

    through: tuple[str, ...] = Field(default=(), max_length=20)
    first: str | None = Field(default=None, max_length=500)
    fact: str | None = Field(default=None, max_length=500)
    chain: int | None = Field(default=None, ge=1)
    steps: tuple[Length, ...] = Field(default=(), max_length=5)
    min_ratio: float = Field(default=0.0, ge=0)
    surviving: bool = False

    def chosen(self, rows: Sequence[ScoredChainRow]) -> list[tuple[int, ScoredChainRow]]:
        """The chains that fit, with their numbers among all of the edit's chains."""
        return [(n, row) for n, row in enumerate(rows, 1) if self.fits(n, row)]

    def fits(self, number: int, row: ScoredChainRow) -> bool:
        """Return True if a chain is drawn. One without a ratio (R = 0) keeps nothing."""
        return (
            (self.chain is None or self.chain == number)
            and (row.surviving or not self.surviving)
            and (not self.steps or row.steps in self.steps)
            and (self.min_ratio == 0 or (row.ratio or 0.0) >= self.min_ratio)
            and set(self.through) <= set(row.entities)
            and (self.first is None or row.links[0].id == self.first)
            and (self.fact is None or any(link.id == self.fact for link in row.links))
        )

    def query(self) -> str:
        """The selection as the query of an address; defaults are left out."""
        given = self.model_dump(exclude_defaults=True)
        if self.surviving:
            given["surviving"] = "true"
        return urlencode(given, doseq=True)

    def in_words(self, rows: Sequence[ScoredChainRow]) -> str:
        """The selection as words after "chains": "through Ron Weasley, of 2 facts"; "" for all."""
        links = {link.id: link for row in rows for link in row.links}
        said = []
        if self.through:
            said.append(f"through {', '.join(self.through)}")
        for fact, how in ((self.first, "that begin with"), (self.fact, "through the fact")):
            if fact is not None and (link := links.get(fact)):
                relation = link.relation.replace("_", " ").replace("-", " ")
                said.append(f"{how} {link.subject} {relation} {link.object}")
        if self.chain is not None:
            said.append(f"with number {self.chain}")
        if self.steps:
            lengths = " or ".join(map(str, self.steps))
            said.append(f"of {lengths} fact{'s' * (self.steps != (1,))}")
        if self.min_ratio:
            said.append(f"of retention {self.min_ratio:g} or more")
        if self.surviving:
            said.append("that survive")
        return ", ".join(said)
