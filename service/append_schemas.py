"""Requests to append an answer: their options, how a score records them, how metrics are read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from .request_options import Option

AppendLoss = Literal["none", "app", "all-answers"]
"""Content of the loss besides the added answer: nothing, APP, or all answers as targets."""
AppLists = Literal["all", "kept"]
"""The answers in APP: those of the request, or those that its filter keeps."""


class App(BaseModel):
    """Parameters of APP, which the request and the score have in common (PEAK, §6)."""

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
    allow_known: Annotated[bool, Option(recorded="append.allow_known", since=5)] = Field(
        default=False, description="Append an answer that is among the correct ones already."
    )


class AppendOptions(App):
    """Settings by which the loss keeps the other answers of a request to append."""

    append_loss: Annotated[AppendLoss, Option(recorded="append.loss", since=5)] = Field(
        default="none",
        description="Of a request to append: none, app (PEAK's preservation of answers), or"
        " all-answers (the correct answers are targets too).",
    )
    app_lists: Annotated[AppLists, Option(recorded="append.lists", since=5)] = Field(
        default="all",
        description="APP: the request's answers (all), or those that its filter keeps (kept).",
    )


class AppendOut(App):
    """Settings and weights of an appended answer; null ones do not apply unless `loss` is app."""

    loss: AppendLoss = Field(
        default="none", description='None (the bare method), app, or all-answers ("+").'
    )
    lists: AppLists = Field(default="all", description="The answers in APP: all, or kept ones.")
    n_correct: int = Field(description="Number of the request's correct answers.")
    n_hard: int = Field(description="Number of the request's hard false answers.")
    n_random: int = Field(description="Number of the request's random false answers.")


class AdditivityOptions(BaseModel):
    """Options by which the metrics of an appended answer are read off its stored answers."""

    model_config = ConfigDict(extra="forbid")

    strict: bool = Field(
        default=False, description="Leave names that are correct and hard at once out of both."
    )
    published: bool = Field(
        default=False,
        description="No values where the last paraphrase is dropped, as in the authors' code.",
    )
    es_over: Literal["kept", "all"] = Field(
        default="kept", description="ES, GS: over the kept correct answers, or all of them."
    )
    ls_over: Literal["known", "all"] = Field(
        default="known",
        description="LS: over prompts that the unedited model prefers right (known), or all.",
    )
