"""Reading answers: lists, names with "and" inside, loops, endless and empty answers, unknown."""

from __future__ import annotations

import pytest

from thinkeval.loaders.records import Entity
from thinkeval.service.growth.crawl import (
    LONGEST_NAME,
    MOST_CHARACTERS,
    JoinedNames,
    Names,
    is_refusal,
    is_unknown,
    pair_state,
    pieces,
)

SCHOOL = "Hogwarts School of Witchcraft and Wizardry"


def items(*answers: str) -> list[tuple[str, ...]]:
    """The names of each answer, where these are all answers."""
    joined, read = JoinedNames(), [pieces(answer) for answer in answers]
    joined.learn(read)
    return [joined.items(answer) for answer in read]


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (" Ron.", ("Ron",)),
        ("Ron, Ginny and Fred. Harry too.", ("Ron", "Ginny", "Fred")),
        ("Ron, Ginny, and Fred\nFurther text", ("Ron", "Ginny", "Fred")),
        ('"Ron"; - Ginny', ("Ron", "Ginny")),
        ("St. Mungo's. It is a hospital.", ("St. Mungo's",)),
        ("Apple Inc.", ("Apple Inc",)),
        ('["Ron", "Marks and Spencer", 3, ""]', ("Ron", "Marks and Spencer")),
        ('```json\n{"names": ["Ron"]}\n```', ("Ron",)),
        ("[1, 2]", ()),
        ('{"names": "Ron"}', ("Ron",)),
        ("", ()),
        ("  \n ... ", ()),
        ("and and", ("and and",)),
        ("A, A, A, A, a", ("A",)),
        ("A and A and A", ("A",)),
    ],
)  # fmt: skip
def test_the_names_of_an_answer(answer: str, names: tuple[str, ...]) -> None:
    assert items(answer) == [names]


def test_an_endless_answer_is_read_at_its_beginning_only() -> None:
    loop = items("Ron, " * 2000)
    assert loop == [("Ron",)]
    assert items("x" * 10_000) == [()]
    many = items(", ".join(f"Name {i}" for i in range(2000)))[0]
    assert len(many) == 50
    assert items("word " * 2000) == [()]
    assert items(f"Ron, {'word ' * 40}, Ginny") == [("Ron", "Ginny")]
    assert LONGEST_NAME < MOST_CHARACTERS


def test_a_name_with_and_inside_is_one_name() -> None:
    assert items(f"{SCHOOL}.", f"{SCHOOL} and Durmstrang.", "Durmstrang.") == [
        (SCHOOL,),
        (SCHOOL, "Durmstrang"),
        ("Durmstrang",),
    ]
    other = "Ilvermorny School of Witchcraft and Wizardry"
    assert items(SCHOOL, SCHOOL, other, other) == [(SCHOOL,)] * 2 + [(other,)] * 2


def test_a_list_of_two_is_not_one_name() -> None:
    two = ("Ron", "Ginny")
    assert items("Ron and Ginny") == [two]  # one answer shows nothing
    assert items("Ron and Ginny", "Ron and Ginny", "Ginny and Ron")[0] == two
    assert items("Ron and Ginny", "Ron and Ginny", "Ron")[0] == two
    assert items("Ron and Ginny", "Ron and Ginny", "Ginny")[0] == two
    # Once in the other order is enough, however often they are joined.
    assert items(*["Ron and Ginny"] * 40, "Ginny and Ron")[0] == two
    assert items(*["Ron and Ginny"] * 40)[0] == ("Ron and Ginny",)
    joined = JoinedNames()
    read = [pieces("Ron and Ginny")] * 9
    joined.stands_alone("ginny")
    joined.learn(read)
    assert joined.items(read[0]) == two


def test_a_rare_answer_that_was_cut_does_not_split_a_name() -> None:
    assert items(*[SCHOOL] * 20, "Hogwarts School of Witchcraft")[0] == (SCHOOL,)
    assert len(items(*[SCHOOL] * 19, "Hogwarts School of Witchcraft")[0]) == 2


def test_answers_that_name_nothing() -> None:
    for text in ("nobody knows.", " Nobody knows", "Unknown.", '"unknown"', "None", "I don't know"
                 ", sorry.", "N/A"):  # fmt: skip
        assert is_unknown(text), text
        assert not is_refusal(text), text
    for text in ("Nonesuch Palace", "Unknown Pleasures", "Ron", "", "None of the Above Inc"):
        assert not is_unknown(text), text
    assert is_refusal("I'm sorry, but I can't help with that.")
    assert not is_refusal("Ron")


def test_the_state_of_a_pair() -> None:
    assert pair_state({"Ron": 0.8}, 0.2, 0, 0.8) == "known"
    assert pair_state({"Ron": 0.79}, 0.2, 0, 0.8) == "unknown"
    assert pair_state({"Ron": 0.8}, 0.5, 0, 0.8) == "unknown"
    assert pair_state({}, 0, 0.5, 0.8) == "refused"
    assert pair_state({}, 0, 0, 0.1) == "unknown"


def test_names_are_entities_by_name_then_by_alias() -> None:
    names = Names([Entity("Tom Riddle", ("Voldemort",)), Entity("Voldemort", ("Tom Riddle",)),
                   Entity("Harry Potter", ("Harry", "HP"))])  # fmt: skip
    assert names.resolve("VOLDEMORT") == "Voldemort"
    assert names.resolve("tom riddle") == "Tom Riddle"
    assert names.resolve("Harry") == "Harry Potter"
    assert names.find("Nagini") is None
    assert names.resolve("Nagini") == "Nagini"
    assert names.resolve("nagini") == "Nagini"
    assert names.is_named("Nagini")
    assert not names.is_named("wizard")
    assert Names([Entity("potions")]).is_named("potions")
