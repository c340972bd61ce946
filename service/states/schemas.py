"""Requests and results of comparisons of two states: the same for CLI, REST, web UI and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ...loaders.records import RequestKind
from ..notebook_view import Plotted, table_html
from ..request_options import Option
from ..schemas import JobState, Measure, MeasuredOptions, MetricValue, Name
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
    """The chains from subject to old object that lead there, by one measure."""

    chains: int = Field(description="Number of all chains.")
    before: int = Field(
        description="Number of those whose facts' probabilities multiply to more than `floor` in"
        " the first state."
    )
    after: int = Field(
        description="Number of those whose facts' probabilities multiply to more than `floor` in"
        " the second state."
    )
    opened: int = Field(description="Number of those of the second state alone.")
    closed: int = Field(description="Number of those of the first state alone.")
    floor: float = Field(
        description="Product of probabilities above which a chain leads to its object."
    )


class ComparedRequest(BaseModel):
    """One request of a comparison, scored between the two states."""

    kind: RequestKind = Field(description="Replace or forget.")
    rewrite: str = Field(description="Id of the rewrite request.")
    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    target_true: str = Field(description="Old object of the edited fact.")
    target_new: str = Field(description="New object of the edited fact.")
    edit: str = Field(
        description="Id of its stored score: chains, leakage, figures and queries are read by it."
    )
    values: list[MetricValue] = Field(description="Its headline metrics by each measure.")
    routes: dict[Measure, RoutesOut] = Field(
        description="Chains that lead from subject to old object, by measure."
    )

    def number(self, metric: str, measure: Measure) -> float | None:
        """A headline metric; None where it was not taken or is undefined."""
        for value in self.values:
            if (value.metric, value.measure, value.step) == (metric, measure, None):
                return value.value
        return None


class DriftLine(BaseModel):
    """Differences between the states over some facts."""

    label: str = Field(description='The relation, or the distance; "all facts".')
    n: int = Field(
        description="Facts that both states were asked for: kept + weakened + removed + added +"
        " unknown."
    )
    missing: int = Field(description="Facts without a probability in one of the states.")
    kept: int = Field(description="Facts known as before: p_post >= .9 p_pre.")
    weakened: int = Field(description="Facts whose probability fell below .9 of what it was.")
    removed: int = Field(description="Facts whose probability fell below .1 of what it was.")
    added: int = Field(description="Facts that were not known (p_pre < .05), and are now.")
    unknown: int = Field(description="Facts that neither state knows (p below .05 in both).")
    mean_moved: float | None = Field(description="Mean of |p_post - p_pre|; null without facts.")
    mean_shift: float | None = Field(description="Mean of p_post - p_pre.")


class DriftOut(BaseModel):
    """Drift over a graph by one measure."""

    total: DriftLine = Field(description="Number of items on all pages.")
    by_distance: list[DriftLine] = Field(
        default=[],
        description="Drift by the smallest number of facts between a request's subject and the"
        " fact: 0 are facts about it; empty without requests.",
    )
    by_relation: list[DriftLine] = Field(
        default=[], description="Drift by relation, those that moved most first."
    )


class ComparisonOut(Plotted, BaseModel):
    """A comparison of two states."""

    id: str = Field(
        description="Id of the comparison, and of the graph that holds both probabilities of every"
        " fact."
    )
    graph: str = Field(description="Id of the graph.")
    before: StateOut = Field(description="The first state.")
    after: StateOut = Field(description="The second state.")
    same: bool = Field(
        default=False,
        description="Whether both states are the same model: weights, configuration, tokenizer,"
        " template.",
    )
    measures: list[Measure] = Field(description="Measures that both states gave.")
    n_facts: int = Field(description="Facts in the graph.")
    requests: list[ComparedRequest] = Field(
        default=[], description="The requests that were scored between the states."
    )
    drift: dict[Measure, DriftOut] = Field(
        description="Drift over the facts of the graph, by measure."
    )
    notes: list[str] = Field(default=[], description="Sentences for the reader.")
    seconds: dict[str, float] = Field(default={}, description="Duration in seconds by stage.")
    provenance: dict[str, Any] = Field(
        default={}, description="What is needed to check or repeat the numbers."
    )
    request: dict[str, Any] = Field(description="The request, with every option.")
    created_at: str = Field(default="", description="Time of creation, ISO 8601 in UTC.")
    reused: bool = Field(
        default=False,
        description="Whether it was stored before the request, so that nothing was computed.",
    )

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


class ComparisonJob(JobState):
    """A comparison as a job: its status, and its result once it has succeeded."""

    id: str = Field(
        description="Id of the job; `result.id` is that of the comparison. Either finds it."
    )
    graph: str = Field(description="Id of the graph.")
    before: str = Field(description="The first state, in words.")
    after: str = Field(description="The second state, in words.")
    created_at: str = Field(description="Time of creation, ISO 8601 in UTC.")
    finished_at: str | None = Field(
        default=None, description="Time of its end, ISO 8601 in UTC; null before it."
    )
    result: ComparisonOut | None = Field(
        default=None, description="The comparison; null until it has succeeded."
    )
    links: dict[str, str] = Field(default={}, description="Addresses of its parts, by name.")
