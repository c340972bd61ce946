"""Knowledge neurons of requests: shared by prompts, added up, refused; the hyperparameter files."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.references.kn_reference import FRANCE, HARRY, Neurons, shared, values
from support.tiny_models import build_tiny
from thinkeval.editing import hparams, registry
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import applied
from thinkeval.editing.errors import EditFailedError, HparamsError, RequestError
from thinkeval.editing.methods import kn
from thinkeval.editing.models import weights_digest


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=11, scale=16)


@pytest.fixture(scope="module")
def reference(pair):
    return Reference(*pair)


@pytest.mark.parametrize("use_paraphrases", [True, False])
@pytest.mark.parametrize("p", [0.5, 0.7])
def test_refining_keeps_what_the_prompts_share(pair, reference, use_paraphrases, p):
    templates = ["{}", "In fact, {}"]
    prompts = [t.replace("{}", FRANCE.prompt) for t in templates]
    prompts += list(FRANCE.paraphrases) * use_paraphrases
    expected, sets = shared(reference, FRANCE, prompts, p, 0.05)
    assert 0 < len(expected) < len(set.union(*sets)), "the case tells nothing"
    changes = {"refine": True, "p": p, "adaptive_threshold": 0.05, "steps": 2}
    h = values(use_paraphrases=use_paraphrases, context_templates=templates, **changes)
    effect = kn.execute(*pair, [FRANCE], h)
    assert set(effect.state["neurons"]["france"]) == expected
    assert effect.templates == (tuple(templates),)
    given = values(use_paraphrases=use_paraphrases, **changes)
    again = kn.execute(*pair, [FRANCE], given, context_templates=templates)
    for name, delta in effect.deltas.items():
        assert torch.equal(again.deltas[name], delta)


def test_a_paraphrase_may_leave_its_subject_out(pair):
    named = dataclasses.replace(FRANCE, paraphrases=("{} has the capital",))
    filled = dataclasses.replace(FRANCE, paraphrases=(f"{FRANCE.subject} has the capital",))
    h = values(refine=True, p=0.5, adaptive_threshold=0.05, steps=2)
    one, other = (kn.execute(*pair, [request], h) for request in (named, filled))
    assert one.state["neurons"] == other.state["neurons"]
    for name, delta in one.deltas.items():
        assert torch.equal(other.deltas[name], delta)


def test_without_refining_other_prompts_do_not_matter(pair):
    alone = kn.execute(*pair, [FRANCE], values())
    given = kn.execute(*pair, [FRANCE], values(), context_templates=["{}", "In fact, {}"])
    bare = kn.execute(*pair, [dataclasses.replace(FRANCE, paraphrases=())], values())
    for name, delta in alone.deltas.items():
        assert torch.equal(given.deltas[name], delta)
        assert torch.equal(bare.deltas[name], delta)


def test_requests_add_up_in_any_order(pair):
    both = kn.execute(*pair, [HARRY, FRANCE], values())
    back = kn.execute(*pair, [FRANCE, HARRY], values())
    alone = [kn.execute(*pair, [request], values()).deltas for request in (HARRY, FRANCE)]
    assert both.n_steps == {"harry": 0, "france": 0}
    for name, delta in both.deltas.items():
        total = sum(one[name].double() for one in alone if name in one)
        assert close(delta, total, 1e-6)
        assert close(back.deltas[name], total, 1e-6)


def test_silencing_them_takes_the_old_answer_away(pair, reference):
    """Setting the neurons' activation to 0 lowers P(target_true), as the paper has it (§4.2)."""
    ids, token = reference.tokens("Harry Potter studied at"), reference.target("Hogwarts")[0]
    first = dataclasses.replace(HARRY, target_true=pair[1].decode([token]))
    found = kn.execute(*pair, [first], values(steps=20)).state["neurons"]["harry"]
    neurons = Neurons(reference)
    before = float(neurons.probability(ids, token))
    with ExitStack() as stack:
        for layer in {layer for layer, _ in found}:
            keep = torch.ones(reference.matrix(layer).shape[1], dtype=torch.float64)
            keep[[n for at, n in found if at == layer]] = 0
            stack.enter_context(neurons.hooked(layer, lambda v, keep=keep: v * keep))
        assert float(neurons.probability(ids, token)) < before


@pytest.mark.parametrize("form", ["paper", "published_code"])
@pytest.mark.parametrize("training", [False, True])
def test_the_model_is_untouched(pair, form, training):
    model, _ = pair
    model.train(training)
    before, rng = weights_digest(model), torch.random.get_rng_state()
    with torch.no_grad():  # gradients are found where the caller has them off
        effect = kn.execute(*pair, [HARRY, FRANCE], values(form=form))
    assert model.training == training
    assert weights_digest(model) == before
    assert torch.equal(torch.random.get_rng_state(), rng)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    with applied(model, effect):
        assert weights_digest(model) != before
    assert weights_digest(model) == before
    model.eval()


@pytest.mark.parametrize("call", [1, 5])
def test_the_model_is_untouched_after_an_error_inside(pair, call):
    model, _ = pair
    before, calls = weights_digest(model), []

    def broken(*_):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt

    handle = adapter_for(model).layer_module(0).register_forward_pre_hook(broken)
    try:
        with pytest.raises(KeyboardInterrupt):
            kn.execute(*pair, [HARRY], values(batch_size=2))
    finally:
        handle.remove()
    assert weights_digest(model) == before
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert all(p.requires_grad for p in model.parameters())


def test_no_shared_neuron_is_an_error_that_names_request_and_remedy(pair):
    """Each prompt has neurons of its own; none may be in all three."""
    h = values(refine=True, p=0.99, adaptive_threshold=0.95)
    other = dataclasses.replace(FRANCE, paraphrases=("{} has", "Question: Where is {}? Answer:"))
    with pytest.raises(EditFailedError, match=r"'france'.*shared by more than 0.99 of 3") as caught:
        kn.execute(*pair, [other], h)
    assert "adaptive_threshold" in caught.value.remedy


@pytest.mark.parametrize("true", ["", "  "])
def test_it_needs_the_old_answer(pair, true):
    with pytest.raises(RequestError, match=r"'harry': target_true is empty") as caught:
        kn.execute(*pair, [FRANCE, dataclasses.replace(HARRY, target_true=true)], values())
    assert "target_true" in caught.value.remedy


def test_nan_names_the_request():
    model, tokenizer = build_tiny("llama", seed=3)
    token = tokenizer(" France", add_special_tokens=False)["input_ids"][-1]
    with torch.no_grad():
        adapter_for(model).embeddings.weight[token] = torch.nan
    with pytest.raises(EditFailedError, match=r"'france'.*NaN"):
        kn.execute(model, tokenizer, [HARRY, FRANCE], values())


def test_every_architecture_has_both_sites():
    """A tiny model of each architecture with an adapter."""
    import transformers as tf

    size = {"vocab_size": 420, "hidden_size": 32, "intermediate_size": 48}
    llama = {**size, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    shapes = {
        "gptj": tf.GPTJConfig(vocab_size=420, n_embd=32, n_layer=2, n_head=4, rotary_dim=4),
        "qwen2": tf.Qwen2Config(**llama),
        "mistral": tf.MistralConfig(**llama),
    }
    _, tokenizer = build_tiny("gpt2")
    for config in shapes.values():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            model = tf.AutoModelForCausalLM.from_config(config).eval()
        for form in ("paper", "published_code"):
            effect = kn.execute(model, tokenizer, [HARRY], values(form=form, steps=2))
            with applied(model, effect):
                assert effect.state["neurons"]["harry"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "'steps'"),
        ({"batch_size": 0}, "'batch_size'"),
        ({"p": 1}, r"'p' must be in \[0, 1\)"),
        ({"adaptive_threshold": -0.1}, "'adaptive_threshold'"),
        ({"lambda2": -1}, "'lambda2'"),
        ({"form": "code"}, "'paper' or 'published_code'"),
        ({"rewrite_module_tmp": "h.{}.mlp"}, "rewrite_module_tmp"),
    ],
)
def test_bad_hyperparameters(pair, changes, message):
    with pytest.raises(HparamsError, match=message):
        kn.execute(*pair, [HARRY], values(**changes))


# steps, batch_size, adaptive_threshold; typed from the published configurations once more.
PUBLISHED = {
    "gpt2-xl": (20, 20, 0.2),
    "gpt-j-6b": (20, 20, 0.1),
    "llama3-8b": (1, 1, 0.2),
    "qwen2.5-7b": (1, 1, 0.2),
}


@pytest.mark.parametrize("model", hparams.available("kn"))
def test_the_files(model):
    h = hparams.load("kn", model)
    assert type(h).from_dict(h.as_dict()) == h
    assert registry.covariance_layers(kn, h) == ()
    if model in PUBLISHED:
        assert (h.steps, h.batch_size, h.adaptive_threshold) == PUBLISHED[model]
        assert (h.p, h.refine, h.form) == (0.4, False, "published_code")
    else:
        assert (h.form, h.use_paraphrases) == ("paper", False)
