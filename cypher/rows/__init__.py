"""Row types that rooms share: dataclasses whose fields are the columns of a query.

All metrics share MetricRow. Lists are tuples; maps are separate record types.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .append import (
        AdditivityRow,
        AppendAnswersRow,
        AppendKeyRow,
        AppendLocalityRow,
        AppendRangeRow,
        MeanProbabilitiesRow,
        NewAnswerRow,
    )
    from .base import FROM_JSON, PLAIN, Reader, Row, WrittenRow, reader
    from .chains import (
        ChainFactsRow,
        ChainRow,
        KnownChainsRow,
        LeakageRow,
        Link,
        ScoredChainRow,
    )
    from .closure import (
        AtomRow,
        ClearClosureRow,
        ClosureStateRow,
        ContradictionRow,
        DeriveRoundRow,
        ImplicationRow,
        OmegaRow,
        PruneRow,
        StoredGroundingRow,
    )
    from .depedit import (
        AnsweredRow,
        DeleteSetRow,
        FractionRow,
        KnowledgeSetRow,
        ProtocolRunRow,
    )
    from .derive import DeriveRow
    from .edits import (
        DeleteEditRow,
        EditRow,
        GenerationsRow,
        GetEditRow,
        MergeEditRow,
        PageEditRow,
        ScoredStateRow,
        SubjectOptionsRow,
    )
    from .experiments import DeleteExperimentRow, ExperimentRow
    from .graph import (
        CompleteGraphRow,
        DependentsRow,
        EntityRow,
        FactRow,
        GraphRow,
        MergeGraphRow,
        MissingRow,
        NeighborRow,
        RetainRow,
        RewriteRow,
        ServerRow,
        ServerStartRow,
    )
    from .growth import (
        AddCandidateRow,
        AllAnswersRow,
        AllStatementsRow,
        CandidateCountRow,
        CandidatePlaceRow,
        EvidenceRow,
        IterationRow,
        KnownAnswerRow,
        UsageRow,
    )
    from .jobs import (
        BeginJobRow,
        CancelJobsRow,
        ClaimJobRow,
        CountJobsRow,
        FinishJobRow,
        HeartbeatRow,
        HoldLeaseRow,
        JobPartRow,
        JobRow,
        OrphanRow,
        PageJobRow,
        ReleaseJobRow,
        SettleIdRow,
        SubmitJobsRow,
        SweepRow,
        WorkerRow,
    )
    from .leakcut import (
        CoEditedFact,
        CoEditRoundRow,
        HarmlessEntityRow,
        LeakPathRow,
        MeasuredKeyRow,
        SafeObjectsRow,
    )
    from .metrics import ChainMetricRow, MetricRow
    from .rules import (
        AffectedRow,
        BodyCountRow,
        FactsAboutRow,
        GroundingRow,
        LabelRuleRow,
        MergeRulesRow,
        MinePairRow,
        MineRow,
        PairCountRow,
        RuleRow,
        VocabularyRow,
    )
    from .states import (
        DriftRow,
        RevivedLink,
        RevivedRow,
        RoutesRow,
    )

__all__ = [
    "FROM_JSON",
    "PLAIN",
    "AddCandidateRow",
    "AdditivityRow",
    "AffectedRow",
    "AllAnswersRow",
    "AllStatementsRow",
    "AnsweredRow",
    "AppendAnswersRow",
    "AppendKeyRow",
    "AppendLocalityRow",
    "AppendRangeRow",
    "AtomRow",
    "BeginJobRow",
    "BodyCountRow",
    "CancelJobsRow",
    "CandidateCountRow",
    "CandidatePlaceRow",
    "ChainFactsRow",
    "ChainMetricRow",
    "ChainRow",
    "ClaimJobRow",
    "ClearClosureRow",
    "ClosureStateRow",
    "CoEditRoundRow",
    "CoEditedFact",
    "CompleteGraphRow",
    "ContradictionRow",
    "CountJobsRow",
    "DeleteEditRow",
    "DeleteExperimentRow",
    "DeleteSetRow",
    "DependentsRow",
    "DeriveRoundRow",
    "DeriveRow",
    "DriftRow",
    "EditRow",
    "EntityRow",
    "EvidenceRow",
    "ExperimentRow",
    "FactRow",
    "FactsAboutRow",
    "FinishJobRow",
    "FractionRow",
    "GenerationsRow",
    "GetEditRow",
    "GraphRow",
    "GroundingRow",
    "HarmlessEntityRow",
    "HeartbeatRow",
    "HoldLeaseRow",
    "ImplicationRow",
    "IterationRow",
    "JobPartRow",
    "JobRow",
    "KnowledgeSetRow",
    "KnownAnswerRow",
    "KnownChainsRow",
    "LabelRuleRow",
    "LeakPathRow",
    "LeakageRow",
    "Link",
    "MeanProbabilitiesRow",
    "MeasuredKeyRow",
    "MergeEditRow",
    "MergeGraphRow",
    "MergeRulesRow",
    "MetricRow",
    "MinePairRow",
    "MineRow",
    "MissingRow",
    "NeighborRow",
    "NewAnswerRow",
    "OmegaRow",
    "OrphanRow",
    "PageEditRow",
    "PageJobRow",
    "PairCountRow",
    "ProtocolRunRow",
    "PruneRow",
    "Reader",
    "ReleaseJobRow",
    "RetainRow",
    "RevivedLink",
    "RevivedRow",
    "RewriteRow",
    "RoutesRow",
    "Row",
    "RuleRow",
    "SafeObjectsRow",
    "ScoredChainRow",
    "ScoredStateRow",
    "ServerRow",
    "ServerStartRow",
    "SettleIdRow",
    "StoredGroundingRow",
    "SubjectOptionsRow",
    "SubmitJobsRow",
    "SweepRow",
    "UsageRow",
    "VocabularyRow",
    "WorkerRow",
    "WrittenRow",
    "reader",
]

_MODULES = (
    "append", "base", "chains", "closure", "depedit", "derive", "edits", "experiments",
    "graph", "growth", "jobs", "leakcut", "metrics", "rules", "states")  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load all row types on first access: creating them would slow down `--help` by a tenth."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in _MODULES:
        found = vars(import_module(f"{__name__}.{module}"))
        globals().update({key: found[key] for key in __all__ if key in found})
    return globals()[name]
