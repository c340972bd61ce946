"""Rows of `schema/`, `graph/` and `probes/`."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import MissingProbabilityError
from .base import Row


@dataclass(frozen=True)
class ServerRow(Row):
    """Version and edition of the server."""

    version: str
    edition: str


@dataclass(frozen=True)
class MergeGraphRow(Row):
    """A graph whose :Graph node is written; `created` is false if it was stored before."""

    graph: str
    created: bool


@dataclass(frozen=True)
class CompleteGraphRow(Row):
    """Counts of a graph, visible to readers if `complete`; `missing` facts lack a measure.

    Facts with the role `subject` are asked by likelihood only.
    """

    graph: str
    complete: bool
    n_facts: int
    n_entities: int
    missing: int

    def check(self, name: str) -> None:
        """MissingProbabilityError if facts lack one of the graph's measures."""
        if not self.complete:
            raise MissingProbabilityError(
                f"{self.missing} of the {self.n_facts} facts of graph {self.graph!r} lack one of"
                " its declared measures; it stays incomplete.",
                remedy="Write every measure of every fact (before, and for an edit after).",
            )


@dataclass(frozen=True)
class GraphHeader(Row):
    """The properties that a graph is created with, see graph/merge_graph.

    Attributes:
        kind: dataset, model or edit.
        probe: digest of the probe settings.
        content_digest: to detect changes.
        extends: digests of earlier contents, to which only rewrite requests were added since.
        measures: of the probabilities that each fact has.
    """

    graph: str
    kind: str
    dataset: str
    model: str | None = None
    edit: str | None = None
    probe: str | None = None
    content_digest: str | None = None
    measures: tuple[str, ...] = ()
    extends: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GraphRow(GraphHeader):
    """A stored graph; its counts are 0 while it is incomplete."""

    complete: bool
    n_facts: int
    n_entities: int
    created_at: str


@dataclass(frozen=True)
class DependentsRow(Row):
    """Resources derived from a data set: ids, or counts where users know no ids.

    Attributes:
        graphs: of probed models, and of deleted edits.
        active: number of queued and running edits and jobs.
        sweeps: those that submitted its edits; `jobs`: those that submitted runs or experiments.
        runs: of the protocol on its knowledge sets.
    """

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

    name: str
    aliases: tuple[str, ...]
    kind: str | None


@dataclass(frozen=True)
class FactRow(Row):
    """One fact of a graph. `id` is unique in the database, `fact` within the graph.

    Attributes:
        cases: ids of the rewrite requests that may use it; empty for any.
        listed: False for an edited fact that the data set does not state.
        n_samples: number of answers that p_pre is a fraction of.
        change: what became of it: kept, weakened, replaced, lost or added.
        says_pre, says_post: the model's own answer before and after; None where it was not asked.
    """

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
    says_pre: str | None
    says_post: str | None
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
class NeighborRow(Row):
    """One fact of another subject that shares a rewrite's relation and target_true."""

    id: str
    subject: str
    prompt: str


@dataclass(frozen=True)
class RetainRow(Row):
    """One fact that a method which forgets shall retain."""

    id: str
    subject: str
    prompt: str
    object: str


@dataclass(frozen=True)
class MissingRow(Row):
    """Number of facts of a graph that lack the requested properties."""

    graph: str
    n_facts: int
    missing_pre: int
    missing_post: int
