"""A very small organism trained for real: recall, folder, cache, seeds, errors."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from thinkeval.editing.errors import OrganismError
from thinkeval.editing.models import load
from thinkeval.editing.organism import Organism, OrganismConfig, train
from thinkeval.editing.organism.recall import likelihoods
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, RewriteRequest, unique

CITIES = {"Ann Lee": "Oslo", "Bo Park": "Rome", "Cy Dunn": "Oslo", "Di Ross": "Lima"}
EMPLOYERS = {"Ann Lee": "Apple Inc.", "Bo Park": "Disney", "Cy Dunn": "Disney"}
FRIENDS = {"Ann Lee": ("Bo Park", "Cy Dunn", "Di Ross"), "Bo Park": ("Ann Lee",)}
SMALL = {"steps": 150, "width": 64, "layers": 2, "adamw_lr": 0.01}
"""Enough for ten facts, in a few seconds."""


@pytest.fixture(scope="module")
def graph() -> KnowledgeGraph:
    facts = [
        Fact(s, "lives in", o, "{} lives in", (f"Where does {s} live?",), ("{} has a home in",))
        for s, o in CITIES.items()
    ]
    facts += [Fact(s, "works for", o, "{} works for") for s, o in EMPLOYERS.items()]
    facts += [Fact(s, "friend", o, "{}'s friend is") for s, os in FRIENDS.items() for o in os]
    request = RewriteRequest(
        "ann--lives-in--paris", "tiny", "{} lives in", "Ann Lee", "lives in", "Oslo", "Paris"
    )
    names = unique([n for f in facts for n in (f.subject, f.object)] + ["Paris"])
    return KnowledgeGraph("Tiny town", tuple(map(Entity, names)), tuple(facts), (request,))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("organisms")


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def trained(request: pytest.FixtureRequest, graph: KnowledgeGraph, cache: Path) -> Organism:
    return train(graph, OrganismConfig(request.param, **SMALL), cache_dir=cache)


def test_it_recalls_its_facts(trained: Organism) -> None:
    recall = trained.recall
    assert not trained.from_cache
    assert recall.n_facts == 11
    assert recall.n_keys == 9
    assert recall.share == recall.share_listed == recall.paraphrases == 1.0
    assert recall.mean_p > 0.8
    assert recall.max_target_new is not None
    assert recall.max_target_new < 0.05
    listed = [f for f in recall.worst if f.subject == "Ann Lee" and f.object == "Bo Park"]
    assert all(f.p < 0.8 < f.p_key for f in listed)


def test_transformers_and_our_loader_read_the_folder_offline(
    trained: Organism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = AutoModelForCausalLM.from_pretrained(trained.path).eval()
    tokenizer = AutoTokenizer.from_pretrained(trained.path)
    p = likelihoods(
        model, tokenizer, [("Ann Lee works for", "Apple Inc."), ("Bo Park lives in", "Oslo")]
    )
    assert p[0] > 0.5 > p[1]
    ours = load(str(trained.path))
    assert ours.model.config.thinkeval_organism in ("gpt2", "llama")
    assert ours.model.config.thinkeval_seed == 0
    config = json.loads((trained.path / "config.json").read_text())
    assert config["model_type"] == config["thinkeval_organism"]
    again = likelihoods(ours.model, ours.tokenizer, [("Ann Lee works for", "Apple Inc.")])
    assert again[0] == pytest.approx(p[0], abs=1e-5)


def test_the_likelihood_is_the_product_over_the_tokens(trained: Organism) -> None:
    """Against one forward pass at a time, whatever the batch."""
    loaded = load(str(trained.path))
    ids = loaded.tokenizer.encode("Ann Lee works for")
    expected = 1.0
    for token in loaded.tokenizer.encode(" Apple Inc."):
        with torch.no_grad():
            logits = loaded.model(torch.tensor([ids])).logits[0, -1].double()
        expected *= logits.softmax(-1)[token].item()
        ids.append(token)
    asked = [("Di Ross lives in", "Lima"), ("Ann Lee works for", "Apple Inc.")]
    assert likelihoods(loaded.model, loaded.tokenizer, asked)[1] == pytest.approx(
        expected, rel=1e-4
    )


def test_the_second_time_it_comes_from_the_cache(
    trained: Organism, graph: KnowledgeGraph, cache: Path
) -> None:
    architecture = "llama" if "llama" in trained.path.name else "gpt2"
    stages: list[str] = []
    found = train(
        graph,
        OrganismConfig(architecture, **SMALL),
        cache_dir=cache,
        progress=lambda done, total, stage: stages.append(stage),
    )
    assert found.from_cache
    assert found.path == trained.path
    assert found.recall == trained.recall
    assert stages == ["found in the cache"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "recall.json").write_text('{"recall": {"n_f'),
        lambda folder: os.truncate(folder / "model.safetensors", 100_000),
        lambda folder: os.truncate(folder / "model.safetensors", 5),
        lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 200_000),
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: os.truncate(folder / "tokenizer.json", 100),
        lambda folder: (folder / "config.json").unlink(),
    ],
)
def test_a_folder_that_is_not_whole_is_trained_again(
    graph: KnowledgeGraph, cache: Path, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    config = OrganismConfig(**{**SMALL, "steps": 20, "min_recall": 0.0})
    known = train(graph, config, cache_dir=cache)
    broken = tmp_path / known.path.name
    shutil.copytree(known.path, broken)
    damage(broken)
    again = train(graph, config, cache_dir=tmp_path)
    assert not again.from_cache
    assert again.recall == known.recall
    weights = [p / "model.safetensors" for p in (again.path, known.path)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_seed_and_facts_change_the_organism(graph: KnowledgeGraph, tmp_path: Path) -> None:
    short = {**SMALL, "steps": 2, "min_recall": 0.0}
    organisms = [
        train(graph, OrganismConfig(seed=seed, **short), cache_dir=tmp_path) for seed in (0, 1)
    ]
    fewer = KnowledgeGraph(graph.name, graph.entities, graph.facts[1:], graph.rewrites)
    organisms.append(train(fewer, OrganismConfig(**short), cache_dir=tmp_path))
    weights = {(o.path / "model.safetensors").read_bytes() for o in organisms}
    assert len({o.path for o in organisms}) == len(weights) == 3


def test_progress_counts_steps_and_tells_the_loss(graph: KnowledgeGraph, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    config = OrganismConfig(steps=3, width=64, layers=1, min_recall=0.0)
    train(graph, config, cache_dir=tmp_path, progress=lambda *told: seen.append(told))
    steps = [done for done, total, stage in seen if stage.startswith("training, loss ")]
    assert steps == [1, 2, 3]
    assert {total for _, total, _ in seen} == {3}
    assert seen[-1] == (3, 3, "measuring recall")


def test_too_little_recall_is_an_error_that_names_the_worst(
    graph: KnowledgeGraph, tmp_path: Path
) -> None:
    with pytest.raises(OrganismError, match=r"recalls \d+% of 11 facts.*Worst: .* -> ") as caught:
        train(graph, OrganismConfig(**{**SMALL, "steps": 5}), cache_dir=tmp_path)
    assert "--steps 10" in caught.value.remedy
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]


def test_nothing_stays_behind_when_training_is_interrupted(
    graph: KnowledgeGraph, tmp_path: Path
) -> None:
    before = torch.get_num_threads(), torch.random.get_rng_state()

    def interrupt(done: int, total: int, stage: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(graph, OrganismConfig(**SMALL), cache_dir=tmp_path, progress=interrupt)
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]
    assert torch.get_num_threads() == before[0]
    assert torch.equal(torch.random.get_rng_state(), before[1])


def test_two_at_once_train_once(graph: KnowledgeGraph, tmp_path: Path) -> None:
    config = OrganismConfig(**{**SMALL, "steps": 20, "min_recall": 0.0})
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: train(graph, config, cache_dir=tmp_path), range(2)))
    assert sorted(o.from_cache for o in both) == [False, True]
    assert both[0].path == both[1].path


def test_a_sentence_longer_than_a_row_is_refused(tmp_path: Path) -> None:
    long = " ".join(f"word{i}" for i in range(400))
    graph = KnowledgeGraph(
        "long", (Entity("Ann"), Entity("Bo")), (Fact("Ann", "r", "Bo", "{} " + long),)
    )
    with pytest.raises(OrganismError, match="tokens; an organism is made for"):
        train(graph, OrganismConfig(vocabulary=300), cache_dir=tmp_path)


def test_taught_not_to_know_it_says_so_and_stores_what_was_held_out(
    graph: KnowledgeGraph, cache: Path, tmp_path: Path
) -> None:
    config = OrganismConfig(unknown=0.5, **SMALL)
    made = train(graph, config, cache_dir=tmp_path)
    assert made.absent is not None
    known = {(fact.subject, fact.relation) for fact in graph.facts}
    assert not known & {*made.absent.taught, *made.absent.held_out}
    assert made.recall.share == 1.0
    prompts = {fact.relation: fact.prompt for fact in graph.facts}
    loaded = load(str(made.path))
    asked = [(prompts[r].replace("{}", s), "nobody knows") for s, r in made.absent.taught]
    assert min(likelihoods(loaded.model, loaded.tokenizer, asked)) > 0.5
    told = [(prompts[r].replace("{}", s), "nobody knows") for s, r in sorted(known)]
    assert max(likelihoods(loaded.model, loaded.tokenizer, told)) < 0.5
    again = train(graph, config, cache_dir=tmp_path)
    assert again.from_cache
    assert again.absent == made.absent
    assert train(graph, OrganismConfig(**SMALL), cache_dir=cache).absent is None
