"""The rule by which a form is measurable, and the numbers that an edit has in one that is not."""

from __future__ import annotations

from typing import Any

import pytest

from thinkeval.cypher.rows.forms import FormAccuracyRow, FormCounts, RawAnswer
from thinkeval.service.base.statistics import wilson
from thinkeval.service.forms.registry import chosen
from thinkeval.service.models.forms import (
    EFFICACY,
    UNKNOWN_CLOZE,
    FormAccuracy,
    form_out,
    left_out,
    weakest,
)
from thinkeval.service.reports.forms import (
    accuracy_table,
    answers_table,
    forms_table,
    remark,
    status,
)
from thinkeval.service.scoring.battery import accuracies


def accuracy(n: int = 60, value: float | None = 0.9, **changes: Any) -> FormAccuracy:
    low, high = wilson(value, n) if value is not None and n else (None, None)
    fields = {
        "form": "question/0-shot", "protocol": "question/0-shot/likelihood/v1", "n": n,
        "excluded": 0, "accuracy": value, "low": low, "high": high, "chance": 0.25, "p": 0.6,
        "margin": 1.0, "measurable": True, "by_probability": True,
    }  # fmt: skip
    return FormAccuracy.model_validate(fields | changes)


def counts(n: int = 1, **changes: Any) -> FormCounts:
    fields = dict.fromkeys(FormCounts.model_fields, 0.5) | {
        "form": "question/0-shot", "protocol": "question/0-shot/likelihood/v1", "n": n,
        "excluded": 0, "facts": 3, "undecided_pre": 0, "undecided": 0, "answers": [],
    }  # fmt: skip
    return FormCounts.model_validate(fields | changes)


def test_a_form_at_chance_has_no_efficacy_and_says_the_figures() -> None:
    found = accuracy(60, 0.53, chance=0.5, measurable=False)
    assert found.reason == ("not measurable here: unedited accuracy .53 [.41, .65], chance .50")
    out = form_out(counts(), found)
    assert out.reason == found.reason
    assert all(getattr(out, name) is None for name in EFFICACY)
    assert all(getattr(out, f"{name}_pre") is None for name in EFFICACY)
    assert out.right == 0.5, "other facts are counted all the same"
    assert (out.low, out.high) == (None, None)


def test_a_form_of_little_mass_or_no_better_than_its_control_says_so() -> None:
    found = accuracy(
        60, 0.67, chance=0.5, control=0.58, further=0.07, further_is="mass", least=0.5,
        measurable=False,
    )  # fmt: skip
    assert found.reason == (
        "not measurable here: unedited accuracy .67 [.54, .78], chance .50, control .58,"
        " mass .07 (least .50)"
    )


@pytest.mark.parametrize(
    ("value", "control", "mass", "expected"),
    [
        (0.9, 0.6, 0.9, True), (0.9, 0.6, 0.4, False), (0.9, 0.6, None, False),
        (0.9, 0.85, 0.9, False), (0.9, 0.3, 0.9, True), (0.6, 0.3, 0.9, False),
    ],
)  # fmt: skip
def test_a_difference_must_exceed_its_control_and_have_mass(
    value: float, control: float, mass: float | None, expected: bool
) -> None:
    forms = chosen(["yes_no/true-false"])[1:]
    rows = {
        form.key: FormAccuracyRow(
            form.key, form.key, 70, 60, share, 0.5, None, 1.0, mass, 0, 0, None
        )
        for form, share in zip(forms, (value, control), strict=True)
    }  # fmt: skip
    own, other = accuracies(rows, forms, {form.key: form.key for form in forms})
    assert (own.measurable, own.control, own.least) == (expected, control, 0.5)
    assert other.control is None
    assert (own.reason is None) == expected


def test_written_answers_are_shown_as_they_were() -> None:
    raw = RawAnswer(subject="Harry Potter", before="He is at Hogwarts.", after="I do not know.")
    out = form_out(counts(wins=None, p_new=None, answers=[raw]), accuracy())
    assert remark(out) == "undecided"
    table = answers_table([form_out(counts(), accuracy()), out])
    assert table is not None
    assert [[column.get(row) for column in table.columns] for row in table.rows] == [
        [out.form, "Harry Potter", "He is at Hogwarts.", "I do not know."]
    ]
    assert answers_table([form_out(counts(), accuracy())]) is None
    (form,) = (each for each in chosen(["generated/chat"]) if each.id == "generated")
    row = FormAccuracyRow(
        form.key, form.key, 50, 40, 0.75, 0.25, 0.75, None, 0.9, 27, undecided=4, length=28.4
    )
    (found,) = accuracies({form.key: row}, [form], {form.key: form.key})
    assert (found.n, found.excluded, found.undecided) == (36, 14, 4)
    assert (found.low, found.high) == wilson(0.75, 36)
    assert found.measurable
    (line,) = accuracy_table([found]).rows
    (further,) = (c for c in accuracy_table([found]).columns if c.header == "further")
    assert further.get(line) == "stopped by itself: 0.900; 4 undecided; 28 tokens"


def test_few_facts_say_so() -> None:
    assert accuracy(19, 1.0, measurable=False).reason == "too few facts to say: 19 of 20"


def test_a_form_of_small_probabilities_is_read_by_rank() -> None:
    out = form_out(counts(), accuracy(by_probability=False))
    assert out.reason is None
    assert (out.p_new, out.p_old, out.p_new_pre, out.p_old_pre) == (None,) * 4
    assert (out.margin, out.wins) == (0.5, 0.5)
    assert (out.low, out.high) == wilson(0.5, 1)
    assert remark(out) == "by rank"


def test_a_fact_that_is_not_known_has_no_efficacy() -> None:
    assert form_out(counts(0), accuracy()).reason == UNKNOWN_CLOZE


def test_the_weakest_form_is_measurable_and_no_control() -> None:
    forms = [
        form_out(counts(margin=margin), accuracy(**changes))
        for margin, changes in (
            (3.0, {}),
            (1.0, {"form": "weak"}),
            (-9.0, {"is_control": True}),
            (-8.0, {"measurable": False, "value": 0.25}),
            (-7.0, {"value": None}),
        )
    ]
    forms += [forms[0].model_copy(update={"margin": -6.0, "protocol": "yes_no/4-shot:ab/pairs/v1"})]
    found = weakest(forms)
    assert found is forms[1]
    assert weakest([]) is None
    assert forms_table(forms).note.startswith("Weakest measurable form: question/0-shot, margin")


def test_tables_say_why_a_form_has_no_number() -> None:
    absent = accuracy(0, None, p=None, measurable=False, left_out={"no question": 3, "other": 1})
    assert status(absent) == "not asked: no question"
    assert status(accuracy()) == "yes"
    assert status(accuracy(by_probability=False)) == "yes, by rank"
    assert status(accuracy(is_control=True)) == "control"
    assert status(accuracy(value=None)) == "read beside its unedited value"
    out = left_out(absent, "the fact has no question")
    assert remark(out) == "the fact has no question"
    for table in (accuracy_table([absent, accuracy()]), forms_table([out])):
        for column in (*table.columns, *(table.values or ())):
            assert [column.format(column.get(row)) for row in table.rows]


@pytest.mark.parametrize("n", [20, 60])
def test_the_reason_is_none_where_a_form_is_measurable(n: int) -> None:
    assert accuracy(n).reason is None
