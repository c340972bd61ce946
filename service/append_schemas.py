"""Options of a request to append an answer, and how a score records them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from .request_options import Option

AppendLoss = Literal["none", "app", "all-answers"]
"""Content of an editor's loss besides the added answer: nothing, APP, or all answers as targets."""


class AppendOptions(BaseModel):
    """Settings by which the loss keeps a request's other answers (PEAK, §6)."""

    append_loss: Annotated[AppendLoss, Option(recorded="append.loss", since=5)] = Field(
        default="none",
        description="Of a request to append: none, app (PEAK's preservation of answers), or"
        " all-answers (the correct answers are targets too).",
    )
    alpha: Annotated[float | None, Option(recorded="append.alpha", since=5)] = Field(
        default=None, ge=0, description="APP: weight of the margin; default: the model's."
    )
    beta: Annotated[float | None, Option(recorded="append.beta", since=5)] = Field(
        default=None, ge=0, description="APP: weight of the correct answers; default: the model's."
    )
    gamma: Annotated[float | None, Option(recorded="append.gamma", since=5)] = Field(
        default=None, ge=0, description="APP: weight of the false answers; default: the model's."
    )
    neighbours: Annotated[str, Option(recorded="append.neighbours", since=5)] = Field(
        default="all",
        pattern=r"^(all|[0-9]{1,4})$",
        description="APP: number k of correct and of false answers, or all.",
    )
    app_lists: Annotated[Literal["all", "kept"], Option(recorded="append.lists", since=5)] = Field(
        default="all",
        description="APP: the request's answers (all), or those that its filter keeps (kept).",
    )
    allow_known: Annotated[bool, Option(recorded="append.allow_known", since=5)] = Field(
        default=False, description="Append an answer that is among the correct ones already."
    )


class AppendOut(BaseModel):
    """Description of an appended answer (PEAK, Ma et al. 2024, §6)."""

    loss: AppendLoss = Field(
        default="none", description='None (the bare method), app, or all-answers ("+").'
    )
    alpha: float | None = Field(
        default=None, description="Weight α of APP's losses; null where `loss` is not app."
    )
    beta: float | None = Field(
        default=None, description="Weight β of APP's losses; null where `loss` is not app."
    )
    gamma: float | None = Field(
        default=None, description="Weight γ of APP's losses; null where `loss` is not app."
    )
    neighbours: str = Field(
        default="all", description="Number k of correct and of false answers in APP, or all."
    )
    lists: Literal["all", "kept"] = Field(
        default="all",
        description="Answers that APP took: all of the request, or those kept by its filter.",
    )
    allow_known: bool = Field(
        default=False, description="The new answer was among the correct ones already."
    )
    n_correct: int = Field(description="Number of the request's correct answers.")
    n_hard: int = Field(description="Number of the request's hard false answers.")
    n_random: int = Field(description="Number of the request's random false answers.")
