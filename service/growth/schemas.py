"""Requests and results of growth runs, reviews and crawls, the same for every interface."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from ...cypher import rows
from ...cypher.rows.growth import (
    CandidateCountRow,
    CandidateKind,
    CandidateState,
    EvidenceRow,
    IterationRow,
    RunState,
    Verb,
)
from ..base.errors import UsageError
from ..base.llm import checked_address
from ..models.edit import Name
from ..models.experiment import Result
from ..models.options import Option

# Requests and results of growth runs: the same for CLI, REST, web UI and client.
#
# `GrowthIn` is the one request; the queue stores it, and `service.growth.kind` runs it.

Elicit = Literal["cot", "crawl"]
"""Source of triplets: step-by-step reasoning, or a crawl over relation templates."""
ExportFormat = Literal["knowgic", "csv"]
"""KnowGIC's records of chains, or tables for a spreadsheet."""
Refine = Literal["none", "model", "human"]
JudgeKind = Literal["none", "human", "model", "both", "check"]


class EndpointIn(BaseModel):
    """A model that answers: in this process, or behind the OpenAI protocol."""

    # A request is stored, and an address may be given with a key in it by mistake: it is refused
    # here already, and no error shows it.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str = Field(
        default="organism",
        min_length=1,
        max_length=400,
        description="Hub name, folder or organism; behind an address the name that the server"
        " knows.",
    )
    url: str | None = Field(
        default=None,
        max_length=400,
        description="Base address of the server (`http://127.0.0.1:8001/v1`); null: in this"
        " process.",
    )

    @field_validator("url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        try:
            return None if url is None else checked_address(url)
        except UsageError as error:
            raise ValueError(f"{error.detail} {error.remedy}") from None


Gate = Literal["kind", "stored", "none"]


class CrawlOptions(BaseModel):
    """Settings of a crawl's questions and kept answers (docs/how-to/grow-a-graph.md)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: int = Field(default=5, ge=0, le=10, description="Steps from the start entities.")
    samples: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="Answers drawn for each wording; default 5, behind examples the most likely"
        " one.",
    )
    wordings: int = Field(default=4, ge=1, le=8, description="Wordings of each question.")
    pair_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Least top fraction of answers, else unknown; default .8, of most likely"
        " answers .5.",
    )
    object_threshold: float = Field(
        default=0.2, ge=0, le=1, description="Least fraction of answers that name an object."
    )
    agreement: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Least fraction of wordings that name an object; default .75, of most likely"
        " answers .5.",
    )
    gate: Gate | None = Field(
        default=None,
        description="Ask a relation only of subjects of a kind seen with it: the kind that the"
        " model gives, or the one stored with the base graph; none: of every subject. Default:"
        " kind, behind examples stored where the graph has kinds.",
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

    def settled(self, *, most_likely: bool = False, gate: Gate = "kind") -> SettledCrawl:
        """The options with every default in its place.

        Args:
            most_likely: each wording gets the most likely answer, so that a fraction of answers is
                one of wordings.
            gate: for a request that names none.
        """
        usual = {"gate": gate} | (MOST_LIKELY if most_likely else {})
        return SettledCrawl.model_validate(usual | self.model_dump(exclude_none=True))


MOST_LIKELY = {"samples": 1, "pair_threshold": 0.5, "agreement": 0.5}
"""Defaults where each wording gets the most likely answer: half of the wordings must agree."""


class SettledCrawl(CrawlOptions):
    """The options of a crawl without open ones; defaults are those of drawn answers."""

    samples: int = 5
    pair_threshold: float = 0.8
    agreement: float = 0.75
    gate: Gate = "kind"


class GrowthIn(BaseModel):
    """A request to grow a graph from a model."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        json_schema_extra={
            "examples": [
                {
                    "seed": "Harry Potter",
                    "elicit": "crawl",
                    "base": "hogwarts",
                    "answers": {"model": "organism"},
                    "crawl": {"depth": 1},
                }
            ]
        },
    )

    seed: str | None = Field(
        default=None,
        max_length=1200,
        description="`subject|relation|object`; a crawl needs the subject only.",
    )
    graph: Annotated[Name | None, Option(flags=("--graph", "-g"))] = Field(
        default=None,
        description="Id of the graph that is made; null: named after the seed and the model.",
    )
    base: Name | None = Field(
        default=None,
        description="Stored graph that gives relations, entities and training text.",
    )
    elicit: Elicit = Field(default="cot", description="cot or crawl.")
    answers: EndpointIn = Field(
        default=EndpointIn(),
        description="The model whose knowledge is grown; it also words questions and reads"
        " triplets.",
    )
    judge_model: EndpointIn | None = Field(
        default=None, description="Another model that judges; null: the one that answers."
    )
    samples: int = Field(default=5, ge=1, le=100, description="Answers to a validating question.")
    pass_share: Annotated[float | None, Option(flags=("--pass",))] = Field(
        default=None, gt=0, le=1, description="Least fraction of right answers; default 1/samples."
    )
    k_max: int = Field(default=3, ge=1, le=20, description="Questions tried before discarding.")
    cot_samples: int = Field(default=1, ge=1, le=20, description="Reasoning answers a question.")
    temperature: float = Field(default=1.0, ge=0, le=2, description="Of the answers.")
    greedy: Annotated[
        bool, Option(help="Accept a server that does not sample: one most likely answer.")
    ] = Field(
        default=False, description="Accept a server that does not sample: one most likely answer."
    )
    random_seed: int = Field(default=0, ge=0, lt=2**31, description="Seed of the answers.")
    max_steps: int = Field(default=5, ge=1, le=5, description="Longest chain.")
    chains: int = Field(default=100, ge=1, description="Stop at this many chains.")
    iterations: int = Field(default=10, ge=1, le=1000, description="Most iterations.")
    max_calls: int | None = Field(default=None, ge=1, description="Most answers.")
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens, both ways.")
    max_seconds: float | None = Field(default=None, gt=0, description="Most seconds.")
    refine: Refine = Field(
        default="none", description="Who rewords a failed question: none, model or human."
    )
    judge: JudgeKind = Field(
        default="none",
        description="Who decides about found triplets: none, human, model or both; check: a model's"
        " verdicts are stored only.",
    )
    single_link: Annotated[bool, Option(flags=("--single-link/--no-single-link",))] = Field(
        default=True, description="At most one fact an ordered pair of entities."
    )
    crawl: CrawlOptions = Field(default=CrawlOptions(), description="Options of `elicit: crawl`.")
    as_new: bool = Field(
        default=False, exclude=True, description="Begin another run of the same request."
    )
    force: ClassVar[bool] = True
    """A run that is submitted again continues: what is stored is not asked again."""

    @model_validator(mode="after")
    def _complete(self) -> GrowthIn:
        if self.seed is None and self.base is None:
            raise ValueError("nothing says where to begin: give a seed, or a base graph")
        return self


class JudgeRow(BaseModel):
    """The model judge against people, and people against each other, in one iteration or in all.

    Positive is a triplet that a person keeps, corrects or adds. Null where undefined.
    """

    iteration: int | None = Field(description="Null: all iterations.")
    judged: int = Field(description="Triplets that the judge decided.")
    both: int = Field(description="Of them, triplets that a person decided too.")
    tp: int = Field(description="Both keep it.")
    fp: int = Field(description="The judge alone keeps it.")
    fn: int = Field(description="The person alone keeps it.")
    tn: int = Field(description="Neither keeps it.")
    precision: float | None = Field(description="tp / (tp + fp).")
    recall: float | None = Field(description="tp / (tp + fn).")
    f1: float | None = Field(description="Null where precision or recall is.")
    rated: int = Field(description="Candidates that two persons or more decided.")
    pairwise: float | None = Field(description="Of them: mean fraction of equal pairs.")
    unanimous: float | None = Field(description="Of them: fraction on which all agree.")
    ac1: float | None = Field(description="Of them: Gwet's AC1.")
    alpha: float | None = Field(description="Of them: Krippendorff's alpha, nominal.")


class GrowthOut(Result):
    """A growth run as it is now: it changes while it grows, and with each decision."""

    request: Annotated[dict[str, Any], rows.FROM_JSON] = Field(
        description="The request, with every option."
    )
    seed: str = Field(description="Its start: `subject|relation|object`, or an entity.")
    elicit: Elicit = Field(description="How triplets are found: cot or crawl.")
    model: str = Field(description="Name of the model.")
    endpoint: str = Field(
        description="Address of the model's server; empty where the service loads the model."
    )
    prompts: str = Field(default="", exclude=True, description="Digest of the prompts.")
    capabilities: str | None = Field(
        default=None, exclude=True, description="JSON of the endpoint's abilities, as found."
    )
    state: RunState = Field(
        description="growing, waiting_review (a person must decide), paused (a server was away) or"
        " finished."
    )
    stop_reason: str | None = Field(default=None, description="Why it stopped; null until then.")
    asked: str | None = Field(
        default=None,
        description="How the model is asked, with the measurements that chose it; null where"
        " nothing was chosen.",
    )
    scored_as: str | None = Field(
        default=None,
        description="`model` of an edit of the model that answered; null where a server answered.",
    )
    seconds: float = Field(description="Wall time of all attempts.")
    calls: int = Field(description="Answers, each asked once.")
    candidates: int = Field(description="Number of candidates.")
    to_review: int = Field(description="Candidates that a person shall decide.")
    decisions: int = Field(description="Number of decisions.")
    finished_at: str | None = Field(
        default=None, description="Time of its end, ISO 8601 in UTC; null before it."
    )
    iterations: list[IterationRow] = Field(description="Sizes and cost after each iteration.")
    counts: list[CandidateCountRow] = Field(
        default=[], description="Candidates by kind, state and reason; none while it runs."
    )
    judged: list[JudgeRow] = Field(
        default=[],
        description="The judge against people: a row an iteration, then all; none while it runs.",
    )

    @model_validator(mode="after")
    def _add(self) -> GrowthOut:
        """Add what follows from the stored columns; a client reads it from the answer."""
        if self.prompts:
            self.scored_as = scored_as(GrowthIn.model_validate(self.request))
        return self


def scored_as(posted: GrowthIn) -> str | None:
    """Return how an edit names the model that answered; None where it was behind an address.

    An organism is trained on the graph that is scored, unless its name says on which: here the one
    that gave the relations.
    """
    from ..scoring.runtime import parse, written

    if posted.answers.url is not None:
        return None
    spec = parse(posted.answers.model)
    return posted.answers.model if spec.organism is None else written(spec, posted.base)


# Schemas of a run's review: the same for CLI, REST, web UI and client.

Verdict = Literal["keep", "prune", "correct"]
DecidedBy = Literal["human", "judge"]
NameText = Annotated[str, Field(min_length=1, max_length=400)]
Annotator = Annotated[str, Field(min_length=1, max_length=100)]
Reason = Annotated[str, Field(max_length=2000)]


class Triplet(BaseModel):
    """Subject, relation and object by their names."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    subject: NameText = Field(description="Name.")
    relation: NameText = Field(description="Relation.")
    object: NameText = Field(description="Name.")
    question: NameText | None = Field(default=None, description="Of a correction: ask this.")

    @model_validator(mode="after")
    def _of_two(self) -> Triplet:
        if self.subject.casefold() == self.object.casefold():
            raise ValueError("subject and object are the same")
        return self


def _as_stored(value: object) -> object:
    """Return a triplet that is stored as JSON as it is, acceptable today or not."""
    return Triplet.model_construct(**json.loads(value)) if isinstance(value, str) else value


FROM_JSON = BeforeValidator(_as_stored)


class DecisionIn(BaseModel):
    """A person's decision about a candidate."""

    model_config = ConfigDict(extra="forbid")

    verb: Verdict = Field(description="keep, prune or correct.")
    by: Annotator = Field(description="Name of the person; distinguishes annotators.")
    after: Triplet | None = Field(default=None, description="The corrected triplet.")
    reason: Reason | None = Field(default=None, description="Why, in the person's words.")


class AddIn(BaseModel):
    """A triplet that a person adds to a run."""

    model_config = ConfigDict(extra="forbid")

    triplet: Triplet = Field(description="The triplet to add.")
    by: Annotator = Field(description="Name of the person who adds it.")
    reason: Reason | None = Field(default=None, description="Why, in the person's words.")


class DecisionOut(BaseModel):
    """A stored decision."""

    number: int = Field(description="From 1.")
    at: str = Field(description="Time of the decision, ISO 8601 in UTC.")
    role: DecidedBy = Field(description="Who decided: human or judge.")
    by: str = Field(description="Name of the person, or model@address.")
    verb: Verb = Field(description="keep, prune, correct or add.")
    candidate: str = Field(description="Id of the candidate.")
    before: Annotated[Triplet | None, FROM_JSON] = Field(
        description="Null where the triplet was added."
    )
    after: Annotated[Triplet | None, FROM_JSON] = Field(description="Null where it was pruned.")
    reason: str | None = Field(description="Why, in words; null without.")
    evidence: list[str] = Field(description="Ids of answers that the candidate rests on.")


class Recorded(BaseModel):
    """Recorded decisions, and how many candidates still wait for one."""

    number: int = Field(description="Number of the last decision, from 1.")
    candidate: str = Field(description="Id of the candidate of the last decision.")
    recorded: int = Field(default=1, description="Decisions recorded by this request.")
    waiting: int = Field(description="Candidates that still wait for a decision.")
    resumed: bool = Field(default=False, description="The run was queued again: nothing waits.")


class RecordedFile(Recorded):
    """The decisions of a file that were recorded, and the rows that are none of a person."""

    undecided: int = Field(description="Rows without a verb.")
    judged: int = Field(description="Rows of a model judge, which are recorded for no person.")


class Decisions(BaseModel):
    """The decisions of a run, oldest first."""

    items: list[DecisionOut] = Field(description="The items of this page, in order.")
    total: int = Field(description="Number of items on all pages.")


class CandidateFields(BaseModel):
    """A candidate as a run found it; a chain has its ends, and its relations joined by arrows."""

    id: str = Field(description="Id of the candidate.")
    kind: CandidateKind = Field(description="Triplet or chain.")
    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    prompt: str | None = Field(
        default=None, exclude=True, description="Cloze with one {} for the subject."
    )
    question: str | None = Field(
        default=None, description="Question that was asked for it; null without one."
    )
    state: CandidateState = Field(default="new", description="State of the candidate so far.")
    reason: str | None = Field(
        default=None, description="Why it is in this state; null where the state says all."
    )
    tries: int = Field(default=0, description="Number of questions that were tried.")
    share: float | None = Field(default=None, description="Answers that name the object.")
    n_answers: int = Field(default=0, description="Number of answers to its validating question.")
    iteration: int = Field(description="Iteration that found it.")
    place: int = Field(description="Place in the order of appearance.")


class CandidateOut(CandidateFields):
    """A stored candidate beside the decisions about it."""

    checks: Annotated[dict[str, Any] | None, rows.FROM_JSON] = Field(
        default=None, exclude=True, description="Further stored figures."
    )
    verdict: Verb | None = Field(description="What a person decided last.")
    decided_by: str | None = Field(description="Name of the person who decided last; null before.")
    corrected: Annotated[Triplet | None, FROM_JSON] = Field(
        description="The triplet that a person put in its place; null without a correction."
    )
    judged: Verdict | None = Field(
        description="Verdict of the judge: keep, prune or correct; null without one."
    )
    judge: str | None = Field(description="Name of the judge; null without one.")
    judge_corrected: Annotated[Triplet | None, FROM_JSON] = Field(
        description="The triplet that the judge would put in its place; null without one."
    )
    statements: list[str] = Field(description="Statements of the model that it was read from.")


class CandidatePage(BaseModel):
    """Candidates in order of appearance; `next` is null on the last page."""

    items: list[CandidateOut] = Field(description="The items of this page, in order.")
    next: str | None = Field(description="`cursor` of the next page; null on the last one.")
    total: int = Field(description="Candidates in these states, on all pages.")


class CandidateDetail(CandidateOut):
    """A candidate with the answers that it rests on and its decisions, oldest first."""

    evidence: list[EvidenceRow] = Field(description="The answers that it rests on.")
    decisions: list[DecisionOut] = Field(description="The decisions about it, oldest first.")


# The report of a crawl.


class LevelRow(BaseModel):
    """A level of a crawl."""

    depth: int = Field(description="Number of the level, from 0.")
    entities: int = Field(description="Number of entities that were asked about.")
    questions: int = Field(description="Pairs of entity and relation.")
    unknown: int = Field(description="Number of pairs that the model does not know.")
    refused: int = Field(description="Number of pairs about which the model declines to answer.")
    facts: int = Field(description="Number of facts that were kept.")
    new: int = Field(description="Entities that the level's facts name first.")


class CrawlReport(BaseModel):
    """A stored crawl."""

    run: str = Field(description="Id of the growth run.")
    graph: str = Field(description="Id of the graph.")
    model: str = Field(description="Name of the model.")
    start: str = Field(description="Entity that it began with; empty: all of its base graph.")
    stop_reason: str | None = Field(
        description="`frontier empty`, `depth` or `budget`; null while it is not finished."
    )
    asked: str | None = Field(
        default=None,
        description="How the model was asked, with the measurements that chose it.",
    )
    facts: int = Field(description="Number of facts that were kept.")
    base: str = Field(description="Id of the graph that gave relations and names.")
    confirmed: int = Field(description="Number of the kept facts that are in that graph, too.")
    unknown: int = Field(description="Number of pairs that the model does not know.")
    refused: int = Field(description="Number of pairs about which the model declines to answer.")
    entities: int = Field(description="Number of entities that were asked about.")
    questions: int = Field(
        description="Pairs of entity and relation, each asked in several wordings."
    )
    answers: int = Field(description="All answers, those about kinds included.")
    seconds: float = Field(description="Duration in seconds.")
    levels: list[LevelRow] = Field(description="The levels, from 0.")
