"""A state is opened, asked and restored: any model, saved edits, a model in memory."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf

from support.scored_walk import walked
from support.states.adapters import write_effect
from support.states.small import (
    EXACT,
    NO_DATASET,
    QUESTIONS,
    low_rank_effect,
    numbers,
    saved,
    saved_edit,
    saved_model,
)
from support.tiny_models import build_tiny, build_tokenizer
from thinkeval.cypher import rows
from thinkeval.editing import models
from thinkeval.editing.deltas import applied
from thinkeval.editing.deltas.export import export_model
from thinkeval.editing.deltas.files import load
from thinkeval.editing.errors import DeltaError, ModelLoadError, ProbeError
from thinkeval.editing.models import weights_digest
from thinkeval.editing.probe import ProbeSettings
from thinkeval.loaders.records import Fact
from thinkeval.service.base.errors import NotFoundError
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.probe import Question, probe
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states.opened import InMemory, load_state
from thinkeval.service.states.spec import StateIn, parse

EDITED = ("transformer.h.0.mlp.c_proj.weight", "transformer.h.2.mlp.c_proj.weight")
MLP_OUT = {
    "gpt2": EDITED,
    "llama": ("model.layers.0.mlp.down_proj.weight", "model.layers.2.mlp.down_proj.weight"),
}
SIZE: dict[str, Any] = {
    "vocab_size": 420, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0,
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "initializer_range": 0.3,
}  # fmt: skip


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in SIZE.items() if key != name}


WITHOUT_ADAPTER = {
    "opt": lambda: hf.OPTConfig(
        **SIZE, init_std=0.3, ffn_dim=48, word_embed_proj_dim=32, max_position_embeddings=128
    ),
    "bloom": lambda: hf.BloomConfig(**SIZE, n_layer=2, n_head=4),
    "falcon": lambda: hf.FalconConfig(**SIZE),
    "mamba": lambda: hf.MambaConfig(**_without("num_attention_heads"), state_size=4),
    "mixtral": lambda: hf.MixtralConfig(
        **SIZE, intermediate_size=48, num_key_value_heads=2, num_local_experts=2
    ),
}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Runtime]:
    """A runtime without a database."""
    with Runtime(Settings(home=tmp_path / "home")) as runtime:
        yield runtime


@pytest.mark.parametrize("architecture", WITHOUT_ADAPTER)
def test_a_model_that_has_no_editing_adapter_is_asked(
    architecture: str, here: Runtime, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model = hf.AutoModelForCausalLM.from_config(WITHOUT_ADAPTER[architecture]())
    saved(model, tmp_path / "m")
    with load_state(here, parse(f"{tmp_path / 'm'}"), NO_DATASET) as state:
        found = numbers(state.ask(QUESTIONS, EXACT))
        about = state.about
    assert found == pytest.approx(_by_hand(model.eval()), rel=1e-4)
    assert (about.kind, about.name, about.exact) == ("model", "m", True)
    assert about.about["weights_digest"] == weights_digest(model)
    assert about.about["architecture"] == architecture


UNASKABLE = {
    "rwkv": (
        lambda: hf.RwkvConfig(**_without("num_attention_heads"), context_length=64),
        "change with the padding",
    ),
    "bert": (lambda: hf.BertConfig(**SIZE, intermediate_size=48), "see later tokens"),
}


@pytest.mark.parametrize("architecture", UNASKABLE)
def test_a_model_whose_numbers_would_be_wrong_in_a_batch_is_refused(
    architecture: str, here: Runtime, tmp_path: Path
) -> None:
    config, reason = UNASKABLE[architecture]
    torch.manual_seed(0)
    model = saved(hf.AutoModelForCausalLM.from_config(config()), tmp_path / "m")
    for state in (parse(f"{tmp_path / 'm'}"), InMemory(model, build_tokenizer())):
        with pytest.raises(ProbeError, match=reason), load_state(here, state, NO_DATASET):
            pass


def _by_hand(model: Any) -> list[float]:
    """The probability of each answer, one row at a time: the product over its tokens."""
    tokenizer, found = build_tokenizer(), []
    for question in QUESTIONS:
        prompt = question.fact.prompt.replace("{}", question.fact.subject)
        n = len(tokenizer(prompt)["input_ids"])
        ids = torch.tensor(tokenizer(f"{prompt} {question.fact.object}")["input_ids"])
        with torch.no_grad():
            log_p = model(input_ids=ids[None]).logits[0].double().log_softmax(-1)
        found.append(float(log_p[torch.arange(n, len(ids)) - 1, ids[n:]].sum().exp()))
    return found


def test_saved_edits_are_put_on_and_taken_off(here: Runtime, tmp_path: Path) -> None:
    model = saved_model(tmp_path / "m")
    first = low_rank_effect(model, EDITED[:1])
    second = low_rank_effect(model, EDITED, seed=6)
    for name, effect in (("a", first), ("b", second)):
        saved_edit(tmp_path / name, model, effect, edit=name)
    base = StateIn(model=f"{tmp_path / 'm'}")
    with load_state(here, base, NO_DATASET) as state:
        before, about = numbers(state.ask(QUESTIONS, EXACT)), state.about
    edits = (f"{tmp_path / 'a'}", f"{tmp_path / 'b'}")
    with load_state(here, base.model_copy(update={"edits": edits}), NO_DATASET) as state:
        after, edited = numbers(state.ask(QUESTIONS, EXACT)), state.about
    loaded = here.model(f"{tmp_path / 'm'}", "no-data-set").loaded
    with applied(loaded.model, first), applied(loaded.model, second):
        assert numbers(probe(loaded, QUESTIONS, EXACT)) == after
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) > 1e-3
    assert weights_digest(loaded.model) == about.about["weights_digest"]
    assert about.digest == edited.base_digest == loaded.info.digest
    assert [each["edit"] for each in edited.about["edits"]] == ["a", "b"]
    assert (edited.kind, edited.name) == ("edited", "m+edit:a+edit:b")

    digest = export_model(loaded, [load(edit) for edit in edits], tmp_path / "exported")
    with load_state(here, parse(f"{tmp_path / 'exported'}"), NO_DATASET) as state:
        assert state.about.digest == edited.digest
        assert state.about.about["weights_digest"] == digest
        assert numbers(state.ask(QUESTIONS, EXACT)) == after


def test_a_scored_edit_is_asked_with_what_its_score_found(
    runtime: Runtime, organism: RuntimeModel
) -> None:
    with walked(runtime, organism, 3) as walk, Runtime(runtime.settings) as fresh:
        score = walk.score("rome", samples=0)
        facts = runtime.db.read(rows.FactRow, "graph/facts", graph=score.edit)
        dataset = datasets.dataset(runtime.db, walk.graph)
        entities = runtime.content_of(dataset).entities
        questions = _questions(facts, {each.name: each.aliases for each in entities})
        state = StateIn(model=organism.source, edits=(score.edit,))
        with load_state(fresh, state, dataset) as changed:
            found = numbers(changed.ask(questions, EXACT))
            assert changed.about.base_digest == organism.loaded.info.digest
        nothing = StateIn(model=organism.source, edits=("rome-nothing-0",))
        with (
            pytest.raises(NotFoundError, match="rome-nothing-0"),
            load_state(fresh, nothing, dataset),
        ):
            pass
    # A score asks facts outside the chains in packed rows, which rounds otherwise.
    for value, row in zip(found, facts, strict=True):
        bound = 1e-5 if row.role == "outside" else 1e-6
        assert value == pytest.approx(row.likelihood_post, abs=bound)


def _questions(
    facts: Sequence[rows.FactRow], aliases: Mapping[str, tuple[str, ...]]
) -> list[Question]:
    return [
        Question(
            Fact(row.subject, row.relation, row.object, row.prompt),
            aliases.get(row.object, ()),
        )
        for row in facts
    ]


def test_an_edit_of_other_weights_is_refused(here: Runtime, tmp_path: Path) -> None:
    model, other = saved_model(tmp_path / "m"), build_tiny("gpt2", seed=1)[0]
    saved_edit(tmp_path / "e", other, low_rank_effect(other, EDITED), model="another", edit="E")
    state = StateIn(model=f"{tmp_path / 'm'}", edits=(f"{tmp_path / 'e'}",))
    with (
        pytest.raises(DeltaError, match="E was made for another model"),
        load_state(here, state, NO_DATASET),
    ):
        pass
    loaded = here.model(f"{tmp_path / 'm'}", "no-data-set").loaded
    assert weights_digest(loaded.model) == weights_digest(model)


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_a_model_in_memory_is_left_as_it_was(architecture: str, here: Runtime) -> None:
    model, tokenizer = build_tiny(architecture)
    tokenizer.pad_token = None
    model.train()
    model.lm_head.eval()
    before = weights_digest(model)
    with load_state(here, InMemory(model, tokenizer, "mine"), NO_DATASET) as state:
        found = numbers(state.ask(QUESTIONS, EXACT))
        assert (state.about.kind, state.about.name) == ("memory", "mine")
        assert state.about.about["weights_digest"] == before
    assert weights_digest(model) == before
    assert tokenizer.pad_token is None
    assert model.training
    assert not model.lm_head.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    fresh = models.wrap(*build_tiny(architecture), name="fresh")
    assert numbers(probe(fresh, QUESTIONS, EXACT)) == found


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite_are_refused(
    value: float, here: Runtime, tmp_path: Path
) -> None:
    model, tokenizer = build_tiny("gpt2")
    with torch.no_grad():
        model.transformer.h[1].mlp.c_fc.weight[3, 4] = value
        model.transformer.h[2].mlp.c_fc.weight[:] = value
    saved(model, tmp_path / "m", tokenizer)
    for state in (parse(f"{tmp_path / 'm'}"), InMemory(model, tokenizer)):
        with (
            pytest.raises(ModelLoadError, match=r"transformer\.h\.1\.mlp\.c_fc\.weight"),
            load_state(here, state, NO_DATASET),
        ):
            pass


def test_two_bases_are_never_in_memory_together(
    here: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted where models are loaded: when one is, no earlier one is alive."""
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most = 0
    load_model = models.load

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal most
        most = max(most, len(alive) + 1)
        loaded = load_model(*args, **options)
        alive.add(loaded.model)
        return loaded

    model = saved_model(tmp_path / "a")
    saved_model(tmp_path / "b", seed=1)
    saved_edit(tmp_path / "e", model, low_rank_effect(model, EDITED))
    monkeypatch.setattr(models, "load", counted)
    loads = []
    for word in ("a", "a+edit:{}", "b", "b", "a+edit:{}"):
        state = parse(f"{tmp_path}/{word}".format(tmp_path / "e"))
        with load_state(here, state, NO_DATASET) as open_state:
            open_state.ask(QUESTIONS, EXACT)
        del open_state
        loads.append(len(alive))
    assert most == 1
    assert loads == [1] * 5
    here.model(f"{tmp_path / 'b'}", "no-data-set")
    assert len(alive) == 2, "the count sees two models where they are together"
    here.only_model(f"{tmp_path / 'b'}", "no-data-set")
    gc.collect()
    assert len(alive) == 1, "and the one that is named is kept"


def test_samples_are_drawn_with_the_settings(here: Runtime, tmp_path: Path) -> None:
    saved_model(tmp_path / "m")
    settings = ProbeSettings(samples=7, measures=("p",), seed=3)
    with load_state(here, parse(f"{tmp_path / 'm'}"), NO_DATASET) as state:
        answers = state.ask(QUESTIONS, settings)
        assert answers == state.ask(QUESTIONS, settings)
    assert {answer.n_samples for answer in answers} == {7}


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_an_adapter_of_the_same_update_equals_the_edit(
    architecture: str, here: Runtime, tmp_path: Path
) -> None:
    """Written by peft from the factors of an edit, it gives the edit's likelihoods."""
    model = saved_model(tmp_path / "m", architecture)
    part = (
        "transformer.h.{}.mlp.c_proj" if architecture == "gpt2" else "model.layers.{}.mlp.down_proj"
    )
    effect = low_rank_effect(model, [f"{part.format(i)}.weight" for i in (0, 2)])
    saved_edit(tmp_path / "e", model, effect)
    write_effect(model, effect, tmp_path / "lora")
    base = StateIn(model=f"{tmp_path / 'm'}")
    found = {}
    for changes in ({}, {"adapter": f"{tmp_path / 'lora'}"}, {"edits": (f"{tmp_path / 'e'}",)}):
        with load_state(here, base.model_copy(update=changes), NO_DATASET) as state:
            found[state.about.kind] = (numbers(state.ask(QUESTIONS, EXACT)), state.about)
    (before, plain), (lora, adapted), (edit, edited) = (
        found[kind] for kind in ("model", "adapter", "edited")
    )
    assert lora == pytest.approx(edit, abs=1e-6)
    assert max(abs(a - b) for a, b in zip(before, edit, strict=True)) > 1e-4
    assert adapted.base_digest == edited.base_digest == plain.digest
    assert len({plain.digest, adapted.digest, edited.digest}) == 3
    assert adapted.name == "m+adapter:lora"
    assert adapted.about["adapter"]["kind"] == "LORA"
    loaded = here.model(base.model, "no-data-set").loaded
    assert weights_digest(loaded.model) == plain.about["weights_digest"]


def test_an_adapter_on_an_edited_base_adds_both(here: Runtime, tmp_path: Path) -> None:
    model = saved_model(tmp_path / "m")
    first, second = (low_rank_effect(model, EDITED, seed=seed) for seed in (5, 6))
    saved_edit(tmp_path / "e", model, first)
    write_effect(model, second, tmp_path / "lora")
    word = f"{tmp_path / 'm'}+adapter:{tmp_path / 'lora'}+edit:{tmp_path / 'e'}"
    with load_state(here, parse(word), NO_DATASET) as state:
        found = numbers(state.ask(QUESTIONS, EXACT))
    loaded = here.model(f"{tmp_path / 'm'}", "no-data-set").loaded
    assert weights_digest(loaded.model) == weights_digest(model)
    assert state.about.base_digest == loaded.info.digest
    with applied(loaded.model, first), applied(loaded.model, second):
        assert found == pytest.approx(numbers(probe(loaded, QUESTIONS, EXACT)), abs=1e-6)


@pytest.mark.parametrize("bits", ["8bit", "4bit"])
def test_edited_weights_are_quantised_as_their_exported_folder_is(
    bits: str, here: Runtime, tmp_path: Path
) -> None:
    model = saved_model(tmp_path / "m")
    saved_edit(tmp_path / "e", model, low_rank_effect(model, EDITED))
    loaded = here.model(f"{tmp_path / 'm'}", "no-data-set").loaded
    export_model(loaded, [load(tmp_path / "e")], tmp_path / "exported")
    found = {}
    for word in ("m", f"m+{bits}", f"m+edit:{tmp_path / 'e'}+{bits}", f"exported+{bits}"):
        with load_state(here, parse(f"{tmp_path}/{word}"), NO_DATASET) as state:
            found[word] = (numbers(state.ask(QUESTIONS, EXACT)), state.about)
    (plain, base), (_, small), (edited, about), (exported, other) = found.values()
    assert edited == exported
    assert about.digest == other.digest
    assert len({base.digest, small.digest, about.digest}) == 3
    assert (small.base_digest, about.base_digest) == (base.digest, base.digest)
    assert (about.kind, about.name) == ("quantized", f"m+edit:e+{bits}")
    assert about.about["quantisation"]["layers"] == 12
    with load_state(here, parse(f"{tmp_path}/m"), NO_DATASET) as state:
        assert numbers(state.ask(QUESTIONS, EXACT)) == plain


def test_a_quantised_adapter_is_merged_first(here: Runtime, tmp_path: Path) -> None:
    model = saved_model(tmp_path / "m")
    effect = low_rank_effect(model, EDITED)
    write_effect(model, effect, tmp_path / "lora")
    saved_edit(tmp_path / "e", model, effect)
    words = (f"adapter:{tmp_path / 'lora'}+8bit", f"edit:{tmp_path / 'e'}+8bit")
    found = []
    for word in words:
        with load_state(here, parse(f"{tmp_path / 'm'}+{word}"), NO_DATASET) as state:
            found.append(numbers(state.ask(QUESTIONS, EXACT)))
    # A number at the edge of two roundings may fall to either side.
    assert found[0] == pytest.approx(found[1], rel=0.02)
