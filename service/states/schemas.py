"""Requests and results of comparisons of states: the same for CLI, REST, web UI and client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...cypher.rows.states import ChangedFact, MovedRoute, RevivedLink, RouteCounts
from ...loaders.records import RequestKind
from ..base.errors import UsageError
from ..models.edit import DriftOut, Measure, MeasuredOptions, MetricValue, Name, SideEffects
from ..models.experiment import Result
from ..models.notebook import Plotted, table_html
from ..models.options import Option
from ..models.tasks import TaskOut
from ..scoring.probe import Answer, Progress, Question
from .spec import StateIn, parse_sequence

if TYPE_CHECKING:
    import pandas as pd

    from ...editing.probe import ProbeSettings


Kind = Literal["model", "adapter", "edited", "quantized", "endpoint", "memory"]


class StateOut(BaseModel):
    """A state as records and reports show it."""

    spec: str = Field(description="The state, as it is written on the command line.")
    name: str = Field(description="short, for tables.")
    kind: Kind = Field(description="The last change that was put on.")
    digest: str = Field(
        description="Digest of the model as it is asked: weights, configuration, tokenizer,"
        " template (base with its edits: that of the exported folder); a stored answer of the state"
        " is found by it."
    )
    base_digest: str | None = Field(
        default=None, description="Digest of the base, where something was put on it."
    )
    exact: bool = Field(
        default=True, description="Whether it gives likelihoods; else sampled answers only."
    )
    about: dict[str, Any] = Field(
        default={},
        description="Number type, revision, digests of edits in order, adapter, scheme of"
        " quantisation.",
    )


class OpenState(Protocol):
    """A state that can be asked."""

    @property
    def about(self) -> StateOut:
        """Its record."""
        ...

    def ask(
        self,
        questions: Sequence[Question],
        settings: ProbeSettings,
        *,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answers to questions, one each, in order."""
        ...


FactText = Annotated[str, Field(min_length=1, max_length=1200)]


class ComparisonIn(MeasuredOptions):
    """States of a model to compare with a base on a graph.

    Without rewrites and facts to forget, the whole graph is watched.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"base": "organism", "states": ["organism+edit:EDIT"], "graph": "hogwarts"},
                {
                    "base": "organism",
                    "states": ["+edit:EDIT", "+8bit", "+finetune:graph:steps=200"],
                    "graph": "hogwarts",
                    "rewrites": ["harry-potter--studied-at"],
                },
                {
                    "base": {"model": "organism"},
                    "states": [{"model": "organism", "edits": ["EDIT"]}],
                    "graph": "hogwarts",
                    "forget": [
                        "Draco Malfoy|studied at|Hogwarts School of Witchcraft and Wizardry"
                    ],
                },
            ]
        },
    )

    base: Annotated[StateIn, Option(command=False)] = Field(
        description="The first state: an object, or its specification such as organism+edit:EDIT."
    )
    states: Annotated[list[StateIn], Option(command=False)] = Field(
        min_length=1,
        max_length=50,
        description="States that are compared with the base, written like it; +CHANGE is the"
        " state before with this put on: +8bit, +edit:EDIT, +finetune:graph:steps=200.",
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

    @model_validator(mode="before")
    @classmethod
    def _of_words(cls, value: Any) -> Any:
        """Read words that continue the state before them."""
        states = value.get("states") if isinstance(value, dict) else None
        if not isinstance(states, list | tuple) or "base" not in value:
            return value
        if not any(isinstance(each, str) and each.startswith("+") for each in states):
            return value
        base = StateIn.model_validate(value["base"])
        try:
            read = [
                each if isinstance(each, str) else StateIn.model_validate(each) for each in states
            ]
            return {**value, "base": base, "states": parse_sequence(base, read)}
        except UsageError as error:
            raise ValueError(f"{error.detail} {error.remedy}") from error


class RouteRule(BaseModel):
    """The rule by which a chain leads to its object in a state: the state knows the chain."""

    floor: float = Field(
        description="Product of probabilities from which a chain leads to its object, if not 0."
    )
    known: float = Field(description="Probability that each fact of such a chain has at least.")

    def leads(self, product: float | None, facts: Iterable[float | None] = ()) -> bool:
        """Return True if a chain with these probabilities leads to its object."""
        return bool(product) and (product or 0.0) >= self.floor and all(
            (p or 0.0) >= self.known for p in facts
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The rule in words, after "where"."""
        least = f"{self.floor:g} or more" if self.floor else "more than 0"
        facts = f", each {self.known:g} or more" if self.known else ""
        return f"the probabilities of its facts{facts}, multiply to {least}"


class RoutesOut(RouteCounts, RouteRule):
    """The chains from subject to old object that lead there, by one measure."""

    moved: list[MovedRoute] = Field(
        default=[], description="The strongest of those that opened or closed, at most five."
    )


class Wording(BaseModel):
    """The old object's probability in one wording of the request's fact."""

    form: str = Field(description="Form and variant, such as `question/3-shot`.")
    measure: Measure = Field(description="The measure of both probabilities.")
    before: float | None = Field(
        description="Probability in the base; null where the form asks facts that it did not know."
    )
    after: float | None = Field(description="Probability in the state; null likewise.")
    reason: str | None = Field(default=None, description="Why it was not asked; else null.")


class Reopened(BaseModel):
    """The chains that the first state closed and that lead to the old object again."""

    closed: int = Field(
        description="Chains that lead there in the base and not in the first state."
    )
    opened: int = Field(description="Number of the closed chains that lead there again.")
    facts: list[RevivedLink] = Field(
        default=[], description="Facts of the chain with the largest product; empty without one."
    )
    base: float | None = Field(
        default=None, description="Product of the chain's probabilities in the base."
    )
    edited: float | None = Field(
        default=None, description="Product of the chain's probabilities in the first state."
    )
    later: float | None = Field(
        default=None, description="Product of the chain's probabilities in this state."
    )


class Retention(BaseModel):
    """The part of the first state's change of a request that is left in a state, by one measure."""

    retention: float | None = Field(
        description="Change in the state / change in the first state; null where it is undefined."
    )
    undefined: str | None = Field(default=None, description="Why it is undefined; else null.")
    change: float | None = Field(
        description="The quantity that retention compares: p(new object), or forgetting of a"
        " request to forget."
    )
    target_true: float | None = Field(
        description="p(old object) in the state; null where the graph lacks the fact."
    )
    reopened: Reopened = Field(description="Chains that the first state closed and that are open.")


class ComparedRequest(BaseModel):
    """One request of a comparison, scored between the base and a state."""

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
    wordings: list[Wording] = Field(
        default=[], description="The old object's probability in each wording that was asked."
    )
    retention: dict[Measure, Retention] = Field(
        default={},
        description="How much of the first state's change is left, by measure; empty where the"
        " state does not have all changes of the first one, and of a single state.",
    )

    def value(self, metric: str, measure: Measure) -> MetricValue | None:
        """A headline metric with its n; None where it was not taken."""
        for value in self.values:
            if (value.metric, value.measure, value.step) == (metric, measure, None):
                return value
        return None

    def number(self, metric: str, measure: Measure) -> float | None:
        """A headline metric; None where it was not taken or is undefined."""
        found = self.value(metric, measure)
        return found.value if found else None


def first_measure(measures: Sequence[Measure]) -> Measure:
    """Return the measure that tables show first: likelihood where it was taken."""
    return "likelihood" if "likelihood" in measures else measures[0]


class StateComparison(BaseModel):
    """One state, compared with the base."""

    id: str = Field(description="Id of the graph that holds both probabilities of every fact.")
    spec: str = Field(
        default="", description="The state as a change of the one before, +CHANGE, or in words."
    )
    before: StateOut = Field(description="The base.")
    after: StateOut = Field(description="The state.")
    same: bool = Field(
        default=False,
        description="Whether both are the same model: weights, configuration, tokenizer, template.",
    )
    measures: list[Measure] = Field(description="Measures that both states gave.")
    requests: list[ComparedRequest] = Field(
        default=[], description="The requests that were scored between the states."
    )
    drift: dict[Measure, DriftOut] = Field(
        description="Drift over the facts of the graph, by measure."
    )
    changed: dict[Measure, list[ChangedFact]] = Field(
        default={},
        description="Facts that are neither kept nor unknown to both, by measure, the greatest"
        " change first; at most 1,000 of them, the graph of the comparison has all.",
    )
    verdict: str = Field(default="", description="The verdict in one sentence: damage first.")
    side_effects: SideEffects = Field(
        default=SideEffects(),
        description="Change of the known facts, by the first measure, which damage is read from; no"
        " texts are read.",
    )
    tasks: list[TaskOut] = Field(
        default=[], description="Tasks of lm-eval in the base and in the state; empty without any."
    )
    updates: list[str] = Field(
        default=[], description="Ids of the saved updates of its fine-tunes, in order."
    )
    notes: list[str] = Field(default=[], description="Sentences for the reader.")
    seconds: dict[str, float] = Field(default={}, description="Duration in seconds by stage.")
    provenance: dict[str, Any] = Field(
        default={}, description="What is needed to check or repeat the numbers."
    )

    @property
    def measure(self) -> Measure:
        """The measure that tables show first."""
        return first_measure(self.measures)


class ComparisonOut(Plotted, Result):
    """A comparison of states with a base, one after the other."""

    states: list[StateComparison] = Field(description="Each state, in the order of the request.")
    n_facts: int = Field(description="Facts in the graph.")
    asked: str = Field(
        default="",
        description="Digest of the request and of the sizes and times of the states' files, by"
        " which the same command finds it without loading a model; empty where a state is an"
        " endpoint or in memory.",
    )
    unfinished: bool = Field(
        default=False,
        description="Whether it is one state of a comparison that has not ended: repeated, that"
        " comparison begins with the next state.",
    )

    @property
    def base(self) -> StateOut:
        """The base."""
        return self.states[0].before

    @property
    def measures(self) -> list[Measure]:
        """The measures that all states gave."""
        first, *rest = (each.measures for each in self.states)
        return [measure for measure in first if all(measure in each for each in rest)]

    @property
    def measure(self) -> Measure:
        """The measure that tables show first."""
        return first_measure(self.measures)

    def to_frame(self, table: Literal["changed", "drift"] = "changed") -> pd.DataFrame:
        """One row a changed fact, the greatest change first; or a line of drift.

        Args:
            table: `drift` for the counts: all facts, by distance, by relation.
        """
        import pandas as pd

        if table == "changed":
            names = ["state", "measure", *ChangedFact.model_fields]
            return pd.DataFrame(
                [
                    {"state": state.after.name, "measure": measure, **fact.model_dump()}
                    for state in self.states
                    for measure, changed in state.changed.items()
                    for fact in changed
                ],
                columns=names,
            )
        rows = [
            {"state": state.after.name, "measure": measure, "by": by, **line.model_dump()}
            for state in self.states
            for measure, drift in state.drift.items()
            for by, lines in (
                ("all", [drift.total]), ("distance", drift.by_distance),
                ("relation", drift.by_relation),
            )
            for line in lines
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        lines = [self._title, *self._verdicts, *(f"  {each}" for each in self._changed)]
        return f"<Comparison {self.id}: " + "\n".join(lines) + ">"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        said = "".join(f"<p><strong>{escape(each)}</strong></p>" for each in self._verdicts)
        return said + table_html(self._title, ("changed most",), [(x,) for x in self._changed])

    @property
    def _title(self) -> str:
        names = " → ".join([self.base.name, *(state.after.name for state in self.states)])
        return f"{names}, graph {self.graph}, {self.measure}"

    @property
    def _verdicts(self) -> list[str]:
        if len(self.states) == 1:
            return [self.states[0].verdict]
        return [f"{state.after.name}: {state.verdict}" for state in self.states]

    @property
    def _changed(self) -> list[str]:
        """The greatest changes in words."""
        from ..reports.verdict import changed_words

        changed = [each for state in self.states for each in state.changed.get(self.measure, ())]
        changed.sort(key=lambda each: -abs(each.after - each.before))
        more = [f"{len(changed) - SHOWN} more: to_frame()"] * (len(changed) > SHOWN)
        return [*map(changed_words, changed[:SHOWN]), *more]


SHOWN = 10
"""Changed facts that Python and a page show of a comparison."""
