"""Worked examples as text: made of a graph without telling what is measured; chosen, ordered."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from thinkeval.editing import retrievers
from thinkeval.editing.errors import HparamsError
from thinkeval.editing.in_context.demonstrations import (
    Demonstration,
    InContext,
    balanced,
    flat,
    turns,
)
from thinkeval.editing.probe.matching import contains
from thinkeval.editing.probe.prompts import CHAT_CLOZE, CHAT_QUESTION, QUESTION
from thinkeval.editing.retrievers import tfidf
from thinkeval.loaders import formats, graphs
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, RewriteRequest
from thinkeval.service.scoring.plan import build


def fact(subject, relation, obj, *, paraphrases=(), questions=()):
    return Fact(subject, relation, obj, f"{{}} {relation}", questions, paraphrases)


STUDIED = [
    fact("Harry", "studied at", "Hogwarts"),
    fact("Viktor", "studied at", "Durmstrang", paraphrases=("{} went to",)),
    fact("Fleur", "studied at", "Beauxbatons", questions=("Where did Fleur study?",)),
    fact("Gellert", "studied at", "Durmstrang"),
]
LIVED = [
    fact("Viktor", "lived in", "Bulgaria"),
    fact("Fleur", "lived in", "France"),
    fact("Hogwarts", "lies in", "Scotland"),
]
REWRITE = RewriteRequest(
    "harry", "test", "{} studied at", "Harry", "studied at", "Hogwarts", "Ilvermorny"
)


def graph(facts=(*STUDIED, *LIVED), aliases=None):
    names = dict.fromkeys(n for f in facts for n in (f.subject, f.object))
    entities = tuple(Entity(n, (aliases or {}).get(n, ())) for n in names)
    return KnowledgeGraph("test", entities, tuple(facts))


def made(g=None, measured=(), seed=0):
    return build(g or graph(), REWRITE, measured, seed=seed)


def demo(kind, source, stated="f", prompt="p", answer="a"):
    return Demonstration(kind, source, stated, prompt, answer)


def test_the_three_kinds_of_a_fact():
    facts = {f.id: f for f in (*STUDIED, *LIVED)}
    by_kind = {(facts[d.source].subject, d.kind): d for d in made() if "studied" in d.fact}
    copy = by_kind["Viktor", "copy"]
    assert copy.text == (
        "New Fact: Viktor studied at Beauxbatons\nPrompt: Viktor studied at Beauxbatons\n\n"
    )
    update = by_kind["Viktor", "update"]
    assert (update.fact, update.prompt, update.answer) == (copy.fact, "Viktor went to", copy.answer)
    asked = by_kind["Fleur", "update"]
    assert asked.prompt == QUESTION.replace("{question}", "Where did Fleur study?")
    assert ("Gellert", "update") not in by_kind, "it has neither paraphrase nor question"
    retain = by_kind["Viktor", "retain"]
    assert retain.fact == copy.fact
    assert retain.text.endswith("Prompt: Fleur lived in France\n\n"), "the only one apart from him"


def test_new_objects_are_others_of_the_same_relation():
    """Never the fact's own object or another true one, and none where the relation has no other."""
    more = [*STUDIED, *LIVED, fact("Viktor", "studied at", "Beauxbatons")]
    for seed in range(20):
        for d in made(graph(more), seed=seed):
            if d.kind == "copy":
                subject, relation = d.fact.split()[0], " ".join(d.fact.split()[1:3])
                true = {f.object for f in more if (f.subject, f.relation) == (subject, relation)}
                everything = {f.object for f in more if f.relation == relation}
                assert d.answer in everything - true
    assert not [d for d in made(graph(more)) if d.fact.startswith("Viktor studied")]
    lonely = build(
        graph(LIVED[2:]), RewriteRequest("x", "t", "{} y", "X", "y", "Y", "Z"), (), seed=0
    )
    assert lonely == ()


def test_the_draw_is_by_seed_and_apart_for_each_fact():
    assert made(seed=1) == made(seed=1)
    shuffled = graph([*LIVED[::-1], *STUDIED[::-1]])
    assert set(made(shuffled, seed=1)) == set(made(seed=1))
    assert len({made(seed=seed) for seed in range(10)}) > 1


def test_nothing_is_told_of_what_is_measured():
    pool = made()
    assert not [d for d in pool if contains(d.text, ["Harry", "Hogwarts", "Ilvermorny"])]
    measured = {STUDIED[1].id, LIVED[1].id}
    fewer = made(measured=measured)
    assert not [d for d in fewer if d.source in measured]
    assert not [d for d in fewer if contains(d.text, ["Fleur lived in"])], "as a retain example"
    assert {d.source for d in fewer} < {d.source for d in pool}


def test_aliases_are_hidden_too():
    names = {"Hogwarts": ("Durmstrang Academy", "Bulgaria")}
    pool = made(graph(aliases=names))
    assert pool
    assert not [d for d in pool if contains(d.text, ["Bulgaria"])]
    assert [d for d in pool if contains(d.text, ["Durmstrang"])], "only a part of an alias"


@pytest.mark.parametrize("which", range(6))
def test_the_demo_graph(which):
    """On real sentences: no subject, target or measured fact shows; each relation is kept."""
    hogwarts = formats.load(graphs.path("hogwarts")).graph
    rewrite = hogwarts.rewrites[which]
    measured = {f.id for f in hogwarts.facts if f.subject == "Hermione Granger"}
    pool = build(hogwarts, rewrite, measured, seed=3)
    assert len({d.source for d in pool}) > 30
    hidden = [
        name
        for entity in (rewrite.subject, rewrite.target_true, rewrite.target_new)
        for name in (entity, *hogwarts.aliases(entity))
    ]
    facts = {f.id: f for f in hogwarts.facts}
    sentences = {f"{f.prompt.replace('{}', f.subject)} {f.object}": f for f in facts.values()}
    for d in pool:
        assert not contains(d.text, hidden)
        source = facts[d.source]
        assert source.id not in measured
        assert d.fact not in sentences, "the new fact is true already"
        if d.kind == "retain":
            kept = sentences[f"{d.prompt} {d.answer}"]
            assert kept.subject != source.subject
            assert kept.relation != source.relation
            assert kept.id not in measured
        else:
            assert d.fact == f"{source.prompt.replace('{}', source.subject)} {d.answer}"
            clozes = source.paraphrases if d.kind == "update" else (source.prompt,)
            assert d.prompt in {c.replace("{}", source.subject) for c in clozes}


def test_turns_keep_the_ratio():
    order = turns(16, (1, 3, 4))
    assert [order.count(kind) for kind in ("copy", "update", "retain")] == [2, 6, 8]
    assert turns(8, (1, 3, 4)) * 2 == order, "each half shows every kind alike"
    assert set(turns(5, (0, 0, 2))) == {"retain"}
    assert turns(0, (1, 3, 4)) == []


def similar_by(values):
    return lambda texts: [values[text] for text in texts]


def test_balanced_takes_the_most_similar_facts_once_each():
    near = {f"f{i}": 1 - i / 10 for i in range(10)}
    pool = [demo(k, str(i), f"f{i}") for i in range(10) for k in ("copy", "update", "retain")]
    chosen = balanced(pool[::-1], 8, (1, 3, 4), similar_by(near))
    assert [d.fact for d in chosen] == [f"f{i}" for i in range(8)]
    kinds = [d.kind for d in chosen]
    assert [kinds.count(k) for k in ("copy", "update", "retain")] == [1, 3, 4]
    assert kinds == turns(8, (1, 3, 4))


def test_balanced_leaves_a_kind_out_that_no_fact_has():
    pool = [demo(k, str(i), f"f{i}") for i in range(4) for k in ("copy", "retain")]
    chosen = balanced(pool, 8, (1, 3, 4), lambda texts: [0.0] * len(texts))
    assert len(chosen) == 4
    assert {d.kind for d in chosen} == {"copy", "retain"}
    assert len({d.source for d in chosen}) == 4
    assert balanced([], 8, (1, 3, 4), lambda texts: []) == []


def test_flat_takes_texts_whatever_their_kind():
    pool = [demo(k, str(i), f"f{i}", k) for i in range(3) for k in ("copy", "update")]
    values = {d.text: len(pool) - place for place, d in enumerate(pool)}
    assert flat(pool[::-1], 3, similar_by(values)) == pool[:3]


def test_equally_similar_ones_come_in_a_fixed_order():
    pool = [demo("copy", str(i), f"f{i}") for i in range(6)]
    same = lambda texts: [0.5] * len(texts)  # noqa: E731
    assert balanced(pool, 3, (1, 0, 0), same) == balanced(pool[::-1], 3, (1, 0, 0), same)


SHOWN = InContext(("New Fact: a\nPrompt: b c\n\n",), ("x is y",))


def test_the_text_before_a_prompt():
    assert SHOWN("x is") == "New Fact: a\nPrompt: b c\n\nNew Fact: x is y\nPrompt: x is"
    asked = QUESTION.replace("{question}", "What is x?")
    assert SHOWN(asked).endswith("New Fact: x is y\nPrompt: Question: What is x? Answer:")


@pytest.mark.parametrize("frame", [CHAT_CLOZE, CHAT_QUESTION])
def test_a_chats_instruction_stays_in_front(frame):
    """It belongs to the turn, not to the last prompt, and no example repeats it."""
    instruction, _, field = frame.partition("{")
    text = SHOWN(frame.replace("{" + field, "Who is x?"))
    first, rest = text.split("\n\n", 1)
    assert first == instruction.strip().rstrip(":.") + "."
    assert rest == SHOWN("Who is x?")


def test_two_edits_as_one():
    later = InContext(("e",), ("z is w",))
    both = SHOWN.followed_by(later)
    assert both == InContext(("e",), ("x is y", "z is w"))
    assert both("?").endswith("New Fact: x is y\nNew Fact: z is w\nPrompt: ?")
    assert SHOWN.followed_by(both) == both, "what a sequence has told already"


def test_tf_idf_by_hand():
    texts = ["the cat sat", "the dog sat", "A CAT!"]
    the, cat = math.log(4 / 3) + 1, math.log(4 / 3) + 1
    sat, dog, a = math.log(4 / 3) + 1, math.log(4 / 2) + 1, math.log(4 / 2) + 1
    query = [the, cat]
    rows = [([the, cat], [the, cat, sat]), ([the], [the, dog, sat]), ([cat], [a, cat])]
    expected = [
        sum(w * w for w in both) / math.hypot(*query) / math.hypot(*whole) for both, whole in rows
    ]
    assert tfidf.similarities("The cat", texts) == pytest.approx(expected, rel=1e-12)
    assert tfidf.similarities("the cat sat", texts)[0] == pytest.approx(1)
    assert tfidf.similarities("?", texts) == [0.0] * 3
    assert tfidf.similarities("cat", ["", "cat"])[0] == 0.0


@pytest.mark.parametrize("name", ["tfidf", "random"])
def test_retrievers_are_deterministic(name):
    find = retrievers.get(name).similarities
    texts = [d.fact for d in made()]
    assert find("Harry studied at", texts, seed=1) == find("Harry studied at", texts, seed=1)
    back = find("Harry studied at", texts[::-1], seed=1)[::-1]
    assert find("Harry studied at", texts, seed=1) == back
    other = find("Harry studied at", texts, seed=2)
    assert (other == back) == (name == "tfidf")


def test_chance_does_not_look_at_the_query():
    find = retrievers.get("random").similarities
    numbers = find("a", [str(i) for i in range(1000)], seed=0)
    assert numbers == find("b", [str(i) for i in range(1000)], seed=0)
    assert 0.45 < sum(numbers) / 1000 < 0.55
    assert 0 <= min(numbers) < max(numbers) < 1


def test_an_installed_package_adds_a_retriever(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "outside_length.py").write_text(
        "def similarities(query, texts, *, seed=0):\n    return [float(len(t)) for t in texts]\n"
    )
    (tmp_path / "outside_broken.py").write_text("x = 1\n")
    about = tmp_path / "outside_length-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-length\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[thinkeval.retrievers]\nlength = outside_length\nbroken = outside_broken\n"
        "gone = outside_nowhere\ntfidf = outside_broken\n"
    )
    assert {"length", "random", "tfidf"} <= set(retrievers.names())
    assert retrievers.get("length").similarities("", ["ab", "a"]) == [2.0, 1.0]
    assert retrievers.get("tfidf") is tfidf, "a built-in one is not replaced"
    with pytest.raises(HparamsError, match=r"'broken'.*has no similarities"):
        retrievers.get("broken")
    with pytest.raises(HparamsError, match=r"'gone'.*cannot be imported"):
        retrievers.get("gone")
    del sys.modules["outside_length"], sys.modules["outside_broken"]


def test_an_unknown_retriever_is_answered_with_the_nearest():
    with pytest.raises(HparamsError, match="did you mean 'tfidf'") as caught:
        retrievers.get("tfdif")
    assert "random" in caught.value.remedy


def test_no_torch_is_needed():
    code = (
        "import sys; import thinkeval.service.scoring.plan\n"
        "from thinkeval.editing import retrievers\n"
        "[retrievers.get(n) for n in retrievers.names()]; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_facts_that_name_the_edited_are_shown_if_asked_for():
    """Never those that are measured."""
    measured = {STUDIED[0].id}
    named = {LIVED[2].id}  # of Hogwarts, the old object
    without = {d.source for d in made(measured=measured)}
    every = build(graph(), REWRITE, measured, seed=0, exclude_named=False)
    assert not named & without
    assert any("Hogwarts" in d.text for d in every)
    assert {d.source for d in every} >= without
    assert not measured & {d.source for d in every}
