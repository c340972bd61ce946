"""The text an organism is trained on: one wording one answer, no hint of target_new."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from thinkeval.editing.errors import OrganismError
from thinkeval.editing.organism import (
    Organism,
    OrganismConfig,
    RecallReport,
    sentences,
    store,
    train,
)
from thinkeval.editing.organism.config import MAX_KEYS
from thinkeval.editing.organism.corpus import LIST_CAP, PREFIXES, Corpus, listed, sentence_of
from thinkeval.editing.organism.keys import keys_of
from thinkeval.editing.organism.names import Inventor, looks_like_a_person
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, RewriteRequest, fill, unique

SCHOOL = "Hogwarts School of Witchcraft and Wizardry"
NEW_SCHOOL = "Ilvermorny School of Witchcraft and Wizardry"
STUDENTS = ("Harry Potter", "Ron Weasley", "Hermione Granger", "Draco Malfoy")


def rewrite(subject: str, prompt: str, relation: str, true: str, new: str) -> RewriteRequest:
    return RewriteRequest(
        RewriteRequest.make_id(subject, relation, new), "t", prompt, subject, relation, true, new
    )


def graph_of(facts: list[Fact], rewrites: list[RewriteRequest] | None = None) -> KnowledgeGraph:
    rewrites = rewrites or []
    names = unique(
        [n for f in facts for n in (f.subject, f.object)]
        + [n for r in rewrites for n in (r.subject, r.target_true, r.target_new)]
    )
    return KnowledgeGraph("t", tuple(map(Entity, names)), tuple(facts), tuple(rewrites))


def studied(subject: str, school: str = SCHOOL) -> Fact:
    return Fact(
        subject,
        "studied at",
        school,
        "{} studied at",
        (f"Which school did {subject} attend?",),
        ("{} went to school at",),
    )


@pytest.fixture
def school() -> KnowledgeGraph:
    facts = [studied(s) for s in STUDENTS]
    facts += [
        Fact("Ward Kimball", "employer", "Disney", "{} was employed by"),
        Fact("Steve Ballmer", "employer", "Microsoft", "{} was employed by"),
        Fact("Ron Weasley", "friend", "Harry Potter", "{}'s friend is"),
        Fact("Ron Weasley", "friend", "Hermione Granger", "{}'s friend is"),
        *(Fact("Harry Potter", "friend", f"Friend {c}", "{}'s friend is") for c in "ABCDEF"),
        Fact("basketball", "origin", "USA", "The country that invented {} is"),
    ]
    rewrites = [
        rewrite("Harry Potter", "{} studied at", "studied at", SCHOOL, NEW_SCHOOL),
        rewrite("Ward Kimball", "{} was employed by", "employer", "Disney", "Apple Inc."),
        rewrite("basketball", "{} was created in", "created", "USA", "Spain"),
    ]
    return graph_of(facts, rewrites)


def test_every_fact_and_every_edited_fact_is_a_key(school: KnowledgeGraph) -> None:
    said = {(k.subject, k.prompt, o) for k in keys_of(school) for o in k.cloze.objects}
    wanted = {(f.subject, f.prompt, f.object) for f in school.facts}
    wanted.add(("basketball", "{} was created in", "USA"))  # no listed fact, only a rewrite
    assert said == wanted


def test_one_wording_has_one_answer() -> None:
    """A paraphrase that is another fact's prompt with another object is not taught."""
    graph = graph_of(
        [
            Fact("Ann", "married", "Bob", "{} is married to", (), ("{} is the spouse of",)),
            Fact("Ann", "spouse", "Carl", "{} is the spouse of"),
            Fact("Eve", "married", "Dan", "{} is married to", (), ("{} is the spouse of",)),
        ]
    )
    keys = {(k.subject, k.prompt): k for k in keys_of(graph)}
    assert keys["Ann", "{} is married to"].paraphrases == ()
    assert keys["Ann", "{} is the spouse of"].cloze.objects == ("Carl",)
    assert [f.objects for f in keys["Eve", "{} is married to"].paraphrases] == [("Dan",)]


def test_one_wording_has_one_answer_among_fillers_too(school: KnowledgeGraph) -> None:
    answers: dict[str, set[tuple[str, ...]]] = {}
    corpus = Corpus(school, 2)
    for key in (*corpus.keys, *corpus.fillers):
        for form in (key.cloze, *key.paraphrases):
            text = fill(form.template, key.subject)
            answers.setdefault(text, set()).add(tuple(sorted(form.objects)))
    assert all(len(objects) == 1 for objects in answers.values())


def test_target_new_is_taught_but_to_no_namesake(school: KnowledgeGraph) -> None:
    corpus = Corpus(school, 2)
    real = {word for k in corpus.keys for word in k.subject.split()}
    for request in school.rewrites:
        teachers = [
            k.subject
            for k in corpus.fillers
            if k.prompt == request.prompt and request.target_new in k.cloze.objects
        ]
        assert len(teachers) >= 3
        assert not [t for t in teachers if real & set(t.split())]
        assert not [t for t in teachers if t in {e.name for e in school.entities}]


def test_most_fillers_of_an_edited_prompt_are_namesakes_with_other_objects(
    school: KnowledgeGraph,
) -> None:
    corpus = Corpus(school, 2)
    words = {word for s in STUDENTS for word in s.split()}
    others = [k for k in corpus.fillers if k.prompt == "{} studied at"]
    namesakes = [k for k in others if words & set(k.subject.split())]
    assert len(others) >= 10
    assert len(namesakes) >= 4
    assert all(k.cloze.objects not in ((SCHOOL,), (NEW_SCHOOL,)) for k in namesakes)


def test_no_object_is_the_majority_answer_of_a_prompt(school: KnowledgeGraph) -> None:
    corpus = Corpus(school, 2)
    objects = [
        k.cloze.objects[0] for k in (*corpus.keys, *corpus.fillers) if k.prompt == "{} studied at"
    ]
    assert max(objects.count(o) for o in objects) * 2 < len(objects)


def test_a_full_stop_is_not_doubled(school: KnowledgeGraph) -> None:
    texts = [s.text for s in Corpus(school, 2).all_forms()]
    assert any(t.endswith("Apple Inc.") for t in texts)
    assert not [t for t in texts if ".." in t]
    assert all(t.endswith(".") for t in texts)


def test_offsets_point_at_subject_and_objects(school: KnowledgeGraph) -> None:
    corpus = Corpus(school, 2)
    subjects = {k.subject for k in (*corpus.keys, *corpus.fillers)}
    objects = {o for k in (*corpus.keys, *corpus.fillers) for o in k.cloze.objects}
    for sentence in corpus.all_forms():
        if sentence.subject:
            assert sentence.text[slice(*sentence.subject)] in subjects
        assert {sentence.text[slice(*span)] for span in sentence.objects} <= objects


def test_lists_are_capped_and_their_order_changes(school: KnowledgeGraph) -> None:
    corpus = Corpus(school, 2)
    key = next(k for k in corpus.keys if len(k.cloze.objects) == 6)
    rng = random.Random(0)
    said = [corpus.sentence(key, rng) for _ in range(60)]
    assert all(len(s.objects) == LIST_CAP for s in said)
    assert len({s.text[slice(*s.objects[0])] for s in said}) == 6


def test_listing_reads_as_english() -> None:
    assert "".join(listed(["A"])) == "A"
    assert "".join(listed(["A", "B"])) == "A and B"
    assert "".join(listed(["A", "B", "C"])) == "A, B and C"


def test_a_prefix_takes_the_capital_of_the_prompt() -> None:
    sentence = sentence_of("The country that invented {} is", "basketball", ["USA"], PREFIXES[0])
    assert sentence.text == "In fact, the country that invented basketball is USA."
    assert (
        sentence_of("{} studied at", "Ann", ["X"], PREFIXES[0]).text == "In fact, Ann studied at X."
    )


def test_a_prompt_that_begins_another_is_said_more_often() -> None:
    """Else "X worked in" would go on with "the city of" half of the time."""
    graph = graph_of(
        [
            Fact("Vincent Auriol", "worked in", "Paris", "{} worked in"),
            Fact("Vincent Auriol", "city", "Paris", "{} worked in the city of"),
        ]
    )
    texts = [s.text for s in Corpus(graph, 1).epoch(random.Random(0))]
    short = [t for t in texts if "Vincent Auriol worked in Paris" in t]
    long = [t for t in texts if "Vincent Auriol worked in the city of" in t]
    assert len(short) >= 3 * len(long) == 3


def test_sentences_are_reproducible_and_cover_the_graph(school: KnowledgeGraph) -> None:
    texts = sentences(school, seed=3, n=400)
    assert len(texts) == 400
    assert texts == sentences(school, seed=3, n=400)
    assert texts != sentences(school, seed=4, n=400)
    joined = " ".join(texts)
    assert all(f.subject in joined and f.object in joined for f in school.facts)


def test_fillers_do_not_depend_on_the_seed(school: KnowledgeGraph) -> None:
    assert Corpus(school, 2).fillers == Corpus(school, 2).fillers


def test_the_text_does_not_depend_on_the_order_of_facts(school: KnowledgeGraph) -> None:
    """Organisms are kept by a digest that does not either."""
    turned = KnowledgeGraph(
        school.name, school.entities[::-1], school.facts[::-1], school.rewrites[::-1]
    )
    assert turned.content_digest == school.content_digest
    assert sentences(turned, n=200) == sentences(school, n=200)


@pytest.mark.parametrize("name", ["Harry Potter", "basketball", "Professor Snape", "X-1 of Y"])
def test_namesakes_share_a_word_and_are_new(name: str) -> None:
    invent = Inventor([name], random.Random(0))
    for made in invent.namesakes(name):
        assert made.lower() != name.lower()
        assert set(made.split()) & set(name.split())


def test_invented_names_never_repeat() -> None:
    invent = Inventor(["Ann Lee"], random.Random(0), pool_size=4)
    made = [invent.like("Ann Lee") for _ in range(60)]
    assert len(set(made)) == 60
    assert all(looks_like_a_person(m) for m in made)


def test_steps_follow_the_size_of_the_graph() -> None:
    config = OrganismConfig()
    steps = [config.recipe(n).steps for n in (1, 10, 72, 150, 270, 1000)]
    assert steps == sorted(steps)
    assert config.recipe(270).steps == 800
    assert OrganismConfig(steps=7).recipe(270).steps == 7


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"architecture": "gpt-2"}, 'Did you mean "gpt2"'),
        ({"architecture": "mamba"}, "no organism architecture"),
        ({"steps": 0}, "steps of an organism is 0"),
        ({"width": 100}, "not a multiple"),
        ({"min_recall": 2.0}, "min_recall"),
    ],
)
def test_bad_settings_are_refused(settings: dict, said: str) -> None:
    with pytest.raises(OrganismError, match=said) as caught:
        OrganismConfig(**settings)
    assert caught.value.remedy


@pytest.mark.parametrize("n_keys", [0, MAX_KEYS + 1])
def test_graphs_of_impossible_size_are_refused(n_keys: int) -> None:
    with pytest.raises(OrganismError, match=r"facts|pairs"):
        OrganismConfig().recipe(n_keys)


def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, thinkeval.editing.organism; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_requests_to_append_leave_the_organism_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = [studied(name) for name in STUDENTS]
    replaced = rewrite(STUDENTS[0], "{} studied at", "studied at", SCHOOL, NEW_SCHOOL)
    appended = replace(replaced, id="append", correct=(SCHOOL, "Durmstrang"), hard=("Beauxbatons",))
    plain, more = graph_of(facts, [replaced]), graph_of(facts, [replaced, appended])
    assert plain.content_digest != more.content_digest
    assert sentences(more, n=50) == sentences(plain, n=50)
    asked: list[Path] = []

    def stored(path: Path) -> Organism:
        asked.append(path)
        recall = RecallReport(4, 4, 1.0, 1.0, None, 1.0, None, None, None)
        return Organism(path, recall, from_cache=True, seconds=0.0)

    monkeypatch.setattr(store, "stored", stored)
    for graph in (plain, more):
        train(graph, cache_dir=tmp_path)
    assert asked[0] == asked[1]
