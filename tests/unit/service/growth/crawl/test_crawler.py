"""The crawl over answers made up here: levels, thresholds, budget, gate, bad answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph
from thinkeval.service.base.errors import UsageError
from thinkeval.service.growth.crawl import (
    IN_CHAT,
    Crawler,
    Gate,
    Level,
    Names,
    examples,
    kind_of,
    not_kinds,
    relations_of,
    requests_for,
)
from thinkeval.service.growth.endpoint import Request, Sampling
from thinkeval.service.growth.schemas import CrawlOptions

FACTS = tuple(
    Fact(s, r, o, "{} " + r, (f"Q {r} {s}?",), ("{} also " + r, "so {} " + r, "never {} " + r))
    for s, r, o in [("Ann", "knows", "Bo"), ("Bo", "owns", "Rex")]
)
RELATIONS = relations_of(FACTS)


@dataclass(frozen=True)
class Text:
    id: str
    text: str


class Model:
    """Answers by a function of (text of the request, sample), and counts what it is asked."""

    def __init__(self, answer: Callable[[str, int], str]) -> None:
        self.answer, self.asked, self.batches = answer, [], 0

    def __call__(self, requests: Sequence[Request]) -> list[Text]:
        self.batches += 1
        keys = [(r.messages[0].text, r.sample) for r in requests]
        self.asked += keys
        return [Text(f"{text}#{sample}", self.answer(text, sample)) for text, sample in keys]


def says(table: dict[tuple[str, str], str], otherwise: str = "nobody knows.") -> Model:
    """A model that answers each wording of a (subject, relation) with the same text."""

    def answer(text: str, sample: int) -> str:
        for (subject, relation), said in table.items():
            if (subject in text.split() or f"{subject}?" in text) and relation in text:
                return said
        return otherwise

    return Model(answer)


CIRCLE = {("Ann", "knows"): "Bo.", ("Bo", "knows"): "Cy and Ann.", ("Cy", "knows"): "Ann."}


def crawl(model: Model, *start: str, **knobs: object) -> tuple[Crawler, list[Level]]:
    settings = CrawlOptions(**{"gate": "none", "samples": 2, **knobs})
    crawler = Crawler(RELATIONS, model, settings)
    return crawler, list(crawler.levels(start or ["Ann"]))


def facts(levels: list[Level]) -> list[tuple[str, str, str]]:
    return [(f.subject, f.relation, f.object) for level in levels for f in level.facts]


def test_a_circle_is_crawled_level_by_level_and_ends() -> None:
    model = says(CIRCLE)
    crawler, levels = crawl(model)
    assert facts(levels) == [("Ann", "knows", "Bo"), ("Bo", "knows", "Cy"), ("Bo", "knows", "Ann"),
                             ("Cy", "knows", "Ann")]  # fmt: skip
    assert [list(level.entities) for level in levels] == [["Ann"], ["Bo"], ["Cy"]]
    assert crawler.reason == "frontier empty"
    assert crawler.depths == {"Ann": 0, "Bo": 1, "Cy": 2}
    assert model.batches == 3  # a level is a batch
    assert len(set(model.asked)) == len(model.asked) == 3 * 2 * 4 * 2
    unknown = [p for level in levels for p in level.pairs if p.state == "unknown"]
    assert {(p.subject, p.relation) for p in unknown} == {(n, "owns") for n in ("Ann", "Bo", "Cy")}
    assert all(p.unknown == 1.0 and not p.objects for p in unknown)


def test_what_only_a_pruned_fact_names_is_not_asked() -> None:
    table = {("Ann", "knows"): "Bo, Cy.", ("Cy", "knows"): "Dee.", ("Dee", "knows"): "Bo."}
    pruned = {("Ann", "Bo")}

    def followed(model: Model) -> list[tuple[str, ...]]:
        crawler = Crawler(
            RELATIONS,
            model,
            CrawlOptions(gate="none", samples=2),
            accepted=lambda fact: None if (fact.subject, fact.object) in pruned else fact.object,
        )
        return [tuple(level.entities) for level in crawler.levels(["Ann"])]

    # Bo is asked where the fact that was not pruned names it.
    assert followed(says(table)) == [("Ann",), ("Cy",), ("Dee",), ("Bo",)]
    pruned.add(("Ann", "Cy"))
    assert followed(says(table)) == [("Ann",)]


@pytest.mark.parametrize(
    ("table", "corrected", "asked"),
    [
        # Dee in the place of Cy, after what the level names itself.
        ({("Ann", "knows"): "Cy, Bo.", ("Dee", "knows"): "Ann."}, {("Ann", "Cy"): "Dee"},
         [("Ann",), ("Bo", "Dee")]),
        # The last level named nobody new, and a correction of it does.
        ({("Ann", "knows"): "Bo.", ("Bo", "knows"): "Ann."}, {("Bo", "Ann"): "Dee"},
         [("Ann",), ("Bo",), ("Dee",)]),
        # Who was asked already is not asked again, and a name in lower case is not asked.
        ({("Ann", "knows"): "Bo."}, {("Ann", "Bo"): "Ann"}, [("Ann",)]),
        ({("Ann", "knows"): "Bo."}, {("Ann", "Bo"): "a friend"}, [("Ann",)]),
    ],
)  # fmt: skip
def test_a_corrected_object_is_asked_in_the_place_of_what_was_found(
    table: dict[tuple[str, str], str],
    corrected: dict[tuple[str, str], str],
    asked: list[tuple[str, ...]],
) -> None:
    crawler = Crawler(
        RELATIONS,
        says(table),
        CrawlOptions(gate="none", samples=2),
        accepted=lambda fact: corrected.get((fact.subject, fact.object), fact.object),
    )
    assert [tuple(level.entities) for level in crawler.levels(["Ann"])] == asked
    assert crawler.reason == "frontier empty"
    assert set(crawler.depths) == {name for level in asked for name in level}


def test_the_same_answers_give_the_same_crawl() -> None:
    assert crawl(says(CIRCLE))[1] == crawl(says(CIRCLE))[1]


def test_invented_subjects_show_what_is_guessed_by_the_relation_alone() -> None:
    table = CIRCLE | {("Quux", "knows"): "Bo.", ("Trosk", "knows"): "Bo and Nobody Else."}
    plain, expected = crawl(says(table))
    crawler, levels = crawl(says(table), invented=2)
    assert levels == expected  # they filter nothing
    found = {(f.subject, f.object): crawler.guessed(f) for level in levels for f in level.facts}
    assert found == {("Ann", "Bo"): 1.0, ("Bo", "Cy"): 0.0, ("Bo", "Ann"): 0.0, ("Cy", "Ann"): 0.0}
    assert plain.guessed(levels[0].facts[0]) is None
    model = says(table)
    crawl(model, invented=2)
    # Each relation once, four wordings, two samples, two subjects: not again in later levels.
    assert len([text for text, _ in model.asked if "Quux" in text or "Trosk" in text]) == 32
    assert len(set(model.asked)) == len(model.asked)


def test_depth_0_asks_nothing() -> None:
    model = says(CIRCLE)
    crawler, levels = crawl(model, depth=0)
    assert (levels, model.asked, crawler.reason) == ([], [], "depth")
    assert crawler.depths == {"Ann": 0}


def test_the_budget_counts_pairs() -> None:
    model = says(CIRCLE)
    crawler, levels = crawl(model, max_questions=3)
    assert crawler.reason == "budget"
    assert sum(len(level.pairs) for level in levels) == 3
    assert facts(levels)[:2] == [("Ann", "knows", "Bo"), ("Bo", "knows", "Cy")]
    exact, _ = crawl(says(CIRCLE), max_questions=6)
    assert exact.reason == "frontier empty"


def test_objects_are_kept_by_share_and_by_wordings() -> None:
    """Of 4 wordings × 5 samples: Bo 16, Cy 4 in one wording, Di 4 in four."""

    def answer(text: str, sample: int) -> str:
        if "knows" not in text:
            return "nobody knows"
        if sample == 0:
            return "Di"
        return "Bo and Cy" if text.startswith("also") or text == "Ann knows" else "Bo"

    _, levels = crawl(Model(answer), samples=5, depth=1)
    pair = levels[0].pairs[0]
    assert [(f.object, f.share, f.agree, f.state) for f in pair.objects] == [
        ("Bo", 0.8, 1.0, "fact"), ("Di", 0.2, 1.0, "fact"), ("Cy", 0.2, 0.25, "below"),
    ]  # fmt: skip
    assert pair.objects[1].answers == tuple(
        f"{text}#0"
        for text in (
            "Ann knows",
            "Ann also knows",
            "so Ann knows",
            "Question: Q knows Ann? Answer:",
        )
    )
    _, levels = crawl(Model(answer), samples=5, depth=1, pair_threshold=0.81)
    assert {f.state for f in levels[0].pairs[0].objects} == {"unknown"}
    assert levels[0].facts == ()


@pytest.mark.parametrize("text", ["", "\n", "...", "word " * 2000, "Ann.", "Ann, Ann and Ann"])
def test_answers_without_an_object_end_the_crawl(text: str) -> None:
    crawler, levels = crawl(Model(lambda asked, sample: text))
    assert facts(levels) == []
    assert all(not pair.objects and pair.state == "unknown" for pair in levels[0].pairs)
    assert crawler.reason == "frontier empty"


def test_a_loop_counts_once_and_names_in_lower_case_are_not_asked() -> None:
    model = says({("Ann", "knows"): "Bo, Bo, Bo, Bo", ("Ann", "owns"): "a dog"})
    _, levels = crawl(model, depth=2)
    assert [(f.object, f.share) for f in levels[0].facts] == [("Bo", 1.0), ("a dog", 1.0)]
    assert levels[0].new == ("Bo",)
    assert list(levels[1].entities) == ["Bo"]


def test_aliases_of_each_other_stay_two_entities() -> None:
    names = Names([Entity("Bo", ("Rex",)), Entity("Rex", ("Bo",)), Entity("Ann", ("Annie",))])
    model = says({("Ann", "knows"): "Rex", ("Rex", "knows"): "Bo", ("Bo", "knows"): "Annie"})
    crawler = Crawler(RELATIONS, model, CrawlOptions(gate="none", samples=1), names=names)
    found = facts(list(crawler.levels(["Annie", "ann"])))
    assert found == [("Ann", "knows", "Rex"), ("Rex", "knows", "Bo"), ("Bo", "knows", "Ann")]


def test_a_refusal_is_not_an_unknown() -> None:
    _, levels = crawl(Model(lambda text, sample: "I'm sorry, I can't help with that."))
    assert {(p.state, p.refused, p.unknown) for p in levels[0].pairs} == {("refused", 1.0, 0.0)}


def test_the_gate_asks_a_relation_of_the_kinds_seen_with_it() -> None:
    def answer(text: str, sample: int) -> str:
        if text.endswith(" is a"):
            return {"Ann": "person.", "Bo": "person.", "Rex": "dog."}.get(text[:-5], "rock.")
        return {"Ann knows": "Rex.", "Rex barks at": "Ann."}.get(text, "nobody knows")

    graph = KnowledgeGraph(
        "g",
        (),
        (Fact("Bo", "knows", "x", "{} knows"), Fact("Rex", "barks at", "x", "{} barks at")),
    )
    model = Model(answer)
    crawler = Crawler(
        relations_of(graph.facts), model, CrawlOptions(samples=1), examples=examples(graph)
    )
    levels = list(crawler.levels(["Ann"]))
    assert [[(p.subject, p.relation) for p in level.pairs] for level in levels] == [
        [("Ann", "knows")],
        [("Rex", "barks at")],
    ]
    assert len(set(model.asked)) == len(model.asked)
    stored = {"Ann": "dog", "Bo": "person", "Rex": "dog"}
    crawler = Crawler(
        relations_of(graph.facts),
        Model(answer),
        CrawlOptions(samples=1, gate="stored"),
        examples=examples(graph),
        kinds=stored,
    )
    assert [(p.subject, p.relation) for p in next(crawler.levels(["Ann"])).pairs] == [
        ("Ann", "barks at")
    ]


def test_kinds() -> None:
    assert kind_of(["person. X", "a person", "wizard"]) == "person"
    assert kind_of(["", "unknown", "I can't say"]) is None
    stated = not_kinds(["{} is a sibling of", "{} is a house at", "{} knows"])
    assert kind_of(["sibling of Ann", "sibling of Ann", "person"], stated) == "person"
    assert kind_of(["house at Hogwarts"], stated) == "house"
    gate = Gate({"knows": ["person", None], "is": []})
    assert gate.allows("person", "knows")
    assert not Gate({"knows": ["person"], "barks": ["dog"]}).allows("dog", "knows")
    assert gate.allows("rock", "knows")  # a kind never seen is asked for all
    assert gate.allows(None, "knows")
    assert gate.allows("person", "is")
    assert Gate({}).allows("person", "knows")
    closed = Gate({"knows": ["person"]}, closed=True)
    assert not closed.allows("rock", "knows")
    assert closed.allows(None, "knows")


def test_examples_are_of_each_kind() -> None:
    entities = tuple(Entity(n, (), k) for n, k in (("A", "x"), ("B", "x"), ("C", "x"), ("D", "y")))
    pairs = [Fact(e.name, "r", "o", "{} r") for e in entities]
    assert examples(KnowledgeGraph("g", entities, tuple(pairs))) == {"r": ("A", "B", "D")}


def test_wordings() -> None:
    (relation,) = relations_of(FACTS[:1])
    assert [w.text for w in relation.wordings] == [
        "{} knows", "{} also knows", "so {} knows", "Q knows {}?",
    ]  # fmt: skip
    assert len(relations_of(FACTS[:1], 2)[0].wordings) == 2
    plain = requests_for("A", relation.wordings, Sampling(), 1)
    texts = [request.messages[0].text for request in plain]
    assert texts == ["A knows", "A also knows", "so A knows", "Question: Q knows A? Answer:"]
    chat = requests_for("A", relation.wordings[-1:], Sampling(), 1, asking=IN_CHAT)[0]
    assert chat.form == "chat"
    assert "JSON list" in chat.messages[0].text
    with pytest.raises(UsageError, match="'r' has no template"):
        relations_of([Fact("A", "r", "B", "no slot")])
