"""Results of a crawl: its report, also against a true graph, and how two crawls agree."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Retrieval(BaseModel):
    """Items found, compared with the true ones."""

    true: int = Field(description="Number of those that could be found.")
    found: int = Field(description="Number of those that were found, true or not.")
    right: int = Field(description="Number of the found ones that are true.")
    recalled: int = Field(
        description="Number of those of `true` that were found; less than `right` where more is"
        " true than could be found within the steps."
    )
    precision: float | None = Field(description="right / found; null where none was found.")
    recall: float | None = Field(description="recalled / true; null if `true` is 0.")
    f1: float | None = Field(
        description="Harmonic mean of precision and recall; null where one of them is undefined."
    )


class Chains(Retrieval):
    """Chains from the start to an object; chains over the same entities are one."""

    object: str = Field(description="Object that the chains end at.")
    missed: int = Field(description="True chains that were not found.")


class RelationRow(Retrieval):
    """The facts of one relation."""

    relation: str = Field(description="Relation of the fact.")


class DepthRow(Retrieval):
    """The facts of one level."""

    depth: int = Field(description="Level of the crawl, from 0.")


class CalibrationBin(BaseModel):
    """Objects whose fraction of answers is in an interval."""

    low: float = Field(
        description="Lower end of the interval, not part of it (the first bin has 0)."
    )
    high: float = Field(description="Upper end of the interval, part of it.")
    n: int = Field(description="objects.")
    share: float | None = Field(
        description="Mean fraction of answers of its objects; null without any."
    )
    right: float | None = Field(description="Fraction of them that are true; null without any.")


class Calibration(BaseModel):
    """Calibration: an object's fraction of answers against how often it is true."""

    n: int = Field(
        description="objects: all that answers of known pairs name, and the first of each unknown"
        " pair."
    )
    brier: float | None = Field(
        description="Mean squared difference of fraction and truth (Brier 1950); null without"
        " objects."
    )
    bins: list[CalibrationBin] = Field(description="Objects by fraction of answers.")


class AgainstTruth(BaseModel):
    """A crawl against a graph that holds the truth."""

    truth: str = Field(description="Id of that graph.")
    steps: int = Field(
        description="Facts count as reachable whose subject is less than so many steps from the"
        " start."
    )
    facts: Retrieval = Field(description="`true` counts the reachable facts.")
    entities: Retrieval = Field(description="likewise.")
    chains: Chains | None = Field(
        description="Chains from the start to the object; null without an object."
    )
    calibration: Calibration = Field(
        description="Fractions of answers compared with the truth of the facts."
    )
    by_relation: list[RelationRow] = Field(description="The facts by relation.")
    by_depth: list[DepthRow] = Field(description="The facts by level.")


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
    start: list[str] = Field(description="Names of the entities that it began with.")
    stop_reason: str | None = Field(
        description="`frontier empty`, `depth` or `budget`; null while it is not finished."
    )
    asked: str | None = Field(
        default=None,
        description="The way a model in this process was asked, with the measurement that chose"
        " it.",
    )
    facts: int = Field(description="Number of facts that were kept.")
    unknown: int = Field(description="Number of pairs that the model does not know.")
    refused: int = Field(description="Number of pairs about which the model declines to answer.")
    entities: int = Field(description="Number of entities that were asked about.")
    questions: int = Field(
        description="Pairs of entity and relation, each asked in several wordings."
    )
    answers: int = Field(description="All answers, those about kinds included.")
    seconds: float = Field(description="Duration in seconds.")
    levels: list[LevelRow] = Field(description="The levels, from 0.")
    against: AgainstTruth | None = Field(
        default=None, description="The crawl against a true graph; null without one."
    )


class Agreement(BaseModel):
    """Facts of two crawls, of two seeds for example."""

    runs: tuple[str, str] = Field(description="Ids of the two crawls.")
    facts: tuple[int, int] = Field(description="Number of facts of each.")
    common: int = Field(description="Number of facts that both have.")
    either: int = Field(description="Number of facts that at least one has.")
    jaccard: float | None = Field(description="common/either; null where both are empty.")
