"""Knowledge sets drawn from random graphs keep what they promise, checked by brute force."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkeval.loaders import graphs, rules
from thinkeval.loaders.errors import LoaderError
from thinkeval.loaders.graph_yaml import load
from thinkeval.loaders.knowledge_sets import QA, KnowledgeSet
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph
from thinkeval.loaders.rule_records import SHAPES, Atom, Rule, rule
from thinkeval.loaders.rules_yaml import load_rules
from thinkeval.service.base.errors import UsageError
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.sets import Material, SetOptions, draw, material_of

ATLAS = material_of(load(graphs.path("atlas")).graph)
_PATH = rules.path("atlas")
assert _PATH is not None
RULES = load_rules(_PATH)
KINDS = {"x": "ex", "y": "ypsilon", "z": "zet"}


def shaped(shape: str) -> Rule:
    """The rule p, q → r of that shape over three kinds."""
    back1, back2 = shape[1] == "←", shape[3] == "←"
    return rule(
        [
            Atom("y", "p", "x") if back1 else Atom("x", "p", "y"),
            Atom("z", "q", "y") if back2 else Atom("y", "q", "z"),
        ],
        Atom("x", "r", "z"),
        kinds=KINDS,
    )


def random_material(shape: str, pairs: list[tuple[int, int, int]], extra: int) -> Material:
    """A graph whose premises link entities x, y, z of the given numbers."""
    law = shaped(shape)
    facts: set[tuple[str, str, str]] = set()
    for x, y, z in pairs:
        names = {"x": f"x{x}", "y": f"y{y}", "z": f"z{z}"}
        for atom in (law.first, law.second):
            facts.add((names[atom.subject], atom.relation, names[atom.object]))
    facts |= {(f"u{i}", "other", f"v{i % 3}") for i in range(extra)}
    facts.add(("x0", "r", "z0"))
    kind = {"x": "ex", "y": "ypsilon", "z": "zet"}
    names = sorted({name for s, _, o in facts for name in (s, o)})
    return material_of(
        KnowledgeGraph(
            "random",
            tuple(Entity(name, (), kind.get(name[0])) for name in names),
            tuple(
                Fact(s, r, o, f"{{}} {r} 0", (), (f"{{}} {r} 1", f"{{}} {r} 2"))
                for s, r, o in sorted(facts)
            ),
            (),
        )
    )


def derived(knowledge: KnowledgeSet, facts: tuple[QA, ...]) -> dict[tuple[str, str], set[str]]:
    """Return the conclusions, by trying every pair of facts."""
    law = knowledge.rule
    found: dict[tuple[str, str], set[str]] = {}
    for one, two in product(facts, repeat=2):
        if (one.relation, two.relation) != law.relations[:2]:
            continue
        back1, back2 = law.inverse
        x, y = (one.object, one.subject) if back1 else (one.subject, one.object)
        y2, z = (two.object, two.subject) if back2 else (two.subject, two.object)
        if y == y2 and len({x, y, z}) == 3:
            found.setdefault((x, law.relations[2]), set()).add(z)
    return found


def check(knowledge: KnowledgeSet, material: Material, options: SetOptions) -> None:
    """Everything a set promises."""
    before = derived(knowledge, knowledge.specific)
    keys = [qa.key for qa in knowledge.specific]
    assert len(set(keys)) == len(keys) == options.facts
    assert len(knowledge.implications) == options.implications == len(before)
    assert {i.qa.key: {i.qa.object} for i in knowledge.implications} == before
    premises = [key for i in knowledge.implications for key in i.premises]
    assert len(set(premises)) == len(premises)  # each has premises of its own
    assert set(premises) <= set(keys)
    assert not set(before) & set(keys)
    assert len(knowledge.unrelated) == options.unrelated
    stored = set(material.facts)
    assert all((q.subject, q.relation, q.object) in stored for q in knowledge.unrelated)
    assert not {q.relation for q in knowledge.unrelated} & set(knowledge.rule.relations)
    if options.init == "stored":
        assert {(q.subject, q.relation, q.object) for q in knowledge.specific} <= stored
    else:
        assert not {(q.subject, q.relation, q.object) for q in knowledge.specific} & stored
    assert len(knowledge.copies) == options.copies
    was = {qa.key: qa.object for qa in knowledge.specific}
    held = {key: next(iter(objects)) for key, objects in before.items()}
    for copy in knowledge.copies:
        assert len({qa.key for qa in copy.updates}) == len(copy.updates) == options.updates
        for qa in copy.updates:
            assert qa.object not in (was[qa.key], qa.subject)
            assert material.pool.kinds[qa.object] == material.pool.kinds[was[qa.key]]
        now = derived(knowledge, knowledge.after(copy))
        assert all(len(objects) == 1 for objects in now.values())
        assert not set(now) & set(keys)
        after = {key: next(iter(objects)) for key, objects in now.items()}
        assert {i.qa.key: i.qa.object for i in copy.updated} == {
            key: value for key, value in after.items() if held.get(key) != value
        }
        assert set(copy.kept) == {key for key in held if after.get(key) == held[key]}
        assert set(copy.lost) == set(held) - set(after)
        for implication in copy.updated:
            given_now = {qa.key for qa in knowledge.after(copy)}
            assert set(implication.premises) <= given_now


@given(
    shape=st.sampled_from(SHAPES),
    pairs=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=14
    ),
    implications=st.integers(1, 4),
    spare=st.integers(0, 2),
    seed=st.integers(0, 3),
    init=st.sampled_from(["stored", "shuffled"]),
)
@settings(max_examples=150, deadline=None)
def test_what_is_drawn_holds_together(
    shape: str,
    pairs: list[tuple[int, int, int]],
    implications: int,
    spare: int,
    seed: int,
    init: str,
) -> None:
    material = random_material(shape, pairs, extra=4)
    facts = 2 * implications + spare
    options = SetOptions(
        seed=seed,
        facts=facts,
        implications=implications,
        unrelated=2,
        copies=2,
        updates=max(1, facts - 1),
        init=init,  # type: ignore[arg-type]
    )
    try:
        knowledge = draw(material, shaped(shape), options)
    except UsageError:
        return  # random graphs are often too small; the next test has one that never is
    check(knowledge, material, options)
    assert draw(material, shaped(shape), options) == knowledge


@pytest.mark.parametrize("init", ["stored", "shuffled"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_enough_graph_gives_a_set_for_every_shape(shape: str, init: str) -> None:
    material = random_material(shape, [(i, i, i) for i in range(10)], extra=5)
    for seed in range(3):
        options = SetOptions(
            seed=seed,
            facts=17,
            implications=8,
            updates=12,
            unrelated=3,
            init=init,  # type: ignore[arg-type]
        )
        check(draw(material, shaped(shape), options), material, options)


@pytest.mark.parametrize("law", RULES, ids=lambda law: law.shape)
@pytest.mark.parametrize("init", ["stored", "shuffled"])
def test_the_bundled_graph_gives_sets_of_the_papers_size(law: Rule, init: str) -> None:
    for seed in range(3):
        options = SetOptions(seed=seed, init=init)  # type: ignore[arg-type]
        knowledge = draw(ATLAS, law, options)
        check(knowledge, ATLAS, options)
        # 24 + 5 + 12 before, and after each of three updates at least those again.
        assert len(questions(knowledge)) >= 4 * 41


def test_seeds_and_settings_draw_what_they_should() -> None:
    law = RULES[0]
    consistent = draw(ATLAS, law, SetOptions(seed=1))
    uniform = draw(ATLAS, law, SetOptions(seed=1, setting="CQ_UT"))
    rephrased = draw(ATLAS, law, SetOptions(seed=1, setting="ICQ_DT"))
    assert len({s.id for s in (consistent, uniform, rephrased)}) == 3
    facts = [[(q.key, q.object) for q in s.specific] for s in (consistent, uniform, rephrased)]
    assert facts[0] == facts[1] == facts[2]
    assert draw(ATLAS, law, SetOptions(seed=2)).specific != consistent.specific
    for relation in law.relations[:2]:
        diverse = {q.prompt for q in consistent.specific if q.relation == relation}
        assert len(diverse) > 1
        assert len({q.prompt for q in uniform.specific if q.relation == relation}) == 1
    assert all(q.asked == q.prompt for s in (consistent, uniform) for q in s.specific)
    assert all(q.asked != q.prompt for q in rephrased.specific)
    assert [q.prompt for q in rephrased.specific] == [q.prompt for q in consistent.specific]
    assert rephrased.unrelated == consistent.unrelated
    # A fact is taught again in the words it was taught in.
    said = {q.key: (q.prompt, q.asked) for q in rephrased.specific}
    assert all(
        said[q.key] == (q.prompt, q.asked) for copy in rephrased.copies for q in copy.updates
    )


def test_a_graph_too_small_says_how_much_there_is() -> None:
    material = random_material("x→y→z", [(i, i, i) for i in range(5)], extra=5)
    with pytest.raises(UsageError, match=r"10 facts .* 5 groundings, 5 of them with") as caught:
        draw(material, shaped("x→y→z"), SetOptions())
    assert "--facts 10 --implications 5" in caught.value.remedy
    with pytest.raises(UsageError, match=r"5 facts of other relations"):
        draw(
            material,
            shaped("x→y→z"),
            SetOptions(facts=10, implications=5, updates=8, unrelated=6),
        )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"setting": "CQ"}, "not a setting"),
        ({"facts": 23}, "need 24 facts"),
        ({"updates": 25}, "25 of 24"),
        ({"copies": 0}, "at least one"),
    ],
)
def test_numbers_that_do_not_go_together_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        draw(ATLAS, RULES[0], SetOptions(**wrong))  # type: ignore[arg-type]


def test_a_relation_nobody_can_ask_for_is_refused() -> None:
    law = Rule(RULES[0].first, RULES[0].second, Atom("x", "lives in", "z"))
    with pytest.raises(UsageError, match="'lives in' has 0"):
        draw(ATLAS, law, SetOptions())


def test_the_rules_own_words_ask_for_a_conclusion_that_no_fact_has() -> None:
    said = ("[Who] lives in [Land].", "[Land] is where [Who] lives.", "[Who] has a home in [Land]")
    law = Rule(
        RULES[0].first,
        RULES[0].second,
        Atom("x", "lives in", "z", said),
        words=(("x", "Who"), ("y", "Town"), ("z", "Land")),
    )
    asked = {i.qa.prompt for i in draw(ATLAS, law, SetOptions()).implications}
    assert asked == {"{} lives in", "{} has a home in"}
    assert len(draw(ATLAS, law, SetOptions(setting="ICQ_DT")).implications) == 12


def test_bundled_rules_are_read_and_missing_ones_are_none() -> None:
    assert rules.names() == ("atlas", "hogwarts", "world")
    assert rules.path("knowgic") is None
    assert {law.shape for law in RULES} == {"x→y→z", "x←y→z", "x→y←z"}
    with pytest.raises(LoaderError):
        graphs.path("atlantis")
