"""Rules in their one form: variable names and the order of premises do not matter."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkeval.loaders.errors import RuleError
from thinkeval.loaders.rule_records import SHAPES, Atom, Rule, rule

CITIZEN = rule(
    (
        Atom("person", "born in", "city", ("[Person A] is from [City A].",)),
        Atom("city", "located in", "country", ("[City A] is located in [Country A].",)),
    ),
    Atom("person", "citizen of", "country", ("[Person A] is from [Country A].",)),
    kinds={"person": "person", "city": "city", "country": None},
    words={"person": "Person A", "city": "City A", "country": "Country A"},
    support=9,
    body=12,
)


def holds(r: Rule, facts: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Conclusions of a rule over some facts, read off the atoms as they stand."""
    names = sorted({name for fact in facts for name in (fact[0], fact[2])})
    found = set()
    for x, y, z in itertools.permutations(names, 3):
        at = {"x": x, "y": y, "z": z}
        if all((at[a.subject], a.relation, at[a.object]) in facts for a in (r.first, r.second)):
            found.add((x, r.conclusion.relation, z))
    return found


def test_the_paper_s_example_reads_as_in_the_paper() -> None:
    assert CITIZEN.text() == (
        "If [Person A] is from [City A], and [City A] is located in [Country A],"
        " then [Person A] is from [Country A]."
    )
    assert CITIZEN.shape == "x→y→z"
    assert CITIZEN.relations == ("born in", "located in", "citizen of")
    assert CITIZEN.kind("x") == "person"
    assert CITIZEN.kind("z") is None
    assert CITIZEN.confidence == 0.75


def test_confidence_of_premises_that_hold_nowhere_is_undefined() -> None:
    atoms = (Atom("a", "r", "b"), Atom("b", "s", "c"))
    assert rule(atoms, Atom("a", "t", "c"), support=0, body=0).confidence is None
    assert rule(atoms, Atom("a", "t", "c")).confidence is None


def test_a_shared_subject_is_another_shape() -> None:
    character = rule(
        (Atom("character", "is from", "novel"), Atom("character", "created by", "person")),
        Atom("novel", "written by", "person"),
    )
    assert character.shape == "x←y→z"
    facts = {("Holmes", "is from", "A Study"), ("Holmes", "created by", "Doyle")}
    assert holds(character, facts) == {("A Study", "written by", "Doyle")}


@given(
    st.permutations(["a", "b", "c"]),
    st.tuples(st.booleans(), st.booleans()),
    st.booleans(),
)
def test_names_and_order_do_not_matter(
    names: list[str], inverse: tuple[bool, bool], swapped: bool
) -> None:
    x, y, z = names
    first = Atom(y, "r1", x) if inverse[0] else Atom(x, "r1", y)
    second = Atom(z, "r2", y) if inverse[1] else Atom(y, "r2", z)
    premises = [second, first] if swapped else [first, second]
    made = rule(premises, Atom(x, "r3", z), kinds={y: "city"})
    assert made.inverse == inverse
    assert made.shape == SHAPES[2 * inverse[0] + inverse[1]]
    assert made.kinds == (("y", "city"),)
    arrows = ["←" if back else "→" for back in inverse]
    assert made.shape == f"x{arrows[0]}y{arrows[1]}z"
    again = rule((made.first, made.second), made.conclusion, kinds={"y": "city"})
    assert (again, again.id) == (made, made.id)


@pytest.mark.parametrize(
    ("premises", "conclusion", "said"),
    [
        ([], Atom("a", "t", "b"), "one or two premises, this one has 0"),
        ([Atom("a", "r", "b")], Atom("a", "r", "b"), "the conclusion is the premise"),
        ([Atom("a", "r", "b")], Atom("a", "t", "c"), "no premise binds"),
        ([Atom("a", "r", "b"), Atom("b", "s", "c")], Atom("a", "t", "d"), "no premise binds"),
        ([Atom("a", "r", "a"), Atom("a", "s", "c")], Atom("a", "t", "c"), "to itself"),
        ([Atom("a", "r", "b"), Atom("a", "s", "b")], Atom("a", "t", "b"), "exactly one variable"),
        ([Atom("a", "r", "b"), Atom("c", "s", "d")], Atom("a", "t", "d"), "exactly one variable"),
        ([Atom("a", "r", "b"), Atom("b", "s", "c")], Atom("a", "t", "b"), "the two others"),
    ],
)
def test_what_is_no_rule_says_why(premises: list[Atom], conclusion: Atom, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        rule(premises, conclusion)


def test_a_kind_of_an_unknown_variable_is_refused() -> None:
    with pytest.raises(RuleError, match="'town' is not a variable"):
        rule(
            (Atom("a", "r", "b"), Atom("b", "s", "c")), Atom("a", "t", "c"), kinds={"town": "city"}
        )


def test_a_rule_without_templates_is_said_in_the_words_of_its_kinds() -> None:
    premises = (Atom("a", "child_of", "b"), Atom("b", "was born in", "c"))
    plain = rule(premises, Atom("a", "comes_from", "c"))
    assert plain.text() == "If [x] child of [y], and [y] was born in [z], then [x] comes from [z]."
    kinds = {"a": "person", "b": "person", "c": "city"}
    kind = rule(premises, Atom("a", "comes_from", "c"), kinds=kinds)
    assert kind.text() == (
        "If [Person A] child of [Person B], and [Person B] was born in [City A],"
        " then [Person A] comes from [City A]."
    )
    assert kind.sentence(kind.second) == "[Person B] was born in [City A]"
    worded = rule(premises, Atom("a", "comes_from", "c"), kinds=kinds, words={"c": "Town"})
    assert worded.sentence(worded.second) == "[Person B] was born in [Town]"
    # Templates that call a variable by its name decide for all lines.
    named = rule(premises, Atom("a", "comes_from", "c", ("[x] is from [z].",)), kinds=kinds)
    assert named.text().endswith("and [y] was born in [z], then [x] is from [z].")
