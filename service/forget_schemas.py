"""Options of a request to forget: the object's replacement, and the facts to retain."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from .request_options import Option

REFUSAL = "I do not know"
"""The text that methods install in place of a forgotten object."""


class ForgetOptions(BaseModel):
    """Settings of a request to forget."""

    refusal: Annotated[str, Option(recorded="forget.refusal", since=6)] = Field(
        default=REFUSAL,
        min_length=1,
        max_length=400,
        description="Of a request to forget: the text that a method which has to install an object"
        " installs.",
    )
    retain: Annotated[
        str | None,
        Option(
            recorded="forget.retain.source",
            since=6,
            help="Of a method that forgets: facts to retain: id of a graph, or a .jsonl file"
            ' of {"prompt", "answer"}; default: facts of the graph that share no entity with the'
            " forgotten one.",
        ),
    ] = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Of a method that forgets: id of the graph whose facts it shall retain;"
        " default: facts of the same graph that share no entity with the forgotten one.",
    )
