"""Results of asking in several forms: of a model before an edit, and of an edit."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, Field

from ...cypher.rows.forms import FormCounts
from ..base.statistics import wilson

KNOWN_CLOZE = 0.2
"""Likelihood of the cloze from which a fact counts for a form."""
LEAST_FACTS = 20
"""Known facts from which on a form's unedited accuracy decides."""
TOO_FEW = "too few facts to say"


class FormAccuracy(BaseModel):
    """The accuracy of an unedited model in one form, over facts that it knows by the cloze."""

    form: str = Field(description="Form and variant, such as `question/3-shot`.")
    protocol: str = Field(
        description="Form, examples, scoring and version; figures of different protocol ids are"
        " not comparable."
    )
    is_control: bool = Field(
        default=False, description="True if it shows how far the form is answered without the fact."
    )
    n: int = Field(
        description="Facts (chains, for `composed`) whose cloze has a likelihood of .2 or more."
    )
    excluded: int = Field(
        description="Those left out, as their cloze has less, or the answer is undecided."
    )
    undecided: int = Field(default=0, description="Known facts whose answer is undecided.")
    length: float | None = Field(default=None, description="Mean tokens of a written answer.")
    accuracy: float | None = Field(
        description="Fraction in which the right object is the likeliest option; null where n is 0,"
        " and for a form with several right answers."
    )
    low: float | None = Field(description="Lower end of its 95 % interval (Wilson).")
    high: float | None = Field(description="Upper end of its 95 % interval (Wilson).")
    chance: float | None = Field(description="Accuracy by chance: 1 / options, mean over facts.")
    p: float | None = Field(description="Mean probability of the right object.")
    margin: float | None = Field(
        description="Mean of ln P(right) − mean ln P(other options); null where one is 0."
    )
    further: float | None = Field(default=None, description="Mean of the form's further number.")
    further_is: str | None = Field(default=None, description="What the further number is.")
    least: float | None = Field(
        default=None, description="Further number from which on the form is measurable."
    )
    control: float | None = Field(
        default=None, description="Accuracy of the form's control, which its own must exceed."
    )
    measurable: bool = Field(
        description="True if the interval lies above chance and above the control, over 20 facts or"
        " more, and the further number is not too small. A form without accuracy counts as"
        " measurable, and is read beside its unedited value."
    )
    by_probability: bool = Field(
        description="True if at least half of the facts have a probability of .2 or more; else only"
        " ranks and margins of the form are used."
    )
    tokens: float | None = Field(
        default=None,
        description="Tokens that a fact costs, divided by those of the cloze; each beginning is"
        " counted once.",
    )
    left_out: dict[str, int] = Field(
        default={}, description="Facts that cannot be asked in the form, by reason."
    )

    @property
    def reason(self) -> str | None:
        """Why the form is not measurable; None where it is."""
        if self.measurable:
            return None
        if self.n < LEAST_FACTS:
            return f"{TOO_FEW}: {self.n} of {LEAST_FACTS}"
        found = ", ".join(f"{bound:.2f}".lstrip("0") for bound in (self.low or 0, self.high or 0))
        parts = [f"unedited accuracy {_short(self.accuracy)} [{found}]"]
        parts.append(f"chance {_short(self.chance)}")
        if self.control is not None:
            parts.append(f"control {_short(self.control)}")
        if self.least is not None:
            parts.append(f"{self.further_is} {_short(self.further)} (least {_short(self.least)})")
        return f"not measurable here: {', '.join(parts)}"


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".lstrip("0") or "0"


def interval(accuracy: float | None, n: int) -> tuple[float | None, float | None]:
    """The Wilson interval of a fraction; (None, None) without one."""
    return wilson(accuracy, n) if accuracy is not None and n else (None, None)


class FormOut(FormCounts):
    """The change by an edit in one form, beside the unedited model's accuracy in it."""

    low: float | None = Field(
        default=None, description="Lower end of the 95 % interval (Wilson) of `wins`."
    )
    high: float | None = Field(default=None, description="Upper end likewise.")
    further_is: str | None = Field(default=None, description="What the further number is.")
    unedited: FormAccuracy = Field(description="The unedited model's accuracy in this form.")
    reason: str | None = Field(
        default=None, description="Why there is no efficacy in this form; null where there is."
    )


class MethodForm(BaseModel):
    """One form over the rewrites that a method edited: means over those with an efficacy there."""

    model: str = Field(description="The edited model.")
    method: str = Field(description="The editing method.")
    form: str = Field(description="Form and variant, such as `question/3-shot`.")
    protocol: str = Field(
        description="Form, examples, scoring and version; edits with another protocol id are left"
        " out."
    )
    is_control: bool = Field(
        description="True if it shows how far the form is answered without the fact."
    )
    rewrites: int = Field(description="Rewrites that have an efficacy in the form.")
    families: int = Field(description="Families of these rewrites.")
    asked: int = Field(description="Rewrites that were asked in the form.")
    wins_pre: float | None = Field(
        description="Fraction in which the new object was the likeliest option before the edit."
    )
    wins: float | None = Field(
        description="Fraction in which the new object is the likeliest option after it; null where"
        " `rewrites` is 0."
    )
    low: float | None = Field(
        description="Lower end of its 95 % interval over families of rewrites; null below two."
    )
    high: float | None = Field(description="Upper end of that interval.")
    p_new: float | None = Field(description="Mean probability of the new object after the edit.")
    p_old: float | None = Field(description="Mean probability of the old object after the edit.")
    margin: float | None = Field(
        description="Mean of ln P(new) − ln P(old) after the edit; null where one is undefined."
    )
    facts: int = Field(description="Other facts that were asked, over all edits.")
    right_pre: float | None = Field(
        description="Fraction of them whose object was the likeliest option before the edit."
    )
    right: float | None = Field(
        description="Fraction of them whose object is the likeliest option after it."
    )
    reason: str | None = Field(
        description="Why there is no efficacy in the form; null where there is."
    )


UNKNOWN_CLOZE = "the model did not know the fact by its cloze (.2)"
EFFICACY = ("p_new", "p_old", "margin", "wins", "further")
"""Numbers that a form which is not measurable does not have."""


def form_out(counts: FormCounts, unedited: FormAccuracy) -> FormOut:
    """The counts without numbers that the unedited model's accuracy does not allow.

    A form that it answers no better than chance has no efficacy. One whose probabilities are small
    on facts that it knows has ranks and margins alone.
    """
    shown = counts.model_dump()
    reason = unedited.reason or (None if counts.n else UNKNOWN_CLOZE)
    hidden = () if unedited.by_probability else ("p_new", "p_old")
    for name in EFFICACY if reason else hidden:
        shown |= {name: None, f"{name}_pre": None}
    low, high = interval(shown["wins"], counts.n)
    return FormOut(
        **shown, low=low, high=high, further_is=unedited.further_is, unedited=unedited,
        reason=reason,
    )  # fmt: skip


def left_out(unedited: FormAccuracy, reason: str) -> FormOut:
    """A form in which an edit could not be asked, with the reason."""
    names = FormCounts.model_fields.keys() - {"answers", "undecided_pre", "undecided"}
    fields: dict[str, object] = dict.fromkeys(names) | {
        "form": unedited.form,
        "protocol": unedited.protocol,
    }
    fields |= dict.fromkeys(("n", "excluded", "facts"), 0)
    return FormOut.model_validate(fields | {"unedited": unedited, "reason": reason})


def weakest(forms: Iterable[FormOut]) -> FormOut | None:
    """The measurable form, no control, in which the new object wins least by margin.

    Forms that are scored in pairs are left out: their margins are differences of margins.
    """
    found = [
        each for each in forms
        if each.margin is not None and each.unedited.accuracy is not None
        and not each.unedited.is_control and "/pairs/" not in each.protocol
    ]  # fmt: skip
    return min(found, key=lambda each: each.margin or 0.0, default=None)
