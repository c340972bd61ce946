"""Results of the questions of a data set over several edits."""

from __future__ import annotations

from pydantic import BaseModel, Field

TRUTH_RATIO = "truth_ratio"
"""The criterion whose questions ask for TOFU's truth ratio."""


class MethodCheck(BaseModel):
    """One criterion over the edits of a method: means over its units, an edit or a case each."""

    model: str = Field(description="The edited model.")
    method: str = Field(description="The editing method.")
    criterion: str = Field(
        description="The paper's name: `multi_hop`, `Compositionality_I`, `portability/Reasoning`;"
        " `edit_wise` is MQuAKE's edit-wise success."
    )
    metric: str | None = Field(
        description="Name of the metric in the paper, where it is another; null for others."
    )
    units: int = Field(
        description="Edits with items; edits with the same questions (a case of MQuAKE, an event"
        " of ELKEN) are one."
    )
    families: int = Field(description="Families of the rewrites of these, of those that count.")
    items: int = Field(description="Items of all units that count.")
    left_out: int = Field(
        description="Further items, whose conditions the unedited model did not meet."
    )
    right_pre: float | None = Field(
        description="Mean fraction of right items before the edit; null without a decided one."
    )
    right: float | None = Field(description="Mean fraction of right items after it.")
    n: int = Field(description="Units that it is over.")
    low: float | None = Field(
        description="Lower end of its 95 % interval over families of rewrites; null below two."
    )
    high: float | None = Field(description="Upper end of that interval.")
    old_pre: float | None = Field(
        default=None, description="Mean fraction with an answer of before the edit, then."
    )
    old: float | None = Field(default=None, description="That fraction after the edit.")
    n_old: int = Field(default=0, description="Units that it is over.")
    stated_pre: float | None = Field(
        default=None, description="Mean result before the edit that the file itself states."
    )
    stated: float | None = Field(default=None, description="Mean stated result after it.")
    n_stated: int = Field(default=0, description="Units with one.")
    reason: str | None = Field(
        default=None, description="Why `right` is undefined; null where it is defined."
    )


class ForgetQuality(BaseModel):
    """TOFU's truth ratios of a method's questions, and what follows from them."""

    model: str = Field(description="The model.")
    method: str = Field(description="The method or, in a comparison, the state.")
    asked: int = Field(description="Questions that ask for a truth ratio.")
    n: int = Field(description="Those that have one before and after.")
    ratio_pre: float | None = Field(description="Mean truth ratio before; null where n is 0.")
    ratio: float | None = Field(description="Mean truth ratio after.")
    distance: float | None = Field(
        description="Kolmogorov-Smirnov distance of the truth ratios before and after."
    )
    forget_quality: float | None = Field(
        description="p of that test against a base that was trained without the forget set."
    )
    model_utility: float | None = Field(
        default=None, description="Always null: `utility_reason` says why."
    )
    reason: str | None = Field(description="Why there is no forget quality; null where there is.")
    utility_reason: str = Field(description="Why there is no model utility.")
