"""Tables of forms of asking: what an unedited model answers in each, and what an edit changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...cypher.rows.forms import RawAnswer
from ..base.formatting import UNDEFINED, cell, number, signed, with_interval
from ..models.forms import FormAccuracy, FormOut, weakest
from .formats import Column, Table

ACCURACY_NOTE = (
    "Accuracy among the options over the facts whose cloze has .2 or more, with its 95 % interval;"
    " a form is measurable if the interval lies above chance, and above its control, over 20 facts"
    " or more. Cost: tokens of"
    " a fact divided by those of the cloze. Only figures of one protocol id are comparable."
)


def accuracy_table(found: Sequence[FormAccuracy]) -> Table[FormAccuracy]:
    """One row a form: the accuracy of the unedited model against chance."""
    columns: list[Column[FormAccuracy]] = [
        Column("form", lambda row: row.form, whole=True),
        Column("n", lambda row: row.n),
        Column("accuracy", _accuracy),
        Column("chance", lambda row: row.chance, number),
        Column("P(right)", lambda row: row.p, number),
        Column("measurable", status, whole=False),
        Column("further", _further, optional=3),
        Column("cost", lambda row: row.tokens, times, optional=1),
        Column("protocol", lambda row: row.protocol, whole=True, optional=2),
    ]  # fmt: skip
    values: list[Column[FormAccuracy]] = [
        Column(name, lambda row, name=name: getattr(row, name), cell)
        for name in FormAccuracy.model_fields
        if name != "left_out"
    ]
    title = "Forms of asking: the unedited model"
    return Table("forms", title, columns, found, ACCURACY_NOTE, values)


def times(value: float | None) -> str:
    """A factor with one decimal."""
    return UNDEFINED if value is None else f"{value:.1f}"


def _further(row: FormAccuracy) -> str:
    if row.further is None:
        return UNDEFINED
    found = f"{row.further_is}: {number(row.further)}"
    if row.length is not None:
        found += f"; {row.undecided} undecided; {row.length:.0f} tokens"
    return found


def _accuracy(row: FormAccuracy) -> str:
    if row.accuracy is None:
        return UNDEFINED
    return with_interval(row.accuracy, row.low, row.high)


def status(row: FormAccuracy) -> str:
    """Measurable or why not; of a control, and of a form without accuracy, that it is one."""
    if row.n == 0 and row.left_out:
        reason = max(row.left_out, key=lambda text: row.left_out[text])
        return f"not asked: {reason}"
    if row.is_control:
        return "control"
    if row.reason:
        return row.reason
    if row.accuracy is None:
        return "read beside its unedited value"
    found = "yes" if row.by_probability else "yes, by rank"
    if row.least is not None and row.further is not None:
        found += f"; {row.further_is} {number(row.further)}"
    return found


def forms_table(found: Sequence[FormOut]) -> Table[FormOut]:
    """One row a form: the edited fact before and after the edit."""

    def moved(before: str, after: str) -> Callable[[FormOut], str]:
        return lambda row: _arrow(getattr(row, before), getattr(row, after))

    columns: list[Column[FormOut]] = [
        Column("form", lambda row: row.form, whole=True),
        Column("n", lambda row: row.n),
        Column("P(new)", moved("p_new_pre", "p_new")),
        Column("P(old)", moved("p_old_pre", "p_old"), optional=2),
        Column("margin", moved("margin_pre", "margin")),
        Column("new wins", _wins),
        Column("others right", _kept, optional=3),
        Column("unedited", lambda row: _accuracy(row.unedited), optional=1),
        Column("note", remark),
    ]
    values: list[Column[FormOut]] = [
        Column(name, lambda row, name=name: getattr(row, name), cell)
        for name in FormOut.model_fields
        if name not in ("unedited", "answers")
    ]
    note = FORMS_NOTE
    if (least := weakest(found)) is not None:
        note = f"Weakest measurable form: {least.form}, margin {signed(least.margin)}. {note}"
    return Table("forms", "Asked in other ways", columns, found, note, values)


FORMS_NOTE = (
    "Before → after the edit. Margin: ln P(new) − ln P(old). New wins: the new object is the"
    " likeliest option. Others right: facts of the subject and on chains whose object is the"
    " likeliest option. Unedited: accuracy of the unedited model in the form; without one above"
    " chance the form has no efficacy."
)


def answers_table(found: Sequence[FormOut]) -> Table[tuple[str, RawAnswer]] | None:
    """Written answers before and after an edit, one row each; None where there are none."""
    rows = [(form.form, answer) for form in found for answer in form.answers]
    if not rows:
        return None
    columns: list[Column[tuple[str, RawAnswer]]] = [
        Column("form", lambda row: row[0], whole=True),
        Column("asked about", lambda row: row[1].subject),
        Column("before", lambda row: row[1].before),
        Column("after", lambda row: row[1].after),
    ]
    return Table("answers", "Answers in the model's own words", columns, rows)


def _arrow(before: float | None, after: float | None) -> str:
    if before is None and after is None:
        return UNDEFINED
    return f"{number(before)} → {number(after)}"


def _wins(row: FormOut) -> str:
    if row.wins is None:
        return UNDEFINED
    return with_interval(row.wins, row.low, row.high)


def _kept(row: FormOut) -> str:
    return f"{_arrow(row.right_pre, row.right)} ({row.facts})" if row.facts else UNDEFINED


def remark(row: FormOut) -> str:
    """Why a form has no efficacy; that it is a control or by rank; else its further number."""
    if row.reason:
        return row.reason
    if row.answers and row.wins is None:
        return "undecided"
    parts = ["control"] * row.unedited.is_control
    parts += ["by rank"] * (not row.unedited.by_probability)
    if row.further_is and row.further is not None:
        parts.append(f"{row.further_is}: {_arrow(row.further_pre, row.further)}")
    return "; ".join(parts)
