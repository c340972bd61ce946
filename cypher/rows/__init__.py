"""One frozen row type a query: `RowType.QUERY` names the query, its fields are the columns.

All metrics share MetricRow. Lists come as tuples; maps as records of their own.
"""

from cypher.rows.base import Reader, Row, WrittenRow
from cypher.rows.chains import ChainRow, CountChainsRow, LeakageRow, Link, ScoredChainRow
from cypher.rows.diffs import DiffFactRow
from cypher.rows.edits import (
    DeleteEditRow,
    EditRow,
    GenerationsRow,
    GetEditRow,
    MergeEditRow,
    UpdateEditRow,
    WriteGenerationsRow,
)
from cypher.rows.graph import (
    ClearGraphRow,
    CompleteGraphRow,
    DeleteGraphRow,
    DeleteRewritesRow,
    EntityRow,
    FactInScopeRow,
    FactRow,
    GetGraphRow,
    GetRewriteRow,
    GraphRow,
    MergeEntitiesRow,
    MergeFactsRow,
    MergeGraphRow,
    MergeRewritesRow,
    MissingRow,
    NeighborRow,
    RewriteRow,
    ServerRow,
    WriteColumnsRow,
    WriteProbabilitiesRow,
)
from cypher.rows.metrics import MetricRow

__all__ = [
    "ChainRow",
    "ClearGraphRow",
    "CompleteGraphRow",
    "CountChainsRow",
    "DeleteEditRow",
    "DeleteGraphRow",
    "DeleteRewritesRow",
    "DiffFactRow",
    "EditRow",
    "EntityRow",
    "FactInScopeRow",
    "FactRow",
    "GenerationsRow",
    "GetEditRow",
    "GetGraphRow",
    "GetRewriteRow",
    "GraphRow",
    "LeakageRow",
    "Link",
    "MergeEditRow",
    "MergeEntitiesRow",
    "MergeFactsRow",
    "MergeGraphRow",
    "MergeRewritesRow",
    "MetricRow",
    "MissingRow",
    "NeighborRow",
    "Reader",
    "RewriteRow",
    "Row",
    "ScoredChainRow",
    "ServerRow",
    "UpdateEditRow",
    "WriteColumnsRow",
    "WriteGenerationsRow",
    "WriteProbabilitiesRow",
    "WrittenRow",
]
