"""Knowledge neurons against float64 derivations that scale one neuron layer after the other."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.references.kn_reference import HARRY, Neurons, chosen, values, written
from support.tiny_models import build_tiny
from thinkeval.editing.key_value.neurons import attribution, closed_path, paper_path
from thinkeval.editing.key_value.sites import editable
from thinkeval.editing.methods import kn


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=11, scale=16)


@pytest.fixture(scope="module")
def reference(pair):
    return Reference(*pair)


def test_the_paths():
    assert paper_path(4) == [0.25, 0.5, 0.75, 1.0]
    assert closed_path(5) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert closed_path(1) == [0.0]


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_scores_are_the_formulas(pair, reference, published, batch_size):
    ids = tuple(reference.tokens("Harry Potter studied at"))
    token = reference.target("Hogwarts")[0]
    path = closed_path(5) if published else paper_path(5)
    expected = Neurons(reference, published).scores(list(ids), token, path)
    with editable(*pair, [HARRY], ()) as adapter:
        actual = attribution(
            adapter,
            ids,
            token,
            site="pre_activation" if published else "activation",
            path=path,
            batch_size=batch_size,
        )
    assert close(actual, expected, 1e-4)


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_many_steps_add_up_to_what_the_layer_does(architecture):
    """Completeness of integrated gradients: a layer's scores sum to P(w̄) − P(0)."""
    pair = build_tiny(architecture, seed=11)
    reference = Reference(*pair)
    ids, token = reference.tokens("Harry Potter studied at"), reference.target("Hogwarts")[0]
    neurons = Neurons(reference)
    with editable(*pair, [HARRY], ()) as adapter:
        scores = attribution(
            adapter, ids, token, site="activation", path=paper_path(400), batch_size=400
        )
    for layer in range(len(reference.layers)):
        with neurons.hooked(layer, torch.zeros_like):
            without = float(neurons.probability(ids, token))
        whole = float(neurons.probability(ids, token)) - without
        assert float(scores[layer].sum()) == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("continuation", ["target", "greedy", "none"])
def test_the_papers_form(pair, reference, continuation):
    """slot −= λ1 e(old), += λ2 e(new) at the neurons above the threshold, nowhere else."""
    neurons = Neurons(reference)
    expected = chosen(
        neurons.mean_scores(HARRY.prompt, HARRY, paper_path(5), continuation), threshold=0.3
    )
    h = values(continuation=continuation, lambda1=0.5, lambda2=3, adaptive_threshold=0.3)
    effect = kn.execute(*pair, [HARRY], h)
    assert set(effect.state["neurons"]["harry"]) == expected
    shift = 3 * neurons.embedding(reference.target("Paris")).mean(0)
    shift = shift - 0.5 * neurons.embedding(reference.target("Hogwarts")).mean(0)
    updates = written(reference, expected, shift)
    assert set(effect.deltas) == set(updates)
    for name, update in updates.items():
        assert close(effect.deltas[name], update, 1e-6)
        left, right = effect.factors[name]
        assert torch.equal((left.double() @ right.double()).float(), effect.deltas[name])
        assert left.shape[1] == 1


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("target_new", ["Paris", "is"])
def test_the_published_codes_form(pair, reference, steps, target_new):
    """Before the nonlinearity; the model's own answer is taken out, twice where it is one token."""
    request = dataclasses.replace(HARRY, target_new=target_new)
    neurons = Neurons(reference, published=True)
    new = reference.target(target_new)
    assert (len(new) == 1) == (target_new == "is")
    scores = neurons.mean_scores(request.prompt, request, closed_path(steps), "none")
    expected = chosen(scores)
    h = values(form="published_code", continuation="none", steps=steps)
    effect = kn.execute(*pair, [request], h)
    assert set(effect.state["neurons"]["harry"]) == expected
    said = neurons.greedy(reference.tokens("Harry Potter studied at"), len(new))
    shift = neurons.embedding(new).sum(0)
    shift = shift - (2 if len(new) == 1 else 1) * neurons.embedding(said).sum(0)
    updates = written(reference, expected, shift)
    assert set(effect.deltas) == set(updates)
    for name, update in updates.items():
        assert close(effect.deltas[name], update, 1e-6)


@pytest.mark.parametrize("form", ["paper", "published_code"])
def test_without_a_space_the_targets_are_tokenised_by_themselves(pair, monkeypatch, form):
    """As the published code does; in a byte-level vocabulary "Paris" and " Paris" differ."""
    reference = Reference(*pair)
    tokenizer = pair[1]
    spaced = reference.target("Paris")
    monkeypatch.setattr(
        reference, "target", lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
    )
    assert reference.target("Paris") != spaced
    published = form == "published_code"
    neurons = Neurons(reference, published=published)
    path = (closed_path if published else paper_path)(5)
    expected = chosen(neurons.mean_scores(HARRY.prompt, HARRY, path, "none"))
    h = values(form=form, continuation="none", target_space=False)
    effect = kn.execute(*pair, [HARRY], h)
    assert set(effect.state["neurons"]["harry"]) == expected
    new = neurons.embedding(reference.target("Paris"))
    if published:
        said = neurons.greedy(reference.tokens("Harry Potter studied at"), len(new))
        shift = new.sum(0) - (2 if len(new) == 1 else 1) * neurons.embedding(said).sum(0)
    else:
        old = neurons.embedding(reference.target("Hogwarts"))
        shift = h.lambda2 * new.mean(0) - h.lambda1 * old.mean(0)
    for name, update in written(reference, expected, shift).items():
        assert close(effect.deltas[name], update, 1e-6)
    plain = kn.execute(*pair, [HARRY], values(form=form, continuation="none"))
    assert any(not plain.deltas[n].equal(d) for n, d in effect.deltas.items() if n in plain.deltas)
