"""Requests and results of comparisons of two states: the same for CLI, REST, web UI and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ...loaders.records import RequestKind
from ..notebook_view import Plotted, table_html
from ..request_options import Option
from ..schemas import Measure, MeasuredOptions, MetricValue, Name, Status
from .about import StateOut
from .words import StateIn

if TYPE_CHECKING:
    import pandas as pd

FactText = Annotated[str, Field(min_length=1, max_length=1200)]


class ComparisonIn(MeasuredOptions):
    """Two states of a model to compare on a graph.

    Without rewrites and facts to forget, the whole graph is watched.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"before": "organism", "after": "organism+edit:EDIT", "graph": "hogwarts"},
                {
                    "before": {"model": "organism"},
                    "after": {"model": "organism", "edits": ["EDIT"]},
                    "graph": "hogwarts",
                    "forget": [
                        "Draco Malfoy|studied at|Hogwarts School of Witchcraft and Wizardry"
                    ],
                },
            ]
        },
    )

    before: Annotated[StateIn, Option(command=False)] = Field(
        description="The first state: an object, or its word such as organism+edit:EDIT."
    )
    after: Annotated[StateIn, Option(command=False)] = Field(
        description="The second state, written like the first."
    )
    rewrites: Annotated[list[Name], Option(("--rewrite", "-r"))] = Field(
        default_factory=list,
        max_length=2000,
        description="Rewrite requests that are scored: ids, beginnings of ids, subjects.",
    )
    all_rewrites: Annotated[bool, Option(("--all",))] = Field(
        default=False, description="Score every rewrite of the graph."
    )
    forget: list[FactText] = Field(
        default_factory=list,
        max_length=2000,
        description='Facts that shall be forgotten: "SUBJECT|RELATION|OBJECT".',
    )
    seed: Annotated[int, Option(limited=True)] = Field(
        default=0, ge=0, le=2**31 - 1, description="Seed of sampling."
    )
    organism_seed: Annotated[int | None, Option(command=False)] = Field(
        default=None, ge=0, le=2**31 - 1, description="Seed of an organism that names none."
    )


class RoutesOut(BaseModel):
    """The chains from subject to old object that lead there, by one measure.

    Attributes:
        chains: all of them.
        before, after: those whose facts' probabilities multiply to more than `floor`.
        opened, closed: those of the second state alone, of the first alone.
    """

    chains: int
    before: int
    after: int
    opened: int
    closed: int
    floor: float


class ComparedRequest(BaseModel):
    """One request of a comparison, scored between the two states.

    Attributes:
        edit: id of its stored score: chains, leakage, figures and queries are read by it.
        values: its headline metrics by each measure.
        routes: by measure.
    """

    kind: RequestKind
    rewrite: str
    subject: str
    relation: str
    prompt: str
    target_true: str
    target_new: str
    edit: str
    values: list[MetricValue]
    routes: dict[Measure, RoutesOut]

    def number(self, metric: str, measure: Measure) -> float | None:
        """A headline metric; None where it was not taken or is undefined."""
        for value in self.values:
            if (value.metric, value.measure, value.step) == (metric, measure, None):
                return value.value
        return None


class DriftLine(BaseModel):
    """How far the states differ on some facts.

    Attributes:
        label: the relation, or the distance; "all facts".
        n: facts that both states were asked for: kept + weakened + removed + added + unknown.
        missing: facts without a probability in one of the states.
        unknown: facts that neither state knows (p below .05 in both).
        mean_moved: mean of |p_post - p_pre|; None without facts.
        mean_shift: mean of p_post - p_pre.
    """

    label: str
    n: int
    missing: int
    kept: int
    weakened: int
    removed: int
    added: int
    unknown: int
    mean_moved: float | None
    mean_shift: float | None


class DriftOut(BaseModel):
    """Drift over a graph by one measure.

    Attributes:
        by_distance: by the smallest number of facts between a request's subject and the fact: 0
            are facts about it; empty without requests.
        by_relation: those that moved most first.
    """

    total: DriftLine
    by_distance: list[DriftLine] = []
    by_relation: list[DriftLine] = []


class ComparisonOut(Plotted, BaseModel):
    """A comparison of two states.

    Attributes:
        id: of the comparison, and of the graph that holds both probabilities of every fact.
        same: whether both states are the same model: weights, configuration, tokenizer, template.
        measures: those that both states gave.
        n_facts: facts in the graph.
        notes: sentences for the reader.
        seconds: by stage.
    """

    id: str
    graph: str
    before: StateOut
    after: StateOut
    same: bool = False
    measures: list[Measure]
    n_facts: int
    requests: list[ComparedRequest] = []
    drift: dict[Measure, DriftOut]
    notes: list[str] = []
    seconds: dict[str, float] = {}
    provenance: dict[str, Any] = {}
    request: dict[str, Any]
    created_at: str = ""
    reused: bool = False

    def to_frame(self) -> pd.DataFrame:
        """One row a line of drift: all facts, by distance, by relation; for each measure."""
        import pandas as pd

        rows = [
            {"measure": measure, "by": by, **line.model_dump()}
            for measure, drift in self.drift.items()
            for by, lines in (
                ("all", [drift.total]), ("distance", drift.by_distance),
                ("relation", drift.by_relation),
            )
            for line in lines
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        drift = self.drift[self.measure]
        names = ("label", "n", "kept", "weakened", "removed", "added", "unknown", "mean_moved")
        lines = [drift.total, *drift.by_distance, *drift.by_relation[:8]]
        rows = [[getattr(line, name) for name in names] for line in lines]
        title = f"{self.before.name} → {self.after.name}, graph {self.graph}, {self.measure}"
        return table_html(title, names, rows)

    @property
    def measure(self) -> Measure:
        """The measure that tables show first."""
        return "likelihood" if "likelihood" in self.measures else self.measures[0]


class ComparisonJob(BaseModel):
    """A comparison as a job: its status, and its result once it has succeeded.

    Attributes:
        id: of the job; `result.id` is that of the comparison. Either finds it.
        before, after: the states, in words.
        status: what its job does now.
    """

    id: str
    graph: str
    before: str
    after: str
    status: Status
    progress: float
    stage: str | None = None
    error: str | None = None
    remedy: str | None = None
    attempts: int = 0
    created_at: str
    finished_at: str | None = None
    result: ComparisonOut | None = None
    links: dict[str, str] = {}
