"""One frozen row type a query: `RowType.QUERY` names the query, its fields are the columns.

All metrics share MetricRow. Lists come as tuples; maps as records of their own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cypher.rows.base import Reader, Row, WrittenRow
    from cypher.rows.chains import ChainRow, CountChainsRow, LeakageRow, Link, ScoredChainRow
    from cypher.rows.closure import (
        AtomRow,
        BackwardRow,
        ClearClosureRow,
        ClosureStateRow,
        CompleteClosureRow,
        ContradictionRow,
        DeriveRoundRow,
        ImplicationRow,
        OmegaRow,
        PruneRow,
        SettleRow,
        StoredGroundingRow,
    )
    from cypher.rows.depedit import (
        AnsweredRow,
        ConsNIRow,
        ConsNSRow,
        ConsURow,
        DeleteRunRow,
        DeleteSetRow,
        EstIRow,
        EstSRow,
        KnowledgeSetRow,
        MergeRunRow,
        MergeSetRow,
        ProtocolRunRow,
        UpdIRow,
        UpdSRow,
    )
    from cypher.rows.derive import DeriveRow
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
    from cypher.rows.jobs import (
        BeatRow,
        CancelEditsRow,
        ClaimEditRow,
        CountEditsRow,
        DeleteSweepRow,
        EditJobRow,
        ForgetWorkerRow,
        MergeSweepRow,
        PageEditRow,
        PostEditsRow,
        QueueStateRow,
        ReleaseEditRow,
        RunningRow,
        SettleIdRow,
        SweepRow,
        WorkerRow,
    )
    from cypher.rows.metrics import MetricRow
    from cypher.rows.rules import (
        AffectedRow,
        BodyCountRow,
        DeleteRulesRow,
        FactsAboutRow,
        GroundingRow,
        LabelRuleRow,
        MergeRulesRow,
        MineRow,
        RuleRow,
        VocabularyRow,
    )
    from cypher.rows.users import CreateUserRow, GrantReaderRow

__all__ = [
    "AffectedRow",
    "AnsweredRow",
    "AtomRow",
    "BackwardRow",
    "BeatRow",
    "BodyCountRow",
    "CancelEditsRow",
    "ChainRow",
    "ClaimEditRow",
    "ClearClosureRow",
    "ClearGraphRow",
    "ClosureStateRow",
    "CompleteClosureRow",
    "CompleteGraphRow",
    "ConsNIRow",
    "ConsNSRow",
    "ConsURow",
    "ContradictionRow",
    "CountChainsRow",
    "CountEditsRow",
    "CreateUserRow",
    "DeleteEditRow",
    "DeleteGraphRow",
    "DeleteRewritesRow",
    "DeleteRulesRow",
    "DeleteRunRow",
    "DeleteSetRow",
    "DeleteSweepRow",
    "DeriveRoundRow",
    "DeriveRow",
    "DiffFactRow",
    "EditJobRow",
    "EditRow",
    "EntityRow",
    "EstIRow",
    "EstSRow",
    "FactInScopeRow",
    "FactRow",
    "FactsAboutRow",
    "ForgetWorkerRow",
    "GenerationsRow",
    "GetEditRow",
    "GetGraphRow",
    "GetRewriteRow",
    "GrantReaderRow",
    "GraphRow",
    "GroundingRow",
    "ImplicationRow",
    "KnowledgeSetRow",
    "LabelRuleRow",
    "LeakageRow",
    "Link",
    "MergeEditRow",
    "MergeEntitiesRow",
    "MergeFactsRow",
    "MergeGraphRow",
    "MergeRewritesRow",
    "MergeRulesRow",
    "MergeRunRow",
    "MergeSetRow",
    "MergeSweepRow",
    "MetricRow",
    "MineRow",
    "MissingRow",
    "NeighborRow",
    "OmegaRow",
    "PageEditRow",
    "PostEditsRow",
    "ProtocolRunRow",
    "PruneRow",
    "QueueStateRow",
    "Reader",
    "ReleaseEditRow",
    "RewriteRow",
    "Row",
    "RuleRow",
    "RunningRow",
    "ScoredChainRow",
    "ServerRow",
    "SettleIdRow",
    "SettleRow",
    "StoredGroundingRow",
    "SweepRow",
    "UpdIRow",
    "UpdSRow",
    "UpdateEditRow",
    "VocabularyRow",
    "WorkerRow",
    "WriteColumnsRow",
    "WriteGenerationsRow",
    "WriteProbabilitiesRow",
    "WrittenRow",
]

_MODULES = (
    "base",
    "chains",
    "closure",
    "depedit",
    "derive",
    "diffs",
    "edits",
    "graph",
    "jobs",
    "metrics",
    "rules",
    "users",
)


def __getattr__(name: str) -> Any:
    """Load the row types when the first is asked for: making them takes `--help` too long."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in _MODULES:
        found = vars(import_module(f"{__name__}.{module}"))
        globals().update({key: found[key] for key in __all__ if key in found})
    return globals()[name]
