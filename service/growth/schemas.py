"""Requests and results of growth runs: the same for CLI, REST, web UI and client.

`GrowthIn` is the one request; the queue stores it, and `service.growth.job` runs it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from ..errors import UsageError
from ..llm import checked_address
from ..request_options import Option
from ..schemas import Name

Elicit = Literal["cot", "crawl", "text"]
"""Where triplets come from: step-by-step reasoning, a crawl over relation templates, or a text."""
Refine = Literal["none", "model", "human"]
JudgeKind = Literal["none", "human", "model", "both", "check"]
RoleName = Literal["writer", "extractor", "judge"]


class EndpointIn(BaseModel):
    """A model that answers: in this process, or behind the OpenAI protocol.

    Attributes:
        model: hub name, folder or organism; behind an address the name that the server knows.
        url: base address of the server (`http://127.0.0.1:8001/v1`); None: in this process.
    """

    # A request is stored, and an address may be given with a key in it by mistake: it is refused
    # here already, and no error shows it.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str = Field(default="organism", min_length=1, max_length=400)
    url: str | None = Field(default=None, max_length=400)

    @field_validator("url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        try:
            return None if url is None else checked_address(url)
        except UsageError as error:
            raise ValueError(f"{error.detail} {error.remedy}") from None


class TextIn(BaseModel):
    """A text from which statements are taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=2_000_000)


class CrawlOptions(BaseModel):
    """How a crawl asks, and which answers it keeps (docs/how-to/grow-a-graph.md)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: int = Field(default=5, ge=0, le=10, description="Steps from the start entities.")
    samples: int = Field(default=5, ge=1, le=100, description="Answers to each wording.")
    wordings: int = Field(default=4, ge=1, le=8, description="Wordings of each question.")
    pair_threshold: float = Field(
        default=0.8, ge=0, le=1, description="Least top fraction of answers, else unknown."
    )
    object_threshold: float = Field(
        default=0.2, ge=0, le=1, description="Least fraction of answers that name an object."
    )
    agreement: float = Field(
        default=0.75, ge=0, le=1, description="Least fraction of wordings that name an object."
    )
    gate: Literal["kind", "stored", "none"] = Field(
        default="kind",
        description="Ask a relation only of subjects of a kind seen with it: the kind that the"
        " model gives, or the one stored with the base graph; none: of every subject.",
    )
    max_questions: int | None = Field(
        default=None, ge=1, description="Stop after this many subject-relation pairs."
    )
    chat: Literal["auto", "always", "never"] = Field(
        default="auto",
        description="Ask a model in this process in its chat template: auto (measured on the base"
        " graph), always or never.",
    )
    invented: int = Field(
        default=0,
        ge=0,
        le=8,
        description="Ask each relation of so many invented subjects as well, and store how often"
        " they get the same object; filters nothing.",
    )

    @model_serializer(mode="wrap")
    def _as_before(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without `invented` 0 and `chat` auto: ids of runs are digests of their requests."""
        values = serialise(self)
        if not self.invented:
            values.pop("invented", None)
        if self.chat == "auto":
            values.pop("chat", None)
        return values


class GrowthIn(BaseModel):
    """A request to grow a graph from a model.

    Attributes:
        seed: `subject|relation|object`; a crawl needs the subject only; with texts None.
        graph: id of the graph that is made; None: named after the seed and the model.
        base: stored graph whose relations, entities and (of an organism) training text are used.
        answers: the model whose knowledge is grown.
        roles: other models for writing, extracting and judging; None: the same.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    seed: str | None = Field(default=None, max_length=1200)
    graph: Name | None = None
    base: Name | None = Field(default=None, description="Stored graph that gives the relations.")
    elicit: Elicit = Field(default="cot", description="cot, crawl or text.")
    answers: EndpointIn = EndpointIn()
    roles: dict[RoleName, EndpointIn] = {}
    texts: tuple[TextIn, ...] = ()
    # Ids of runs are digests of their requests, which always had this field.
    extractor: Literal["model"] = Field(
        default="model", description="Always `model`, which reads triplets from statements."
    )
    samples: int = Field(default=5, ge=1, le=100, description="Answers to a validating question.")
    pass_share: float | None = Field(
        default=None, gt=0, le=1, description="Least fraction of right answers; default 1/samples."
    )
    k_max: int = Field(default=3, ge=1, le=20, description="Questions tried before discarding.")
    cot_samples: int = Field(default=1, ge=1, le=20, description="Reasoning answers a question.")
    temperature: float = Field(default=1.0, ge=0, le=2, description="Of the answers.")
    greedy: Annotated[
        bool, Option(help="Accept a server that does not sample: one most likely answer.")
    ] = False
    random_seed: int = Field(default=0, ge=0, lt=2**31, description="Seed of the answers.")
    max_steps: int = Field(default=5, ge=1, le=5, description="Longest chain.")
    chains: int = Field(default=100, ge=1, description="Stop at this many chains.")
    iterations: int = Field(default=10, ge=1, le=1000, description="Most iterations.")
    max_calls: int | None = Field(default=None, ge=1, description="Most answers.")
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens, both ways.")
    max_seconds: float | None = Field(default=None, gt=0, description="Most seconds.")
    refine: Refine = Field(default="none", description="Who rewords a failed question.")
    judge: JudgeKind = Field(
        default="none",
        description="Who decides about found triplets; check: a model's verdicts are stored only.",
    )
    single_link: bool = Field(
        default=True, description="At most one fact an ordered pair of entities."
    )
    crawl: CrawlOptions = CrawlOptions()

    @model_validator(mode="after")
    def _complete(self) -> GrowthIn:
        if self.elicit == "text" and not self.texts:
            raise ValueError("elicit is text, and no text is given")
        if self.elicit != "text" and self.seed is None and self.base is None:
            raise ValueError("nothing says where to begin: give a seed, or a base graph")
        return self


class GrowthOut(BaseModel):
    """A growth run as every interface shows it."""

    id: str
    graph: str
    seed: str
    elicit: Elicit
    model: str
    endpoint: str
    scored_as: str | None = Field(
        default=None,
        description="`model` of an edit of the model that answered; null where a server answered.",
    )
    status: Literal[
        "queued", "running", "waiting_review", "paused", "succeeded", "failed", "cancelled"
    ]
    stop_reason: str | None = None
    progress: float = 0.0
    stage: str | None = None
    error: str | None = None
    remedy: str | None = None
    seconds: float = Field(description="Wall time of all attempts.")
    calls: int = Field(description="Answers, each asked once.")
    candidates: int
    to_review: int = Field(description="Candidates that a person shall decide.")
    iterations: int
    decisions: int
    created_at: str
    finished_at: str | None = None
    links: dict[str, str] = {}
