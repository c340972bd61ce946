"""Our own YAML, and the graph that ships with the package."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from thinkeval.loaders import graph_yaml, graphs
from thinkeval.loaders.errors import SchemaError, UnreadableFileError
from thinkeval.loaders.records import KnowledgeGraph, LoadedGraph, RewriteRequest

SMALL = """
name: small
relations:
  lives in:
    prompt: "{} lives in"
    question: "Where does {} live?"
    paraphrases: ["{} has a home in"]
  knows: {prompt: "{} knows"}
entities:
  Oslo: {kind: place, aliases: [Christiania]}
facts:
  Anna:
    knows: [Ben, No]
    lives in: Oslo
  Ben:
    lives in: [Oslo]
rewrites:
  - {subject: Anna, relation: lives in, target_new: Rome}
"""


def write(tmp_path: Path, text: str, name: str = "graph.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def chain_lengths(graph: KnowledgeGraph, rewrite: RewriteRequest) -> Counter[int]:
    out: dict[str, set[str]] = defaultdict(set)
    for fact in graph.facts:
        out[fact.subject].add(fact.object)
    found: Counter[int] = Counter()

    def walk(path: list[str]) -> None:
        if path[-1] == rewrite.target_true:
            found[len(path) - 1] += 1
        elif len(path) <= 5:
            for entity in out[path[-1]] - set(path):
                walk([*path, entity])

    walk([rewrite.subject])
    return found


# --- hogwarts -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hogwarts() -> LoadedGraph:
    return graph_yaml.load(graphs.path("hogwarts"))


def test_hogwarts_is_a_plain_copy(hogwarts: LoadedGraph) -> None:
    assert hogwarts.report.notes == ()
    assert hogwarts.graph.name == "hogwarts"
    assert hogwarts == graph_yaml.load(graphs.path("hogwarts"))


def test_hogwarts_facts_can_be_asked_four_ways(hogwarts: LoadedGraph) -> None:
    facts = hogwarts.graph.facts
    assert len(facts) >= 80
    for fact in facts:
        assert fact.question is not None
        assert fact.subject in fact.question
        assert fact.question.endswith("?")
        clozes = (fact.prompt, *fact.paraphrases)
        assert len(set(clozes)) == 3
        assert all(cloze.startswith("{} ") and cloze.count("{}") == 1 for cloze in clozes)
        assert not fact.object.endswith(".")


def test_hogwarts_templates_ask_for_one_relation_each(hogwarts: LoadedGraph) -> None:
    relations: dict[str, set[str]] = defaultdict(set)
    for fact in hogwarts.graph.facts:
        for cloze in (fact.prompt, *fact.paraphrases):
            relations[cloze].add(fact.relation)
    assert all(len(of) == 1 for of in relations.values())


def test_hogwarts_has_both_kinds_of_relation(hogwarts: LoadedGraph) -> None:
    keys = Counter((f.subject, f.relation) for f in hogwarts.graph.facts)
    assert 70 <= len(keys) <= 92
    assert sum(count > 1 for count in keys.values()) >= 10
    assert max(keys.values()) <= 4


def test_hogwarts_chains(hogwarts: LoadedGraph) -> None:
    graph = hogwarts.graph
    by_subject = {(r.subject, r.relation): r for r in graph.rewrites}
    harry = by_subject["Harry Potter", "studied at"]
    assert harry.target_true == "Hogwarts School of Witchcraft and Wizardry"
    assert harry.target_new == "Ilvermorny School of Witchcraft and Wizardry"
    assert len(harry.paraphrases) == 2
    assert harry.question == "Which school did Harry Potter attend?"
    lengths = chain_lengths(graph, harry)
    assert set(lengths) == {1, 2, 3, 4, 5}
    assert lengths.total() >= 100
    assert len(graph.rewrites) >= 4
    assert all(chain_lengths(graph, r).total() >= 2 for r in graph.rewrites)


def test_hogwarts_names_and_aliases_tell_entities_apart(hogwarts: LoadedGraph) -> None:
    owners: dict[str, set[str]] = defaultdict(set)
    for entity in hogwarts.graph.entities:
        assert entity.kind
        for name in (entity.name, *entity.aliases):
            owners[name.casefold()].add(entity.name)
    assert all(len(of) == 1 for of in owners.values())
    assert "Hogwarts" in hogwarts.graph.aliases("Hogwarts School of Witchcraft and Wizardry")


def test_graphs_by_name() -> None:
    assert "hogwarts" in graphs.names()
    with pytest.raises(UnreadableFileError) as caught:
        graphs.path("hogwart")
    assert "Did you mean 'hogwarts'?" in caught.value.remedy


# --- The format -----------------------------------------------------------------------------------


def test_small_graph(tmp_path: Path) -> None:
    loaded = graph_yaml.load(write(tmp_path, SMALL))
    graph = loaded.graph
    assert graph.name == "small"
    assert graph_yaml.load(write(tmp_path, SMALL), name="other").graph.name == "other"
    assert {e.name for e in graph.entities} == {"Anna", "Ben", "No", "Oslo", "Rome"}
    assert graph.aliases("Oslo") == ("Christiania",)
    (fact,) = [f for f in graph.facts if (f.subject, f.relation) == ("Anna", "lives in")]
    assert fact.questions == ("Where does Anna live?",)
    assert fact.paraphrases == ("{} has a home in",)
    (rewrite,) = graph.rewrites
    assert rewrite.target_true == "Oslo"
    assert rewrite.question == "Where does Anna live?"
    assert rewrite.n_records == 0


def test_rewrite_in_words_of_its_own(tmp_path: Path) -> None:
    text = SMALL + '    prompt: "{} resides in"\n'
    text = text.replace(
        "- {subject: Anna, relation: lives in, target_new: Rome}\n",
        """- subject: Anna
    relation: lives in
    target_new: Rome
""",
    )
    (rewrite,) = graph_yaml.load(write(tmp_path, text)).graph.rewrites
    assert rewrite.prompt == "{} resides in"
    assert rewrite.paraphrases == ("{} has a home in",)


def test_what_nothing_uses_is_flagged(tmp_path: Path) -> None:
    text = SMALL.replace("entities:", "entities:\n  Carl: {aliases: [Charles]}")
    text = text.replace("relations:", 'relations:\n  hates: {prompt: "{} hates"}')
    reasons = " ".join(n.reason for n in graph_yaml.load(write(tmp_path, text)).report.notes)
    assert "Carl" in reasons
    assert "hates" in reasons


def test_alias_of_two_entities_is_flagged(tmp_path: Path) -> None:
    text = SMALL.replace("entities:", "entities:\n  Ben: {aliases: [Anna]}")
    (note,) = graph_yaml.load(write(tmp_path, text)).report.notes
    assert note.kind == "flagged"
    assert "Anna and Ben" in note.reason


@pytest.mark.parametrize(
    ("old", "new", "where", "problem"),
    [
        ("relations:", "relation:", "top level", "did you mean 'relations'?"),
        ("    lives in: Oslo", "    live in: Oslo", "facts, 'Anna', 'live in'", "'lives in'?"),
        ('"{} knows"', '"knows"', "relation 'knows', prompt", "found 0"),
        ('"Where does {} live?"', '"Where?"', "relation 'lives in', question", "found 0"),
        ('["{} has a home in"]', '"{} has"', "relation 'lives in', paraphrases", "a list"),
        ('prompt: "{} knows"', 'promt: "{} knows"', "relation 'knows'", "'prompt'?"),
        ("lives in: [Oslo]", "lives in: []", "facts, 'Ben', 'lives in'", "has no object"),
        ("lives in: [Oslo]", "lives in: ['']", "facts, 'Ben', 'lives in', object 0", "is empty"),
        ("lives in: [Oslo]", "lives in: {a: b}", "facts, 'Ben', 'lives in'", "expected a list"),
        ("  Ben:\n    lives in: [Oslo]\n", "  Ben: Oslo\n", "facts, 'Ben'", "an object"),
        ("target_new: Rome", "target_new: ''", "rewrites[0], target_new", "is empty"),
        (", target_new: Rome", "", "rewrites[0]", "'target_new' is missing"),
        ("target_new: Rome", "target_new: oslo", "rewrites[0]", "are the same"),
        ("relation: lives in,", "relation: live in,", "rewrites[0], relation", "'lives in'?"),
        ("relation: lives in,", "relation: knows,", "rewrites[0], target_true", "2 objects"),
        ("subject: Anna", "subject: Dora", "rewrites[0], target_true", "no fact"),
        ("kind: place", "sort: place", "entities, 'Oslo'", "unknown key 'sort'"),
    ],
)
def test_wrong_field(tmp_path: Path, old: str, new: str, where: str, problem: str) -> None:
    assert SMALL.count(old) == 1
    path = write(tmp_path, SMALL.replace(old, new))
    with pytest.raises(SchemaError) as caught:
        graph_yaml.load(path)
    assert caught.value.where == where
    assert problem in caught.value.problem
    assert str(path) in caught.value.detail


def test_the_same_rewrite_twice(tmp_path: Path) -> None:
    line = SMALL.splitlines()[-1]
    with pytest.raises(SchemaError, match=r"rewrites\[1\]: .* is already defined"):
        graph_yaml.load(write(tmp_path, SMALL + line + "\n"))


def test_no_facts(tmp_path: Path) -> None:
    text = 'relations:\n  knows: {prompt: "{} knows"}\nfacts: {}\n'
    with pytest.raises(SchemaError, match="there are no facts"):
        graph_yaml.load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SMALL.replace("[Oslo]", "[Oslo"), r"line \d+, column \d+"),
        (SMALL.replace("  Ben:\n", "  Anna:\n"), "the key 'Anna' occurs twice"),
        ("facts:\n\t- x", "line 2: indented by a tab"),
        ("", "the file is empty"),
        ("facts: \x07", "not valid YAML"),
    ],
)
def test_not_yaml(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UnreadableFileError, match=problem) as caught:
        graph_yaml.load(write(tmp_path, text))
    assert "graph.yaml" in caught.value.detail
