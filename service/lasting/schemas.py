"""Requests and results of lines of states: the same for CLI, REST, Python and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ...loaders.records import RequestKind
from ..notebook_view import table_html
from ..request_options import Option
from ..schemas import Measure, MeasuredOptions, Name, Status

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
    """A fact of a chain with its probabilities.

    Attributes:
        base, edited, later: in the base, in the edited model, in the later state.
    """

    subject: str
    relation: str
    object: str
    prompt: str
    base: float
    edited: float
    later: float


class Reopened(BaseModel):
    """The chains that the edit closed and that lead to the old object again in a state.

    Attributes:
        closed: chains that lead there in the base and not right after the edit.
        opened: those of them that lead there again.
        facts: of the one with the largest product; empty without one.
        base, edited, later: its product in the base, after the edit, in the state.
    """

    closed: int
    opened: int
    facts: list[ChainFact] = []
    base: float | None = None
    edited: float | None = None
    later: float | None = None


class StateNumbers(BaseModel):
    """What one state is by one measure.

    Attributes:
        retention: of the change; None where it is undefined.
        change: what retention compares: p(new object), or forgetting of a request to forget.
        target_true: p(old object); None where the graph lacks the fact.
        ifr: indirect fact recovery against the base.
        chains: that `ifr` is over.
        preservation: against the base.
        facts: that `preservation` is over.
        open: chains whose facts' probabilities multiply to more than `floor`.
        floor: product above which a chain leads to the old object.
        reopened: chains that the edit closed and that are open again.
    """

    retention: float | None
    change: float | None
    target_true: float | None
    ifr: float | None
    chains: int
    preservation: float | None
    facts: int
    open: int
    floor: float
    reopened: Reopened


class LineState(BaseModel):
    """A state of the line, compared with the base.

    Attributes:
        change: what was put on, as it was written; the edit's id for the first state.
        fine_tune: id of the saved update, of a fine-tune.
        state: in one word, as on the command line.
        name: of the state, short.
        digest: of the state's weights.
        comparison: id of the comparison with the base.
        edit: id of the scored request in it: chains, figures and queries are read by it.
        numbers: by measure.
    """

    change: str
    fine_tune: str | None = None
    state: str
    name: str
    digest: str
    comparison: str
    edit: str
    numbers: dict[Measure, StateNumbers]


class LastingOut(BaseModel):
    """Whether the change of an edit lasted.

    Attributes:
        id: of the line.
        method: of the edit.
        kind: of the edit's request.
        base: name of the model without the edit.
        states: right after the edit, then after each later change.
        measures: those of all states.
        undefined: why retention is undefined, by measure; empty where it is not.
        first: number in `states` of the first with a chain that is open again, by measure; None:
            no chain that the edit closed is.
        notes: sentences for the reader.
        request: as it was submitted.
    """

    id: str
    graph: str
    edit: str
    method: str
    kind: RequestKind
    rewrite: str
    subject: str
    prompt: str
    target_true: str
    target_new: str
    base: str
    measures: list[Measure]
    states: list[LineState]
    undefined: dict[Measure, str] = {}
    first: dict[Measure, int | None] = {}
    notes: list[str] = []
    request: dict[str, Any]
    created_at: str = ""
    reused: bool = False

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


class LastingJob(BaseModel):
    """A line of states as a job: its status, and its result once it has succeeded.

    Attributes:
        id: of the job; `result.id` is that of the line. Either finds it.
        then: later changes, in order.
        status: what its job does now.
        result: the line; None until it has succeeded.
    """

    id: str
    graph: str
    edit: str
    then: list[str]
    status: Status
    progress: float
    stage: str | None = None
    error: str | None = None
    remedy: str | None = None
    attempts: int = 0
    created_at: str
    finished_at: str | None = None
    result: LastingOut | None = None
    links: dict[str, str] = {}
