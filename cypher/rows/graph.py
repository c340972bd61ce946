"""Rows of `schema/`, `graph/` and `probes/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import MissingProbabilityError
from .base import Row, WrittenRow


@dataclass(frozen=True)
class ServerRow(Row):
    """Version and edition of the server."""

    QUERY: ClassVar[str] = "schema/server"
    version: str
    edition: str


@dataclass(frozen=True)
class ServerStartRow(Row):
    """When the server was started, in milliseconds since 1970 by its own clock."""

    QUERY: ClassVar[str] = "schema/started"
    started_ms: int | None


@dataclass(frozen=True)
class SchemaVersionRow(Row):
    """Which migrations and which constraints a database has had."""

    QUERY: ClassVar[str] = "schema/version"
    version: int
    constraints: str | None


@dataclass(frozen=True)
class SetConstraintsRow(Row):
    """The digest of the constraints that was recorded."""

    QUERY: ClassVar[str] = "schema/set_constraints"
    digest: str


@dataclass(frozen=True)
class IndexesRow(Row):
    """Names of all indexes, with those behind constraints."""

    QUERY: ClassVar[str] = "schema/indexes"
    names: tuple[str, ...]


@dataclass(frozen=True)
class LockSchemaRow(Row):
    """The same, locked until the transaction ends; 0 before the first migration."""

    QUERY: ClassVar[str] = "schema/lock_version"
    version: int


@dataclass(frozen=True)
class SetSchemaVersionRow(Row):
    """The version that was recorded."""

    QUERY: ClassVar[str] = "schema/set_version"
    version: int


@dataclass(frozen=True)
class MergeGraphRow(Row):
    """A graph whose :Graph node is written; `created` is false if it was stored before."""

    QUERY: ClassVar[str] = "graph/merge_graph"
    graph: str
    created: bool


@dataclass(frozen=True)
class MergeEntitiesRow(WrittenRow):
    """Number of entities sent and stored."""

    QUERY: ClassVar[str] = "graph/merge_entities"


@dataclass(frozen=True)
class MergeFactsRow(WrittenRow):
    """Number of facts sent and stored."""

    QUERY: ClassVar[str] = "graph/merge_facts"


@dataclass(frozen=True)
class MergeRewritesRow(WrittenRow):
    """Number of rewrite requests sent and stored."""

    QUERY: ClassVar[str] = "graph/merge_rewrites"


@dataclass(frozen=True)
class CompleteGraphRow(Row):
    """Counts of a graph that is now visible to readers."""

    QUERY: ClassVar[str] = "graph/complete_graph"
    graph: str
    complete: bool
    n_facts: int
    n_entities: int
    missing: int

    def check(self) -> None:
        """MissingProbabilityError if facts lack one of the graph's measures."""
        if not self.complete:
            raise MissingProbabilityError(
                f"{self.missing} of the {self.n_facts} facts of graph {self.graph!r} lack one of"
                " its declared measures; it stays incomplete.",
                remedy="Write every measure of every fact (before, and for an edit after).",
            )


@dataclass(frozen=True)
class _Graph(Row):
    """A stored graph; columns as in the header of graph/list_graphs."""

    graph: str
    kind: str
    dataset: str
    model: str | None
    edit: str | None
    probe: str | None
    content_digest: str | None
    complete: bool
    n_facts: int
    n_entities: int
    measures: tuple[str, ...]
    created_at: str


@dataclass(frozen=True)
class GraphRow(_Graph):
    """One of the stored graphs."""

    QUERY: ClassVar[str] = "graph/list_graphs"


@dataclass(frozen=True)
class GetGraphRow(_Graph):
    """The requested graph."""

    QUERY: ClassVar[str] = "graph/get_graph"


@dataclass(frozen=True)
class ClearGraphRow(Row):
    """Number of deleted entities, with all their facts."""

    QUERY: ClassVar[str] = "graph/clear_graph"
    n_entities: int


@dataclass(frozen=True)
class DeleteGraphRow(Row):
    """Number of deleted nodes of a graph."""

    QUERY: ClassVar[str] = "graph/delete_graph"
    deleted: int


@dataclass(frozen=True)
class DependentsRow(Row):
    """Resources derived from a data set: ids, or counts where users know no ids."""

    QUERY: ClassVar[str] = "graph/dependents"
    graphs: tuple[str, ...]
    edits: tuple[str, ...]
    active: int
    sweeps: tuple[str, ...]
    rules: int
    sets: tuple[str, ...]
    runs: int
    jobs: tuple[str, ...]
    experiments: tuple[str, ...]


@dataclass(frozen=True)
class EntityRow(Row):
    """One entity of a graph."""

    QUERY: ClassVar[str] = "graph/entities"
    name: str
    aliases: tuple[str, ...]
    kind: str | None


@dataclass(frozen=True)
class FactRow(Row):
    """One fact of a graph. `id` is unique in the database, `fact` within the graph."""

    QUERY: ClassVar[str] = "graph/facts"
    id: str
    fact: str
    subject: str
    relation: str
    object: str
    subject_aliases: tuple[str, ...]
    object_aliases: tuple[str, ...]
    prompt: str
    question: str | None
    questions: tuple[str, ...]
    paraphrases: tuple[str, ...]
    cases: tuple[str, ...]
    role: str
    listed: bool
    p_pre: float | None
    p_post: float | None
    likelihood_pre: float | None
    likelihood_post: float | None
    likelihood_norm_pre: float | None
    likelihood_norm_post: float | None
    answers_pre: tuple[str, ...] | None
    answers_post: tuple[str, ...] | None
    n_samples: int | None
    change: str | None
    paraphrases_p_pre: tuple[float, ...] | None
    paraphrases_p_post: tuple[float, ...] | None
    paraphrases_likelihood_pre: tuple[float, ...] | None
    paraphrases_likelihood_post: tuple[float, ...] | None
    paraphrases_likelihood_norm_pre: tuple[float, ...] | None
    paraphrases_likelihood_norm_post: tuple[float, ...] | None
    neighborhood: tuple[str, ...] | None
    neighborhood_p_pre: tuple[float, ...] | None
    neighborhood_p_post: tuple[float, ...] | None
    neighborhood_likelihood_pre: tuple[float, ...] | None
    neighborhood_likelihood_post: tuple[float, ...] | None
    neighborhood_likelihood_norm_pre: tuple[float, ...] | None
    neighborhood_likelihood_norm_post: tuple[float, ...] | None


@dataclass(frozen=True)
class FactInScopeRow(FactRow):
    """One fact in the scope of a rewrite."""

    QUERY: ClassVar[str] = "probes/facts_in_scope"


@dataclass(frozen=True)
class AboutSubjectRow(FactRow):
    """One fact about an edited subject."""

    QUERY: ClassVar[str] = "probes/about_subject"


@dataclass(frozen=True)
class NeighborRow(Row):
    """One fact of another subject that shares a rewrite's relation and target_true."""

    QUERY: ClassVar[str] = "probes/neighborhood"
    id: str
    subject: str
    prompt: str


@dataclass(frozen=True)
class RetainRow(Row):
    """One fact that a method which forgets shall retain."""

    QUERY: ClassVar[str] = "probes/retain"
    id: str
    subject: str
    prompt: str
    object: str


@dataclass(frozen=True)
class WriteProbabilitiesRow(WrittenRow):
    """Number of facts sent and updated."""

    QUERY: ClassVar[str] = "probes/write_probabilities"


@dataclass(frozen=True)
class WriteColumnsRow(WrittenRow):
    """Number of facts sent and updated."""

    QUERY: ClassVar[str] = "probes/write_columns"


@dataclass(frozen=True)
class MissingRow(Row):
    """Number of facts of a graph that lack the requested properties."""

    QUERY: ClassVar[str] = "probes/missing"
    graph: str
    n_facts: int
    missing_pre: int
    missing_post: int


@dataclass(frozen=True)
class _Rewrite(Row):
    """A stored rewrite request. `id` is unique in the database, `rewrite` within the data set."""

    id: str
    dataset: str
    rewrite: str
    prompt: str
    subject: str
    relation: str
    target_true: str
    target_new: str
    question: str | None
    paraphrases: tuple[str, ...]
    n_records: int
    neighborhood: tuple[str, ...]
    neighborhood_objects: tuple[str, ...]
    generation_prompts: tuple[str, ...]
    reference_texts: tuple[str, ...]
    correct: tuple[str, ...]
    hard: tuple[str, ...]
    random: tuple[str, ...]


@dataclass(frozen=True)
class RewriteRow(_Rewrite):
    """One of the stored rewrite requests."""

    QUERY: ClassVar[str] = "graph/list_rewrites"


@dataclass(frozen=True)
class GetRewriteRow(_Rewrite):
    """The requested rewrite request."""

    QUERY: ClassVar[str] = "graph/get_rewrite"


@dataclass(frozen=True)
class DeleteRewritesRow(Row):
    """Number of deleted rewrite requests."""

    QUERY: ClassVar[str] = "graph/delete_rewrites"
    deleted: int
