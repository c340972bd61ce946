"""Conclusions by a rule from given facts: the query against brute force, in all four shapes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from thinkeval.cypher.run import Database
from thinkeval.loaders.rule_records import Atom, Rule, rule
from thinkeval.service.depedit.questions import Conclusion, Statement, closed, decided, derived

NAMES = "abcd"
facts = some.lists(
    some.builds(
        lambda subject, relation, object: {
            "subject": subject,
            "relation": relation,
            "object": object,
        },
        some.sampled_from(NAMES),
        some.sampled_from(("r1", "r2", "r3")),
        some.sampled_from(NAMES),
    ),
    max_size=9,
)
shapes = list(itertools.product((False, True), repeat=2))


def _rule(inverse1: bool, inverse2: bool, relation2: str = "r2") -> Rule:
    first = Atom("y", "r1", "x") if inverse1 else Atom("x", "r1", "y")
    second = Atom("z", relation2, "y") if inverse2 else Atom("y", relation2, "z")
    return rule((first, second), Atom("x", "r3", "z"))


def _by_hand(
    made: Rule, new: Sequence[Statement], known: Sequence[Statement]
) -> set[tuple[object, ...]]:
    """Every binding of x, y and z, tried."""
    found = set()
    for i, one in enumerate(new):
        for other in known:
            if (one["subject"], one["relation"]) == (other["subject"], other["relation"]):
                continue
            for premises in ((one, other), (other, one)):
                for x, y, z in itertools.permutations(NAMES, 3):
                    bound = {"x": x, "y": y, "z": z}
                    atoms = (made.first, made.second)
                    if all(
                        fact
                        == {
                            "subject": bound[atom.subject],
                            "relation": atom.relation,
                            "object": bound[atom.object],
                        }
                        for atom, fact in zip(atoms, premises, strict=True)
                    ):
                        found.add((i, x, z, premises[0]["subject"], premises[1]["subject"]))
    return found


@pytest.mark.parametrize("inverse", shapes)
@pytest.mark.parametrize("relation2", ["r2", "r1"])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(new=facts, known=facts)
def test_conclusions_are_those_of_brute_force(
    db: Database,
    inverse: tuple[bool, bool],
    relation2: str,
    new: list[Statement],
    known: list[Statement],
) -> None:
    made = _rule(*inverse, relation2)
    found = derived(db, made, new, known)
    told = [(c.source, c.subject, c.object, c.premises[0][0], c.premises[1][0]) for c in found]
    assert len(told) == len(set(told))
    assert set(told) == _by_hand(made, new, known)
    assert told == sorted(told)


def test_a_conclusion_names_its_premises(db: Database) -> None:
    ann = {"subject": "Ann", "relation": "r1", "object": "Rome"}
    rome = {"subject": "Rome", "relation": "r2", "object": "Italy"}
    found = derived(db, _rule(False, False), [rome], [ann, rome])
    assert found == [Conclusion(0, "Ann", "r3", "Italy", (("Ann", "r1"), ("Rome", "r2")))]
    assert derived(db, _rule(False, False), [], [ann, rome]) == []


def test_a_conclusion_that_is_a_premise_is_followed_to_its_end(db: Database) -> None:
    """Round by round; a circle of premises ends, too."""
    further = rule((Atom("x", "r1", "y"), Atom("y", "r3", "z")), Atom("x", "r3", "z"))
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    known = [{"subject": x, "relation": "r1", "object": y} for x, y in pairs]
    before = {"subject": "a", "relation": "r3", "object": "f"}  # what the model said of a's
    new = [{"subject": "d", "relation": "r3", "object": "e"}]
    found = closed(db, further, new, [*new, *known, before])
    assert [(one.subject, one.relation, one.object) for one in found] == [
        ("c", "r3", "e"), ("b", "r3", "e"), ("a", "r3", "e"),
    ]  # fmt: skip
    # Where the conclusion is no premise, there is one round, as `decided` has it.
    plain = _rule(False, False)
    rome = [{"subject": "Rome", "relation": "r2", "object": "Italy"}]
    ann = {"subject": "Ann", "relation": "r1", "object": "Rome"}
    once = closed(db, plain, rome, [ann, *rome])
    assert once == list(decided(derived(db, plain, rome, [ann, *rome])).values())


def test_most_proofs_decide_and_then_the_first() -> None:
    def one(object: str, first: str, source: int = 0) -> Conclusion:
        return Conclusion(source, "Ann", "r3", object, ((first, "r1"), ("b", "r2")))

    twice = [one("Spain", "c"), one("Italy", "d"), one("Italy", "e")]
    assert decided(twice)["Ann", "r3"].object == "Italy"
    # One proof found from either of its premises is one proof.
    same = [one("Spain", "c"), one("Italy", "d"), one("Italy", "d", source=1)]
    assert decided(same)["Ann", "r3"].object == "Spain"
    assert decided([]) == {}
