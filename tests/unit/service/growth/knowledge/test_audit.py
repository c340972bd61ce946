"""The pre-edit audit: verdicts, directions and counts, with a model that answers from a table."""

from __future__ import annotations

from collections.abc import Sequence

from thinkeval.editing.probe.matching import contains
from thinkeval.editing.probe.settings import ProbeItem, ProbeResult
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph
from thinkeval.service.growth.knowledge import Ask, audit, relation_names, wrong_objects


def fact(subject: str, object: str, relation: str = "plays for") -> Fact:
    question = f"Whom does {subject} play for?"
    return Fact(subject, relation, object, f"{{}} {relation}", (question,), ("{} is a player of",))


FACTS = (fact("Ann", "Red"), fact("Bob", "Blue"), fact("Cy", "Green"), fact("Dan", "Red"))
GRAPH = KnowledgeGraph(
    "clubs",
    tuple(
        Entity(name, ("Reds",) if name == "Red" else ())
        for name in ("Ann", "Bob", "Cy", "Dan", "Red", "Blue", "Green")
    ),
    FACTS,
)
SAID = {
    "Whom does Ann play for?": ("The Reds.", "Nobody."),
    "Whom does Bob play for?": ("Red.", "Green."),
    "In a few words, how is Bob related to Blue?": ("He is a player of Blue.", "Unrelated."),
    "Is this statement true, yes or no: Bob plays for Blue?": ("Yes, he does.", "Yes."),
    "Is this statement true, yes or no: Bob plays for Green?": ("Yes.", "No."),
    "Is this statement true, yes or no: Cy plays for Green?": ("No.", "Yes."),
}


def model(said: dict[str, tuple[str, ...]], log: list[tuple[str, int]] | None = None) -> Ask:
    def ask(items: Sequence[ProbeItem], what: str) -> list[ProbeResult]:
        if log is not None:
            log.append((what, len(items)))
        found = []
        for item in items:
            answers = said.get(item.question or "", ("Perhaps.", "Perhaps."))
            p = sum(contains(a, (item.object, *item.aliases)) for a in answers) / len(answers)
            found.append(ProbeResult(item.id, p, None, None, len(answers), answers, {}))
        return found

    return ask


def test_each_fact_has_its_verdict() -> None:
    """By hand, threshold one of two: Ann known by an alias; Bob affirmed though not named; Cy says
    yes and no as often; Dan says neither."""
    found = audit(GRAPH, "m", model(SAID), samples=2, threshold=0.5)
    assert {each.subject: each.verdict for each in found.failures} == {
        "Bob": "inconsistent", "Cy": "unknown", "Dan": "undecided",
    }  # fmt: skip
    assert found.counts == {"known": 1, "unknown": 1, "inconsistent": 1, "undecided": 1}
    assert (found.n, found.questions, found.answered, found.answered_share) == (4, 4, 1, 0.25)
    [bob] = [each for each in found.failures if each.subject == "Bob"]
    assert (bob.object_share, bob.relation_share, bob.yes_share, bob.no_share) == (0, 0.5, 1, 0)
    assert bob.answers == ["Red.", "Green."]
    assert found.note is None


def test_each_direction_counts_what_was_asked_in_it() -> None:
    found = {
        each.direction: each
        for each in audit(GRAPH, "m", model(SAID), samples=2, threshold=0.5).directions
    }
    assert (found["object"].n, found["object"].right, found["object"].mean) == (4, 1, 0.125)
    assert (found["relation"].n, found["relation"].right) == (3, 1)
    assert (found["truth"].n, found["truth"].right, found["truth"].mean) == (3, 2, 0.5)
    assert found["truth of a wrong object"].right == 1


def test_only_failures_are_asked_further_and_each_direction_is_one_pass() -> None:
    log: list[tuple[str, int]] = []
    audit(GRAPH, "m", model(SAID, log), samples=2, threshold=0.5)
    assert log == [("object", 4), ("relation", 3), ("truth", 3), ("control", 3)]


def test_a_model_that_knows_everything_is_asked_nothing_further() -> None:
    log: list[tuple[str, int]] = []
    said = {f.questions[0]: (f.object,) for f in FACTS}
    found = audit(GRAPH, "m", model(said, log), samples=1, threshold=1.0)
    assert [what for what, _ in log] == ["object"]
    assert (found.answered_share, found.failures) == (1.0, [])
    assert [(each.n, each.share, each.mean) for each in found.directions[1:]] == [
        (0, None, None)
    ] * 3


def test_a_model_without_yes_and_no_is_noted() -> None:
    found = audit(GRAPH, "m", model({}), samples=2, threshold=0.5)
    assert found.counts["undecided"] == 4
    assert found.note is not None
    assert "neither yes nor no" in found.note


def test_a_question_of_several_facts_is_answered_by_any_of_its_objects() -> None:
    facts = (fact("Ann", "Red"), fact("Ann", "Blue"))
    graph = KnowledgeGraph("two", (Entity("Ann"), Entity("Red"), Entity("Blue")), facts)
    found = audit(graph, "m", model({facts[0].questions[0]: ("Blue",)}), samples=1, threshold=1.0)
    assert (found.questions, found.answered, found.counts["known"]) == (1, 1, 1)


def test_a_wrong_object_is_of_the_same_relation_and_right_for_no_one_asked() -> None:
    assert wrong_objects(FACTS, GRAPH) == {
        FACTS[0].id: "Blue", FACTS[1].id: "Green", FACTS[2].id: "Red", FACTS[3].id: "Blue",
    }  # fmt: skip
    alone = KnowledgeGraph("one", (Entity("Ann"), Entity("Red")), FACTS[:1])
    assert wrong_objects(FACTS[:1], alone) == {}


def test_a_relation_is_named_by_each_of_its_wordings() -> None:
    assert relation_names(FACTS[0]) == ("plays for", "is a player of", "player of")
    noun = Fact("Ann", "house", "Red", "{}'s house is")
    assert "house" in relation_names(noun)
