"""Results of a crawl: its report, also against a true graph, and how two crawls agree."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Retrieval(BaseModel):
    """What was found of what is true.

    Attributes:
        true: that could be found.
        found: that were found, true or not.
        right: of the found ones that are true.
        recalled: of `true` that were found; less than `right` where more is true than could be
            found within the steps.
        precision, recall: right/found, recalled/true; None where that is 0/0.
        f1: harmonic mean of both; None where one is.
    """

    true: int
    found: int
    right: int
    recalled: int
    precision: float | None
    recall: float | None
    f1: float | None


class Chains(Retrieval):
    """Chains from the start to an object; chains over the same entities are one."""

    object: str
    missed: int = Field(description="True chains that were not found.")


class RelationRow(Retrieval):
    """The facts of one relation."""

    relation: str


class DepthRow(Retrieval):
    """The facts of one level."""

    depth: int


class CalibrationBin(BaseModel):
    """Objects whose fraction of answers is in an interval.

    Attributes:
        low, high: the interval, without `low` (the first bin has 0).
        n: objects.
        share: their mean fraction of answers; None without any.
        right: fraction of them that are true; None without any.
    """

    low: float
    high: float
    n: int
    share: float | None
    right: float | None


class Calibration(BaseModel):
    """Whether an object's fraction of answers is its probability to be true.

    Attributes:
        n: objects: all that answers of known pairs name, and the first of each unknown pair.
        brier: mean squared difference of fraction and truth (Brier 1950); None without objects.
    """

    n: int
    brier: float | None
    bins: list[CalibrationBin]


class AgainstTruth(BaseModel):
    """A crawl against a graph that holds the truth.

    Attributes:
        truth: id of that graph.
        steps: facts count as reachable whose subject is less than so many steps from the start.
        facts: `true` counts the reachable facts.
        entities: likewise.
    """

    truth: str
    steps: int
    facts: Retrieval
    entities: Retrieval
    chains: Chains | None
    calibration: Calibration
    by_relation: list[RelationRow]
    by_depth: list[DepthRow]


class LevelRow(BaseModel):
    """A level of a crawl.

    Attributes:
        entities: that were asked.
        questions: pairs of entity and relation.
        unknown, refused: pairs that the model does not know, or declines.
        facts: that were kept.
        new: entities that the level's facts name first.
    """

    depth: int
    entities: int
    questions: int
    unknown: int
    refused: int
    facts: int
    new: int


class CrawlReport(BaseModel):
    """A stored crawl.

    Attributes:
        stop_reason: `frontier empty`, `depth` or `budget`; None while it is not finished.
        asked: the way a model in this process was asked, with the measurement that chose it.
        questions: pairs of entity and relation, each asked in several wordings.
        answers: all answers, those about kinds included.
    """

    run: str
    graph: str
    model: str
    start: list[str]
    stop_reason: str | None
    asked: str | None = None
    facts: int
    unknown: int
    refused: int
    entities: int
    questions: int
    answers: int
    seconds: float
    levels: list[LevelRow]
    against: AgainstTruth | None = None


class Agreement(BaseModel):
    """Facts of two crawls, of two seeds for example.

    Attributes:
        jaccard: common/either; None where both are empty.
    """

    runs: tuple[str, str]
    facts: tuple[int, int]
    common: int
    either: int
    jaccard: float | None
