"""Forms of asking in comparisons: the numbers of a score, of no change, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.scored_walk import Walk, walked
from thinkeval.service.base.errors import UsageError
from thinkeval.service.models.edit import Score
from thinkeval.service.models.forms import FormOut
from thinkeval.service.scoring import record
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states.compare import compare
from thinkeval.service.states.kind import COMPARISON
from thinkeval.service.states.schemas import ComparisonIn, ComparisonOut
from thinkeval.service.states.spec import StateIn

FORMS = "question,paraphrase,reversed,negated,composed/phrase,generated"


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 13) as walk:
        yield walk


@pytest.fixture(scope="module")
def edit(walk: Walk) -> Score:
    return walk.score("rome", samples=0, side_effects=False, forms=FORMS)


def posted(walk: Walk, *after: str, **changes: object) -> ComparisonIn:
    base = walk.model.source
    values: dict[str, object] = {
        "base": StateIn(model=base), "states": [f"{base}{each}" for each in after],
        "graph": walk.graph, "samples": 0, "forms": FORMS, "rewrites": [walk.rewrite.id],
    }  # fmt: skip
    return ComparisonIn.model_validate(values | changes)


@pytest.fixture(scope="module")
def compared(walk: Walk, edit: Score) -> ComparisonOut:
    return compare(walk.runtime, posted(walk, f"+edit:{edit.edit}", ""))


def _forms(walk: Walk, compared: ComparisonOut, place: int) -> list[FormOut]:
    (request,) = compared.states[place].requests
    return record.get_score(walk.runtime.db, request.edit).forms


def test_an_edit_as_a_state_has_the_forms_of_its_score(
    walk: Walk, edit: Score, compared: ComparisonOut
) -> None:
    found = {form.form: form for form in _forms(walk, compared, 0)}
    assert found.keys() == {form.form for form in edit.forms}
    # Examples are drawn by the ids of facts, so that 3-shot does not beat chance in every graph.
    measured = [form.form for form in edit.forms if form.wins is not None]
    assert len([form for form in measured if "3-shot" not in form]) >= 3
    for form in edit.forms:
        other = found[form.form]
        assert (other.protocol, other.n, other.facts) == (form.protocol, form.n, form.facts)
        for name, value in form.unedited.model_dump().items():
            is_float = isinstance(value, float)
            same = pytest.approx(value, rel=1e-4, abs=1e-6) if is_float else value
            assert getattr(other.unedited, name) == same, (form.form, name)
        for name in ("wins", "right", "right_pre", "wins_pre"):
            assert getattr(other, name) == getattr(form, name), (form.form, name)
        for name in ("p_new", "p_old", "margin", "further", "p"):
            value = getattr(form, name)
            close = None if value is None else pytest.approx(value, rel=1e-4, abs=1e-6)
            assert getattr(other, name) == close, (form.form, name)
        assert other.answers == form.answers


def test_the_base_as_a_state_changes_nothing(walk: Walk, compared: ComparisonOut) -> None:
    for form in _forms(walk, compared, 1):
        for name in ("p_new", "p_old", "margin", "wins", "right", "p", "further"):
            assert getattr(form, name) == getattr(form, f"{name}_pre"), form.form


def test_one_table_has_a_column_a_state_and_names_them_shortly(
    walk: Walk, compared: ComparisonOut
) -> None:
    (table,) = (t for t in COMPARISON.further(walk.runtime.db, compared, None) if t.name == "forms")
    headers = [column.header for column in table.columns]
    assert headers[:2] == ["form", "before"]
    assert headers[-1] == "rewrites"
    assert len(headers) == 5
    assert not any(header.startswith("compare:") for header in headers)


def test_another_request_finds_the_stored_one(walk: Walk, edit: Score) -> None:
    again = compare(walk.runtime, posted(walk, f"+edit:{edit.edit}", ""))
    assert again.reused
    without = compare(walk.runtime, posted(walk, f"+edit:{edit.edit}", forms=None))
    assert not without.reused
    assert _forms(walk, without, 0) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rewrites": []}, "no request is named"),
        ({"base": "endpoint:http://127.0.0.1:9/v1#m"}, "needs likelihoods"),
        ({"forms": "clozes"}, "no form 'clozes'"),
    ],
)
def test_bad_requests_are_refused_before_a_model_is_loaded(
    walk: Walk, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        compare(walk.runtime, posted(walk, "", **changes))
