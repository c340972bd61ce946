"""Query parameters that several routes take, and descriptions of those whose bounds differ."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query

from ..base.paging import CURSOR, LIMIT, OFFSET
from ..models.edit import Measure, Name
from ..reports.leakage_selection import Length, Selection

Limit = Annotated[int, Query(ge=1, le=1000, description=LIMIT)]
Cursor = Annotated[str | None, Query(pattern=OFFSET, description=CURSOR)]
PlaceCursor = Annotated[str | None, Query(pattern=r"^[0-9]{1,9}~.+$", description=CURSOR)]
OfGraph = Annotated[Name | None, Query(description="Only results on the graph of this id.")]
OfModel = Annotated[Name | None, Query(description="Only results of this model.")]
InMeasure = Annotated[Measure, Query(description="Measure of the probabilities.")]
EditId = Annotated[
    str, Path(min_length=1, max_length=200, description="Any id that the edit has had.")
]
Candidates = Annotated[bool, Query(description="Also use rules without a review.")]


# The parameters that select chains for a leakage map: the same for REST and the web UI.


def selected(
    through: Annotated[
        list[str] | None,
        Query(max_length=20, description="Names of entities that the chains pass; repeatable."),
    ] = None,
    first: Annotated[str, Query(max_length=500, description="Id of the chains' first fact.")] = "",
    fact: Annotated[str, Query(max_length=500, description="Id of a fact on the chains.")] = "",
    chain: Annotated[
        int | None,
        Query(ge=1, le=100_000, description="Number of one chain, in the order of /chains."),
    ] = None,
    steps: Annotated[
        list[Length] | None,
        Query(max_length=5, description="Lengths of the chains; repeatable. Default: all."),
    ] = None,
    min_ratio: Annotated[
        float, Query(ge=0, description="Only chains with R'/R of at least this.")
    ] = 0.0,
    surviving: Annotated[bool, Query(description="Only chains that survive the edit.")] = False,
) -> Selection:
    """The selection of an address; a form's empty field selects nothing."""
    return Selection(
        through=tuple(name for name in through or () if name),
        first=first or None,
        fact=fact or None,
        chain=chain,
        steps=tuple(sorted(set(steps or ()))),
        min_ratio=min_ratio,
        surviving=surviving,
    )


Selected = Annotated[Selection, Depends(selected)]
