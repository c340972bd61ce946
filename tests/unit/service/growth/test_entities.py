"""Entities and relations of a growing graph."""

from __future__ import annotations

from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph
from thinkeval.service.growth.candidates import Candidate
from thinkeval.service.growth.entities import Entities, Relations, conflicts, is_type_word

BASE = KnowledgeGraph(
    "school",
    (
        Entity("Hogwarts School", ("Hogwarts",), "school"),
        Entity("Harry Potter"),
        Entity("the Owlery"),
    ),
    (
        Fact(
            "Harry Potter",
            "studied at",
            "Hogwarts School",
            "{} studied at",
            ("Where did Harry Potter study?",),
            ("{} went to",),
        ),
    ),
)


class Model:
    """Says whether names are the same, and counts how often it is asked."""

    def __init__(self, answer: bool | None) -> None:
        self.answer, self.asked = answer, []  # type: ignore[var-annotated]

    def __call__(self, one: str, other: str) -> bool | None:
        self.asked.append((one, other))
        return self.answer


def test_equal_names_and_aliases_are_one_entity_without_a_question() -> None:
    model = Model(True)
    entities = Entities(BASE, model)
    assert entities.canonical("hogwarts") == "Hogwarts School"
    assert entities.canonical("  HARRY   POTTER ") == "Harry Potter"
    assert entities.names("Hogwarts School") == ("Hogwarts School", "Hogwarts")
    assert model.asked == []


def test_nearly_equal_names_are_merged_by_a_yes_only() -> None:
    for answer, expected in ((True, "Gryffindor"), (False, "Gryffindor house")):
        model = Model(answer)
        entities = Entities(None, model)
        assert entities.canonical("Gryffindor") == "Gryffindor"
        assert entities.canonical("Gryffindor house") == expected
        assert model.asked == [("Gryffindor house", "Gryffindor")]
        # Decided once: neither yes nor no is asked for again.
        assert entities.canonical("Gryffindor house") == expected
        assert len(model.asked) == 1


def test_a_model_that_cannot_be_asked_merges_nothing() -> None:
    entities = Entities(None, Model(None))
    entities.canonical("Ginny Weasley")
    assert entities.canonical("Ginny Weasly") == "Ginny Weasly"


def test_the_confirmed_name_becomes_an_alias() -> None:
    entities = Entities(None, Model(True))
    entities.canonical("Gryffindor")
    entities.canonical("Gryffindor house")
    assert entities.record("Gryffindor").aliases == ("Gryffindor house",)


def test_type_words() -> None:
    assert [is_type_word(n) for n in ("wizard", "the school", "An Owl", "Ron", "1998", "魔法")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_relations_of_a_base_are_asked_in_its_words() -> None:
    relations = Relations(BASE)
    assert relations.canonical("Studied  at") == "studied at"
    texts = [(w.of("Ron"), w.form) for w in relations.wordings("studied at", chat=False)]
    assert texts == [
        ("Where did Ron study?", "chat"),
        ("Ron studied at", "cloze"),
        ("Ron went to", "cloze"),
    ]
    plain = relations.wordings("studied at", chat=True, plain=True)
    assert [w.form for w in plain] == ["cloze", "cloze", "chat"]


def _facts(*triplets: tuple[str, str, float]) -> list[Candidate]:
    return [
        Candidate(
            id=f"{s}{o}",
            kind="triplet",
            subject=s,
            relation="house",
            object=o,
            iteration=1,
            place=place,
            state="validated",
            share=share,
        )
        for place, (s, o, share) in enumerate(triplets)
    ]


def test_a_second_object_of_a_one_valued_relation_is_a_conflict() -> None:
    sure = [(f"s{n}", "Gryffindor", 1.0) for n in range(4)]
    two = [("Padma", "Ravenclaw", 0.4), ("Padma", "Gryffindor", 0.8)]
    found = _facts(*sure, *two)
    assert [(a.object, b.object) for a, b in conflicts(found)] == [("Ravenclaw", "Gryffindor")]
    # Four subjects with a sure object are too few to call the relation one-valued.
    assert conflicts(_facts(*sure[1:], *two)) == []


def test_a_relation_with_several_objects_a_subject_has_no_conflict() -> None:
    several = [(f"s{n}", f"friend {m}", 0.5) for n in range(9) for m in range(2)]
    assert conflicts(_facts(*several)) == []
