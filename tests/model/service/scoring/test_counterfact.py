"""Specificity, fluency and consistency of real edits: what is asked, stored and made of it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from support.own_graphs import stored_edges
from support.references import reference as ref
from support.scored_walk import Walk, number, walked
from thinkeval.cypher import rows
from thinkeval.editing.models import weights_digest
from thinkeval.editing.probe import MEASURES, ProbeItem, ProbeSettings, probe
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring import generation, resolved
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

SEED = 6
HOGWARTS = "Hogwarts School of Witchcraft and Wizardry"
ILVERMORNY = "Ilvermorny School of Witchcraft and Wizardry"


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, SEED) as walk:
        yield walk


@pytest.fixture(scope="module")
def rome(walk: Walk) -> Score:
    return walk.score("rome", generate=True)


@pytest.fixture(scope="module")
def none(walk: Walk) -> Score:
    return walk.score("none", generate=True)


def test_a_graph_gives_the_neighborhood_that_its_data_set_lacks(walk: Walk, rome: Score) -> None:
    facts = datasets.stored_graph(walk.runtime.db, walk.graph).facts
    same = [
        f
        for f in facts
        if (f.relation, f.object) == ("studied at", HOGWARTS) and f.subject != "Harry Potter"
    ]
    assert 2 < len(same) <= resolved.LIMIT
    wanted = {f.prompt.replace("{}", f.subject) for f in same}
    roles = walk.roles(rome)
    for role in ("target_true", "target_new"):
        assert set(roles[role].neighborhood or ()) == wanted
    found = rome.get("specificity", "likelihood")
    assert found is not None
    assert found.n == len(same)


def test_of_many_facts_the_same_ten_are_taken(walk: Walk) -> None:
    db, graph = walk.runtime.db, f"{walk.prefix}-many"
    facts = [{"id": f"f{i:02}", "subject": f"s{i}", "relation": "r", "object": "o",
              "prompt": "{} is at"} for i in range(14)]  # fmt: skip
    with db.transaction() as tx:
        tx.run(rows.MergeGraphRow, "graph/merge_graph", graph=graph, kind="dataset", dataset=graph)
        names = [{"name": n} for n in ("o", *(f"s{i}" for i in range(14)))]
        tx.run(rows.WrittenRow, "graph/merge_entities", graph=graph, rows=names)
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=facts)
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)
    request = RewriteRequest("x", graph, "{} is at", "s3", "r", "o", "p")
    expected = [f"s{i} is at" for i in range(14) if i != 3][:10]
    assert resolved.neighbors(db, graph, request) == tuple((p, "o") for p in expected)
    assert resolved.neighbors(db, graph, replace(request, relation="q")) == ()


def test_at_a_neighbor_the_model_says_what_it_says_of_that_fact(walk: Walk, rome: Score) -> None:
    """The pre side is that of the neighbor's own fact in the model graph, asked on its own."""
    db = walk.runtime.db
    known = [
        g
        for g in db.read(rows.GraphRow, "graph/list_graphs", kind="model")
        if g.dataset == walk.graph
    ]
    facts = {
        row.prompt.replace("{}", row.subject): row
        for row in db.read(rows.FactRow, "graph/facts", graph=known[0].graph)
        if row.object == HOGWARTS
    }
    true = walk.roles(rome)["target_true"]
    assert true.neighborhood is not None
    for measure in MEASURES:
        stored = getattr(true, f"neighborhood_{measure}_pre")
        own = [getattr(facts[prompt], f"{measure}_pre") for prompt in true.neighborhood]
        assert list(stored) == pytest.approx(own, rel=2e-4, abs=1e-6), measure


def test_an_edit_that_changes_nothing_has_one_specificity_before_and_after(
    walk: Walk, none: Score
) -> None:
    for row in walk.roles(none).values():
        for measure in MEASURES:
            pre, post = (getattr(row, f"neighborhood_{measure}_{s}") for s in ("pre", "post"))
            # Asked in other company, so the last digits of a float32 may differ.
            assert list(pre) == pytest.approx(list(post), rel=2e-5, abs=1e-9), measure
    assert number(none, "specificity_score") == 1.0
    assert number(none, "counterfact_score") == 0.0, "it installs nothing"
    assert number(none, "efficacy_magnitude") < -0.9


def test_the_stored_numbers_equal_brute_force(walk: Walk, rome: Score) -> None:
    asked = ref.Case(rome.subject, rome.target_true, None, rome.relation)
    for measure in MEASURES:
        edges = stored_edges(walk.runtime.db, rome.edit, measure)
        for metric, brute_force in ref.COUNTERFACT.items():
            found, wanted = rome.get(metric, measure), brute_force(edges, asked)
            assert found is not None
            assert found.n == wanted.n > 0
            assert found.value == pytest.approx(wanted.value, abs=1e-12), (metric, measure)
    assert number(rome, "counterfact_score") > 0.8


def test_the_neighborhood_goes_into_the_one_probe(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def counted(loaded: Any, items: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(len(items))
        return probe(loaded, items, *args, **kwargs)

    walk.score("none", samples=0)  # the model graph and the pre side are there now
    monkeypatch.setattr("thinkeval.editing.probe.probe", counted)
    score = walk.score("memit", samples=0)
    chains, *beside = calls
    assert chains == score.n_facts + 1 + 2
    # The subject's facts off the chains, objects that replace theirs, and other known facts.
    assert len(beside) <= 3


def test_a_neighborhood_with_answers_of_its_own(walk: Walk) -> None:
    near = ("Ron Weasley was sorted into", "Draco Malfoy was sorted into", "Cho Chang studied at")
    right = ("Gryffindor", "Slytherin", HOGWARTS)
    mine = replace(walk.rewrite, id="own:near", neighborhood=near, neighborhood_objects=right)
    score = walk.score("none", rewrite=mine, samples=0)
    aliases = {
        e.name: e.aliases
        for e in walk.runtime.db.read(rows.EntityRow, "graph/entities", graph=walk.graph)
    }
    for role, names in (("target_true", right), ("target_new", (ILVERMORNY,) * 3)):
        row = walk.roles(score)[role]
        assert row.neighborhood == near
        exact = ProbeSettings(measures=("likelihood", "likelihood_norm"), seed=SEED)
        items = [ProbeItem(p, p, o, aliases=aliases[o]) for p, o in zip(near, names, strict=True)]
        alone = [r.likelihood for r in probe(walk.model.loaded, items, exact)]
        assert list(row.neighborhood_likelihood_pre or ()) == pytest.approx(alone, rel=2e-4)
    assert number(score, "specificity_score") == 1.0


def test_neighbors_are_asked_as_clozes_where_facts_are_asked_as_questions(walk: Walk) -> None:
    score = walk.score("none", samples=0, ask="question")
    found = score.get("specificity", "likelihood")
    assert found is not None
    assert found.n == 9
    assert found.value > 0.9


def test_without_a_neighborhood_nothing_is_asked_and_specificity_says_so(walk: Walk) -> None:
    lonely = replace(walk.rewrite, id="own:lonely", relation="sang at")
    score = walk.score("none", rewrite=lonely, samples=0)
    for metric in (
        "specificity",
        "specificity_score",
        "specificity_magnitude",
        "counterfact_score",
    ):
        found = score.get(metric, "likelihood")
        assert found is not None
        assert (found.value, found.n) == (None, 0)
    assert walk.roles(score)["target_true"].neighborhood is None


def entropy(text: str) -> float:
    """GE from its definition, by another road than the tested one."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    total = 0.0
    for n, weight in ((2, 1 / 3), (3, 2 / 3)):
        grams = [" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
        shares = [count / len(grams) for count in Counter(grams).values()]
        total += weight * sum(p * math.log2(1 / p) for p in shares)
    return total


def test_both_models_write_and_the_texts_are_kept(walk: Walk, rome: Score, none: Score) -> None:
    texts, unchanged = (generation.stored(walk.runtime, s.edit) for s in (rome, none))
    assert texts is not None
    assert unchanged is not None
    r = walk.rewrite
    assert texts.prompts == tuple(
        text.replace("{}", r.subject) for text in (r.prompt, *r.paraphrases)
    )
    assert all(t.startswith(p) for p, t in zip(texts.prompts, texts.post, strict=True))
    assert unchanged.pre == unchanged.post == texts.pre != texts.post
    assert "Ilvermorny" in texts.post[0]
    assert "Ilvermorny" not in texts.pre[0].split(".")[0]
    for metric, said in (("fluency", texts.post), ("fluency_pre", texts.pre)):
        found = rome.get(metric, "text")
        assert found is not None
        assert found.n == 3
        assert found.value == pytest.approx(sum(map(entropy, said)) / 3, abs=1e-12)
        assert 3 < found.value < math.log2(100)
    without = rome.get("consistency", "text")
    assert without is not None
    assert (without.value, without.n) == (0.0, 0)
    assert weights_digest(walk.model.loaded.model) == walk.model.loaded.info.weights_digest


def test_generating_is_asked_for_and_makes_another_edit(walk: Walk, rome: Score) -> None:
    plain = walk.score("rome")
    assert plain.edit != rome.edit
    assert plain.get("fluency", "text") is None
    assert generation.stored(walk.runtime, plain.edit) is None
    assert walk.score("rome", generate=True).reused
    assert number(plain, "specificity") == pytest.approx(number(rome, "specificity"), rel=1e-12)


def test_consistency_is_the_cosine_with_the_reference_texts(walk: Walk) -> None:
    references = (
        "Ilvermorny is a school of witchcraft in America.",
        "Queenie Goldstein studied at Ilvermorny School of Witchcraft and Wizardry.",
    )
    own = ("Harry Potter studied at", "The Room of Requirement lies within")
    mine = replace(walk.rewrite, id="own:told", generation_prompts=own, reference_texts=references)
    score = walk.score("rome", rewrite=mine, samples=0, generate=True)
    texts = generation.stored(walk.runtime, score.edit)
    assert texts is not None
    assert texts.prompts == own
    documents = [set(re.findall(r"\w\w+", text.lower())) for text in references]
    vocabulary = sorted(set().union(*documents))
    idf = [math.log(3 / (1 + sum(t in d for d in documents))) + 1 for t in vocabulary]

    def vector(said: tuple[str, ...]) -> list[float]:
        counts = Counter(re.findall(r"\w\w+", " ".join(said).lower()))
        return [counts[t] * weight for t, weight in zip(vocabulary, idf, strict=True)]

    goal = vector(references)
    for metric, said in (("consistency", texts.post), ("consistency_pre", texts.pre)):
        mine_ = vector(said)
        cosine = sum(a * b for a, b in zip(mine_, goal, strict=True)) / (
            math.hypot(*mine_) * math.hypot(*goal)
        )
        found = score.get(metric, "text")
        assert found is not None
        assert (found.value, found.n) == (pytest.approx(cosine, abs=1e-12), 2)
    assert number(score, "consistency", "text") > number(score, "consistency_pre", "text")


def record(number: int, subject: str, prompt: str, true: str, **prompts: list[str]) -> Any:
    """A record in CounterFact's layout."""
    kinds = ("paraphrase", "neighborhood", "attribute", "generation")
    return {
        "case_id": number,
        "pararel_idx": number,
        "requested_rewrite": {
            "prompt": prompt,
            "relation_id": f"P{sum(map(ord, prompt))}",
            "target_new": {"str": ILVERMORNY, "id": "Q2"},
            "target_true": {"str": true, "id": f"Q{number + 3}"},
            "subject": subject,
        },
        **{f"{kind}_prompts": prompts.get(kind, []) for kind in kinds},
    }


@pytest.fixture(scope="module")
def counterfact(walk: Walk, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file in CounterFact's layout on what the model knows, imported."""
    facts = datasets.stored_graph(walk.runtime.db, walk.graph).facts
    records = [
        record(i, f.subject, f.prompt, f.object)
        for i, f in enumerate(facts)
        if f.subject != "Harry Potter" and f.object != ILVERMORNY
    ]
    records.append(
        record(
            len(facts),
            "Harry Potter",
            "{} studied at",
            HOGWARTS,
            paraphrase=["Harry Potter went to school at", "Harry Potter was a student at"],
            neighborhood=["Ron Weasley studied at", "Luna Lovegood studied at"],
            generation=["Harry Potter studied at"] * 2,
        )
    )
    path = tmp_path_factory.mktemp("cf") / f"{walk.prefix}-cf.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return datasets.store(walk.runtime.db, datasets.read(path)).graph


def test_a_counterfact_file_is_imported_and_scored(walk: Walk, counterfact: str) -> None:
    stored = datasets.stored_graph(walk.runtime.db, counterfact)
    rewrite = next(r for r in stored.rewrites if r.subject == "Harry Potter")
    assert rewrite.neighborhood == ("Ron Weasley studied at", "Luna Lovegood studied at")
    assert datasets.graph_digest(walk.runtime.db, counterfact) == stored.content_digest
    score = walk.score("rome", graph=counterfact, rewrite=rewrite, samples=0, generate=True)
    found = {
        metric: score.get(metric, "likelihood_norm")
        for metric in ("efficacy_score", "generalization_score", "specificity_score")
    }
    assert {k: (v.value, v.n) for k, v in found.items() if v} == {
        "efficacy_score": (1.0, 1),
        "generalization_score": (1.0, 2),
        "specificity_score": (1.0, 2),
    }
    texts = generation.stored(walk.runtime, score.edit)
    assert texts is not None
    assert texts.prompts == ("Harry Potter studied at",)
