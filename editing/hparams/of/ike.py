"""Hyperparameters of `ike`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ... import retrievers
from ..schema import Bounds, Schema, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(Schema):
    """IKE's published keys, and the options in which its published forms differ.

    Attributes:
        k: maximum number of demonstrations (published files 16; the paper 32).
        retriever: a name of `editing.retrievers.names()`.
        mix: `ratio` (the paper) or `published_code` (one flat list).
        ratio: copy : update : retain.
        order: `similar_last` (the paper) or `similar_first` (published code).
        room: tokens reserved for question and answer, unless the caller passes their number.
        exclude_named: True if demonstrations that name the subject or a target are excluded; false
            as in the published code, whose demonstrations come from facts apart from the edited
            ones, but may name them. Facts that are probed are never shown.
        sentence_model_name: the published encoder, recorded only; see `retriever`.
    """

    BOUNDS: ClassVar[Bounds] = {
        "k": (0, 10_000),
        "ratio": (0, 10_000),
        "room": (1, 1_000_000),
    }

    k: int = 16
    retriever: str = "tfidf"
    mix: Literal["ratio", "published_code"] = "ratio"
    ratio: tuple[int, ...] = (1, 3, 4)
    order: Literal["similar_last", "similar_first"] = "similar_last"
    room: int = 64
    model_name: str | None = None
    sentence_model_name: str | None = None
    exclude_named: bool = True

    def check(self) -> None:
        """Check ranges, and that the retriever exists."""
        require(self.k >= 0, "'k' must not be negative")
        require(self.room >= 1, "'room' must be 1 or more")
        fits = len(self.ratio) == 3 and min(self.ratio) >= 0 and sum(self.ratio) > 0
        require(fits, "'ratio' is a list of three numbers from 0: copy, update, retain")
        retrievers.get(self.retriever)
