"""Requests and results of lines of states: the same for CLI, REST, Python and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ...loaders.records import RequestKind
from ..notebook_view import table_html
from ..request_options import Option
from ..schemas import JobState, Measure, MeasuredOptions, Name

if TYPE_CHECKING:
    import pandas as pd

FROM_THE_EDIT = ("graph", "dtype")
"""Measured options that are those of the edit's own score."""

ThenText = Annotated[str, Field(min_length=1, max_length=1200)]


class LastingIn(MeasuredOptions):
    """An edit, and what is done to the edited model later.

    Graph and number type are the edit's own.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"edit": "EDIT", "then": ["8bit", "finetune:graph:steps=200", "edit:OTHER"]}
            ]
        }
    )

    edit: Annotated[Name, Option(command=False)] = Field(
        description="Id of a scored edit whose update is saved."
    )
    then: Annotated[list[ThenText], Option(command=False)] = Field(
        min_length=1,
        max_length=50,
        description="Later changes in order: 8bit, 4bit, edit:EDIT, adapter:FOLDER,"
        " finetune:FILE or finetune:graph with options such as :steps=200:lora=8.",
    )
    graph: Annotated[Name, Option(command=False)] = Field(
        default="", description="Graph of the edit, which need not be named."
    )
    seed: Annotated[int, Option(limited=True)] = Field(
        default=0, ge=0, le=2**31 - 1, description="Seed of sampling."
    )


class ChainFact(BaseModel):
    """A fact of a chain with its probabilities."""

    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    base: float = Field(description="Probability in the base.")
    edited: float = Field(description="Probability in the edited model.")
    later: float = Field(description="Probability in the later state.")


class Reopened(BaseModel):
    """The chains that the edit closed and that lead to the old object again in a state."""

    closed: int = Field(
        description="Chains that lead there in the base and not right after the edit."
    )
    opened: int = Field(description="Number of the closed chains that lead there again.")
    facts: list[ChainFact] = Field(
        default=[], description="Facts of the chain with the largest product; empty without one."
    )
    base: float | None = Field(
        default=None, description="Product of the chain's probabilities in the base."
    )
    edited: float | None = Field(
        default=None, description="Product of the chain's probabilities after the edit."
    )
    later: float | None = Field(
        default=None, description="Product of the chain's probabilities in the later state."
    )


class StateNumbers(BaseModel):
    """Values of one state by one measure."""

    retention: float | None = Field(
        description="Retention of the change; null where it is undefined."
    )
    change: float | None = Field(
        description="The quantity that retention compares: p(new object), or forgetting of a"
        " request to forget."
    )
    target_true: float | None = Field(
        description="p(old object); null where the graph lacks the fact."
    )
    ifr: float | None = Field(description="Indirect fact recovery against the base.")
    chains: int = Field(description="Number of chains that `ifr` is taken over.")
    preservation: float | None = Field(description="Against the base.")
    facts: int = Field(description="Number of facts that `preservation` is taken over.")
    open: int = Field(
        description="Chains whose facts' probabilities multiply to more than `floor`."
    )
    floor: float = Field(description="Product above which a chain leads to the old object.")
    reopened: Reopened = Field(description="Chains that the edit closed and that are open again.")


class LineState(BaseModel):
    """A state of the line, compared with the base."""

    change: str = Field(
        description="What was put on, as it was written; the edit's id for the first state."
    )
    fine_tune: str | None = Field(
        default=None, description="Id of the saved update, of a fine-tune."
    )
    state: str = Field(description="The state in one word, as on the command line.")
    name: str = Field(description="Short name of the state.")
    digest: str = Field(description="Digest of the state's weights.")
    comparison: str = Field(description="Id of the comparison with the base.")
    edit: str = Field(
        description="Id of the scored request in it: chains, figures and queries are read by it."
    )
    numbers: dict[Measure, StateNumbers] = Field(description="Numbers of the state by measure.")


class LastingOut(BaseModel):
    """A sequence of states: retention of the change of an edit."""

    id: str = Field(description="Id of the line.")
    graph: str = Field(description="Id of the graph.")
    edit: str = Field(description="Id of the edit.")
    method: str = Field(description="Method of the edit.")
    kind: RequestKind = Field(description="Kind of the edit's request.")
    rewrite: str = Field(description="Id of the rewrite request.")
    subject: str = Field(description="Subject of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    target_true: str = Field(description="Old object of the edited fact.")
    target_new: str = Field(description="New object of the edited fact.")
    base: str = Field(description="Name of the model without the edit.")
    measures: list[Measure] = Field(description="Measures of all states.")
    states: list[LineState] = Field(
        description="Right after the edit, then after each later change."
    )
    undefined: dict[Measure, str] = Field(
        default={}, description="Why retention is undefined, by measure; empty where it is not."
    )
    first: dict[Measure, int | None] = Field(
        default={},
        description="Number in `states` of the first with a chain that is open again, by measure;"
        " null: no chain that the edit closed is.",
    )
    notes: list[str] = Field(default=[], description="Sentences for the reader.")
    request: dict[str, Any] = Field(description="The request as it was submitted.")
    created_at: str = Field(default="", description="Time of creation, ISO 8601 in UTC.")
    reused: bool = Field(
        default=False,
        description="Whether it was stored before the request, so that nothing was computed.",
    )

    @property
    def measure(self) -> Measure:
        """The measure that tables show first."""
        return "likelihood" if "likelihood" in self.measures else self.measures[0]

    def to_frame(self) -> pd.DataFrame:
        """One row a state and measure."""
        import pandas as pd

        return pd.DataFrame([
            {"change": state.change, "state": state.name, "measure": measure}
            | numbers.model_dump(exclude={"reopened"})
            | {"reopened": numbers.reopened.opened}
            for state in self.states
            for measure, numbers in state.numbers.items()
        ])  # fmt: skip

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        shown = frame[frame["measure"] == self.measure].drop(columns=["state", "measure", "floor"])
        title = f"{self.edit} on {self.base}, graph {self.graph}, {self.measure}"
        return table_html(title, list(shown.columns), shown.to_numpy().tolist())


class LastingJob(JobState):
    """A line of states as a job: its status, and its result once it has succeeded."""

    id: str = Field(description="Id of the job; `result.id` is that of the line. Either finds it.")
    graph: str = Field(description="Id of the graph.")
    edit: str = Field(description="Id of the edit.")
    then: list[str] = Field(description="Later changes, in order.")
    created_at: str = Field(description="Time of creation, ISO 8601 in UTC.")
    finished_at: str | None = Field(
        default=None, description="Time of its end, ISO 8601 in UTC; null before it."
    )
    result: LastingOut | None = Field(
        default=None, description="The line; null until it has succeeded."
    )
    links: dict[str, str] = Field(default={}, description="Addresses of its parts, by name.")
