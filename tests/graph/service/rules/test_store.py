"""Rules in the database: stored and read back, checked, reviewed by two people, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import depedit
from thinkeval.loaders.knowledge_sets import QA, Copy, Implication, KnowledgeSet
from thinkeval.loaders.rule_records import Atom, Rule, rule
from thinkeval.service.base.errors import NotFoundError, UsageError
from thinkeval.service.graphs import datasets, delete
from thinkeval.service.rules import mining, review, store

STUDIED = rule(
    [
        Atom("person", "was sorted into", "house", ("[Person A] was sorted into [House A].",)),
        Atom("house", "is a house at", "school", ("[House A] belongs to [School A].",)),
    ],
    Atom("person", "studied at", "school", ("[Person A] studied at [School A].", "other words")),
    kinds={"person": "person", "house": "house"},
    words={"person": "Person A", "house": "House A", "school": "School A"},
)
FRIENDS = rule(
    [Atom("a", "was friends with", "b"), Atom("b", "studied at", "s")], Atom("a", "studied at", "s")
)


@pytest.fixture
def dataset(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield hogwarts_as(db, prefix)


def test_what_is_saved_is_read_back(db: Database, dataset: str) -> None:
    assert store.save(db, dataset, [STUDIED, FRIENDS, STUDIED], status="kept") == store.Saved(2, 2)
    assert store.save(db, dataset, [STUDIED], status="kept") == store.Saved(1, 0)
    found = {each.id: each for each in store.rules_of(db, dataset)}
    assert {key: each.rule for key, each in found.items()} == {
        STUDIED.id: STUDIED,
        FRIENDS.id: FRIENDS,
    }
    assert store.rules_of(db, dataset, status=("candidate",)) == []
    assert store.rule_of(db, dataset, STUDIED.id[:6]).id == STUDIED.id


def test_ids_that_fit_nothing_or_too_much(db: Database, dataset: str) -> None:
    store.save(db, dataset, [STUDIED], status="kept")
    with pytest.raises(NotFoundError, match="Did you mean"):
        store.rule_of(db, dataset, STUDIED.id[:-1] + "x")
    with pytest.raises(NotFoundError):
        store.rules_of(db, f"{dataset}-none")
    many = [
        rule([Atom("a", f"r{i}", "b"), Atom("b", "s", "c")], Atom("a", "t", "c")) for i in range(40)
    ]
    store.save(db, dataset, many, status="candidate")
    with pytest.raises(UsageError, match="is a prefix of"):
        store.rule_of(db, dataset, _shared_start([each.id for each in many]))


def _shared_start(ids: list[str]) -> str:
    """One letter with which two of them begin (40 ids, 16 letters)."""
    letters = [each[0] for each in ids]
    return next(letter for letter in letters if letters.count(letter) > 1)


def test_rules_speak_of_what_the_data_set_has(db: Database, dataset: str) -> None:
    store.check(db, dataset, STUDIED, FRIENDS)
    typo = rule([Atom("a", "was freinds with", "b"), FRIENDS.pair[1].renamed({"y": "b", "z": "c"})],
                Atom("a", "studied at", "c"))  # fmt: skip
    with pytest.raises(NotFoundError, match="Did you mean 'was friends with'"):
        store.check(db, dataset, typo)
    kind = rule(
        [Atom("a", "was friends with", "b"), Atom("b", "studied at", "c")],
        Atom("a", "studied at", "c"),
        kinds={"a": "persn"},
    )
    with pytest.raises(UsageError, match="'persn'") as caught:
        store.check(db, dataset, kind)
    assert "person (30)" in caught.value.remedy
    new = rule([Atom("a", "was friends with", "b"), Atom("b", "studied at", "c")],
               Atom("a", "may visit", "c"))  # fmt: skip
    with pytest.raises(NotFoundError):
        store.check(db, dataset, new)
    store.check(db, dataset, new, new_relations=True)


def test_a_file_of_rules_is_counted_and_kept(db: Database, dataset: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(
        "rules:\n- if: [p was sorted into h, h is a house at s]\n  then: p studied at s\n",
        encoding="utf-8",
    )
    (added,), created = mining.add_file(db, dataset, path)
    assert (created, added.status, added.rule.support, added.rule.body) == (1, "kept", 7, 9)


@pytest.mark.parametrize(
    ("labels", "status"),
    [
        ({"ann": "a"}, "candidate"),
        ({"ann": "a", "bob": "b"}, "kept"),
        ({"ann": "b", "bob": "c"}, "rejected"),
        ({"ann": "e", "bob": "d"}, "rejected"),
        ({"ann": "a", "bob": "a", "eve": "d"}, "rejected"),
    ],
)
def test_two_labels_decide(db: Database, dataset: str, labels: dict[str, str], status: str) -> None:
    store.save(db, dataset, [STUDIED], status="candidate")
    for who, said in labels.items():
        review.label(db, dataset, STUDIED.id, f"{dataset} {who}", said)
    found = store.rule_of(db, dataset, STUDIED.id)
    assert found.status == status
    assert found.labels == tuple((f"{dataset} {who}", said) for who, said in labels.items())


def test_a_label_can_be_changed_and_what_waits_is_listed(db: Database, dataset: str) -> None:
    store.save(db, dataset, [STUDIED, FRIENDS], status="candidate")
    ann, bob = f"{dataset} ann", f"{dataset} bob"
    review.label(db, dataset, STUDIED.id, ann, "c")
    assert [r.id for r in review.waiting(db, dataset, ann)] == [FRIENDS.id]
    assert len(review.waiting(db, dataset)) == 2
    assert review.label(db, dataset, STUDIED.id, bob, "a").status == "rejected"
    assert review.label(db, dataset, STUDIED.id, ann, "b").status == "kept"
    assert [r.id for r in review.waiting(db, dataset, bob)] == [FRIENDS.id]
    agreed = review.agreement(store.rules_of(db, dataset, status=None))
    assert (agreed.n, agreed.raw, agreed.raw_plausible) == (1, 0.0, 1.0)
    store.save(db, dataset, [STUDIED], status="candidate")  # mining finds it again
    assert store.rule_of(db, dataset, STUDIED.id).status == "kept"


def test_labels_and_names_that_are_none(db: Database, dataset: str) -> None:
    store.save(db, dataset, [STUDIED], status="candidate")
    with pytest.raises(UsageError, match="'f' is no label") as caught:
        review.label(db, dataset, STUDIED.id, "ann", "f")
    assert "a: must be true" in caught.value.remedy
    with pytest.raises(UsageError, match="not a valid name of an annotator"):
        review.label(db, dataset, STUDIED.id, " ", "a")
    with pytest.raises(NotFoundError):
        review.label(db, dataset, "zz", "ann", "a")


def test_deleting_takes_labels_and_lonely_annotators(db: Database, dataset: str) -> None:
    store.save(db, dataset, [STUDIED, FRIENDS], status="candidate")
    review.label(db, dataset, STUDIED.id, f"{dataset} ann", "a")
    assert store.delete(db, dataset, [STUDIED.id]) == 1
    assert [r.id for r in store.rules_of(db, dataset, status=None)] == [FRIENDS.id]
    store.save(db, dataset, [STUDIED], status="candidate")
    assert store.rule_of(db, dataset, STUDIED.id).labels == ()
    delete.delete_graph(db, dataset, with_dependents=True)
    assert db.read(rows.RuleRow, "rules/list_rules", dataset=dataset) == []


def test_importing_anew_keeps_the_rules(db: Database, dataset: str) -> None:
    store.save(db, dataset, [STUDIED], status="kept")
    datasets.store(db, datasets.read("hogwarts", name=dataset), replace=True)
    assert [r.rule for r in store.rules_of(db, dataset)] == [STUDIED]


def test_a_rule_found_again_keeps_its_words(db: Database, dataset: str) -> None:
    store.save(db, dataset, [STUDIED], status="kept")
    bare = Rule(
        Atom("x", "was sorted into", "y"), Atom("y", "is a house at", "z"),
        Atom("x", "studied at", "z"), kinds=STUDIED.kinds, support=7, body=9, source="mined",
    )  # fmt: skip
    assert bare.id == STUDIED.id
    store.save(db, dataset, [bare], status="candidate")
    found = store.rule_of(db, dataset, STUDIED.id)
    assert found.rule.first == STUDIED.first
    assert (found.rule.words, found.rule.source) == (STUDIED.words, "given")
    assert (found.status, found.rule.confidence) == ("kept", pytest.approx(7 / 9))


def test_rules_come_from_knowledge_sets_too(db: Database, dataset: str, tmp_path: Path) -> None:
    facts = (
        QA("Luna", "was sorted into", "Ravenclaw", "{} was sorted into", "{} was sorted into"),
        QA("Ravenclaw", "is a house at", "Hogwarts", "{} is a house at", "{} is a house at"),
    )
    asked = QA("Luna", "studied at", "Hogwarts", "{} studied at", "{} studied at")
    implication = Implication(asked, (facts[0].key, facts[1].key))
    copies = (Copy(updates=(), updated=(), kept=(asked.key,)),)
    sets = [
        KnowledgeSet(f"set-{i}", dataset, "CQ_DT", i, STUDIED, facts, (), (implication,), copies)
        for i in range(2)
    ]
    file = tmp_path / "sets.jsonl"
    file.write_text(depedit.write(sets), encoding="utf-8")
    added, created = mining.add_file(db, dataset, file)
    assert ([each.rule.id for each in added], created) == ([STUDIED.id], 1)
    assert (added[0].status, added[0].rule.conclusion) == ("kept", STUDIED.conclusion)
