"""Estimates of edits: an 8B model by its configuration, and counts beside those of real runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from torch.utils.flop_counter import FlopCounterMode

from support.scored_walk import Walk, walked
from thinkeval.editing.hparams import stored
from thinkeval.service.scoring import estimate
from thinkeval.service.scoring.estimate import Estimate, Memory, Work, estimates
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit

LLAMA_3_8B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 0) as walk:
        yield walk


@pytest.fixture(scope="module")
def large(walk: Walk, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Estimate]:
    """By method, the estimate for a folder that holds the configuration of an 8B model."""
    folder = tmp_path_factory.mktemp("models") / "Meta-Llama-3-8B"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA_3_8B))
    options: dict[str, Any] = {"model": str(folder), "dtype": "bfloat16", "samples": 0}
    methods = ("memit", "none")
    return {
        method: estimates(walk.runtime, [walk.request(method, **options)])[0] for method in methods
    }


def memory(found: Estimate) -> dict[str, Memory]:
    return {each.what: each for each in found.memory}


def test_the_size_of_an_8b_model_is_that_of_its_matrices(large: dict[str, Estimate]) -> None:
    d, inner, words, layers, heads = 4096, 14336, 128256, 32, 8 / 32
    attention = d * d * (2 + 2 * heads)
    by_hand = 2 * words * d + layers * (attention + 3 * d * inner + 2 * d) + d
    for found in large.values():
        assert found.parameters == by_hand == 8_030_261_248
        assert found.weights == memory(found)["weights"].bytes == 2 * by_hand
        assert found.model == "Meta-Llama-3-8B"
        assert (found.edits, found.stored) == (1, 0)
        assert found.seconds > 0


def test_an_update_is_listed_with_the_parts_of_its_peak(large: dict[str, Estimate]) -> None:
    square, layers = 14336**2, len(stored("memit", "llama3-8b")[0]["layers"])
    here, host = (each for each in large["memit"].memory if each.what == "update of memit")
    assert host.bytes >= 4 * layers * square
    assert here.bytes == sum(here.parts.values()) > 8 * square
    assert here.parts["covariance/statistics"] >= 8 * square
    assert not any(each.what.startswith("update") for each in large["none"].memory)


def test_peaks_hold_all_that_stays_and_the_largest_of_the_rest(large: dict[str, Estimate]) -> None:
    for found in large.values():
        stays = sum(each.bytes for each in found.memory if each.stays)
        rest = [each.bytes for each in found.memory if not each.stays]
        assert sum(found.peaks.values()) == stays + max(rest)


def test_missing_weights_and_tokenizer_are_said(large: dict[str, Estimate]) -> None:
    for found in large.values():
        notes = " ".join(found.notes)
        assert "The weights are missing here" in notes
        assert "Tokens are characters / 4" in notes


def test_forms_are_a_part_of_their_own(walk: Walk) -> None:
    def tokens(**options: Any) -> dict[str, int]:
        (found,) = estimates(walk.runtime, [walk.request("rome", samples=0, **options)])
        return {each.what: each.tokens for each in found.work}

    plain, whole, few = tokens(), tokens(forms="all"), tokens(forms="question")
    assert "forms of asking" not in plain
    assert plain.items() <= whole.items()
    assert 0 < few["forms of asking"] < whole["forms of asking"]
    graph = tokens(forms="all", forms_scope="graph")
    assert graph["forms of asking"] > whole["forms of asking"]


def test_an_organism_that_is_not_trained_is_not_described(walk: Walk) -> None:
    (found,) = estimates(walk.runtime, [walk.request("rome", model="organism:llama")])
    assert found.reason is not None
    assert (found.work, found.memory, found.parameters) == ((), (), 0)


def test_stored_edits_are_skipped_and_others_are_not(walk: Walk) -> None:
    options: dict[str, Any] = {"samples": 0, "side_effects": False}
    walk.score("memit", **options)
    same = walk.request("memit", **options)
    other = walk.request("memit", **options, overrides={"clamp_norm_factor": 0.5})
    forced = walk.request("memit", **options, force=True)
    further = walk.request("memit", **options | {"max_steps": 2})
    (found,) = estimates(walk.runtime, [same, other, forced, further])
    assert (found.edits, found.stored) == (4, 1)
    (found,) = estimates(walk.runtime, [same])
    assert (found.stored, list(found.work), found.tokens, found.peaks) == (1, [], 0, {})


class Counted(FlopCounterMode):
    """FLOPs of products with weights; attention's own products have no weights."""

    def total(self) -> int:
        return sum(
            n for op, n in self.get_flop_counts()["Global"].items()
            if str(op) in ("aten.mm", "aten.addmm")
        )  # fmt: skip


@pytest.mark.parametrize(("method", "seed"), [("fine_tuning", 7), ("none", 8)])
def test_flops_are_those_of_a_real_run(walk: Walk, method: str, seed: int) -> None:
    """Within a factor of two: optimisations may end early. The answers before are of a seed."""
    options: dict[str, Any] = {"samples": 0, "chat": "never", "side_effects": False}
    walk.score("none", **options)  # what edits of a model share is then stored
    request = walk.request(method, **options | {"seed": seed})
    (found,) = estimates(walk.runtime, [request])
    with Counted(display=False) as counter:
        score_edit(walk.runtime, request)
    assert 0.5 < found.flops / counter.total() < 2.0, (found.flops, counter.total())


def test_sums() -> None:
    work = (
        Work("a", 1, 10, {"float32": 1e9}, 3, 7, 1.5),
        Work("b", 3, 5, {"float32": 2e9, "float64": 4e9}, 2, 0, 0.5),
    )
    found = Estimate("m", 3, work=work, memory=(Memory("w", "cpu", 7), Memory("x", "cuda", 5)))
    assert (found.tokens, found.flops, found.seconds) == (15, 7e9, 2.0)
    assert found.peaks == {"cpu": 7, "cuda": 5}
    assert found.as_dict()["peaks"] == found.peaks
    flops = {"float32": 3e9, "float64": 4e9}
    assert estimate._sum(*work) == Work("a", 1, 15, flops, 5, 7, 2.0)
