"""Query parameters that several routes take, and descriptions of those whose bounds differ."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from ..paging import CURSOR, LIMIT
from ..schemas import Measure, Name

Skip = Annotated[
    int, Query(ge=0, le=1_000_000, description="Number of items to leave out at the beginning.")
]
Limit = Annotated[int, Query(ge=1, le=1000, description=LIMIT)]
Cursor = Annotated[str | None, Query(max_length=300, description=CURSOR)]
ShortCursor = Annotated[str | None, Query(max_length=20, description=CURSOR)]
OfGraph = Annotated[Name | None, Query(description="Only results on the graph of this id.")]
OfModel = Annotated[Name | None, Query(description="Only results of this model.")]
InMeasure = Annotated[Measure, Query(description="Measure of the probabilities.")]
EditId = Annotated[
    str, Path(min_length=1, max_length=200, description="Any id that the edit has had.")
]
Candidates = Annotated[bool, Query(description="Also use rules without a review.")]
