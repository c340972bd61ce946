"""The identity of a co-edit; refusal of one that no round could follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....editing import registry
from ....loaders.records import digest, slug
from ... import NUMBERS_VERSION
from ...errors import UsageError
from ...graphs import datasets
from ..schemas import CoEditIn
from . import objective

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ....loaders.records import RewriteRequest


WITH_JOINT_TARGETS = ("memit", "alphaedit", "rect", "prune")
"""Methods with the hyperparameter `joint_targets`."""


def id_of(db: Database, posted: CoEditIn, rewrite: RewriteRequest) -> str:
    """The id of a co-edit: the same for the same request of the same graph."""
    body = posted.model_dump(mode="json", exclude={"force", "rewrite"})
    about = [body, rewrite.identity, datasets.dataset(db, posted.graph).digest, NUMBERS_VERSION]
    return f"coedit-{slug(posted.method)}-{slug(rewrite.subject)[:32]}-{digest(about, 10)}"


def anchored(posted: CoEditIn) -> bool:
    """Return True if the other facts about co-edited subjects are edited to their own objects."""
    return posted.method in WITH_JOINT_TARGETS if posted.anchors is None else posted.anchors


def check(posted: CoEditIn, rewrite: RewriteRequest) -> None:
    """Refuse a request that no round could follow.

    Raises:
        UsageError: see `co_edit`.
    """
    if rewrite.kind == "append":
        raise UsageError(
            f"{rewrite.id} appends an answer: no old fact can leak, so there is nothing to cut.",
            remedy=f"`thinkeval rewrites {posted.graph}` lists the rewrites.",
        )
    if rewrite.kind == "forget":
        raise UsageError(
            f"{rewrite.id} asks to forget, and names no new object that a co-edit could install.",
            remedy="`thinkeval leakcut EDIT` lists what else gives the old object away; forget that"
            " too.",
        )
    if posted.method == "none" or registry.info(posted.method).kind == "control":
        raise UsageError(
            f"{posted.method} is a control, which edits nothing for good.",
            remedy="Take an editing method, for example memit; `thinkeval methods` lists them.",
        )
    if registry.forgets(posted.method):
        raise UsageError(
            f"{posted.method} makes a model forget and installs no object, so no fact follows.",
            remedy="Take a method that replaces, for example memit.",
        )
    if posted.strength != 1:
        raise UsageError("A co-edit edits as the method computes it, so its strength is 1.")
    if posted.anchors and posted.method not in WITH_JOINT_TARGETS:
        raise UsageError(
            f"{posted.method} has no joint target vectors, which anchors need.",
            remedy=f"Take {', '.join(WITH_JOINT_TARGETS)}, or leave out anchors.",
        )
    if posted.objective:
        objective.parse(posted.objective)
