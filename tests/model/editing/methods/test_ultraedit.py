"""UltraEdit against its equations in NumPy, on features taken from a float64 copy of the model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import build_tiny
from thinkeval.editing.deltas import applied, files
from thinkeval.editing.errors import EditFailedError, EditingError, HparamsError
from thinkeval.editing.methods import ultraedit
from thinkeval.editing.models import weights_digest
from thinkeval.editing.sequence import edit_in_sequence
from thinkeval.loaders.records import RewriteRequest

LAYERS = [0, 1]
REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
    RewriteRequest("sirius", "test", "{} is the godfather of", "Sirius Black", "r", "H", "Ron"),
]
TURNS = [REQUESTS[:2], REQUESTS[2:3], REQUESTS[3:]]
KEYS = ("normalised", "seen")


def hyperparams(**changes):
    given = {"layers": LAYERS, "eta": 1e-3, "ridge": 1.5, **changes}
    return ultraedit.HyperParams.from_dict(given)


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


class Plain:
    """The equations once more: all features so far are stored, and every inverse is dense."""

    def __init__(self):
        self.seen = []

    def turn(self, hidden, gradient, h):
        """ΔW [d_out, d_in] of one turn with features [n, d_in] and [n, d_out]."""
        z = np.concatenate([hidden, gradient], axis=1)
        self.seen.extend(z)
        every, d_in = np.array(self.seen), hidden.shape[1]
        normal = (z - every.mean(0)) / (every.std(0) + h.epsilon)
        if len(every) == 1:
            parts = (hidden, gradient)
            scaled = [p / (np.sqrt((p**2).mean()) + h.epsilon) for p in parts]
            normal = np.concatenate(scaled, axis=1)
        values = np.stack([-h.eta * (row[:d_in] @ row[:d_in]) * row[d_in:] for row in normal])
        keys = normal[:, :d_in] if h.keys == "normalised" else hidden
        dense = keys.T @ keys + h.ridge * np.eye(d_in)
        return (np.linalg.inv(dense) @ keys.T @ values).T


def features(reference, layers, requests):
    """{layer: (h, ∇y)} at every token of the targets, one row at a time, from autograd."""
    found = {layer: ([], []) for layer in layers}
    for request in requests:
        prompt = reference.tokens(request.prompt.replace("{}", request.subject))
        target = reference.target(request.target_new)
        kept, handles = {}, []
        for layer in layers:

            def hook(_, inputs, output, layer=layer, kept=kept):
                bump = torch.zeros_like(output, requires_grad=True)
                kept[layer] = inputs[0][0], bump
                return output + bump

            handles.append(reference.projection(layer).register_forward_hook(hook))
        log_p = reference.logits([*prompt, *target[:-1]]).log_softmax(-1)
        for handle in handles:
            handle.remove()
        places = [len(prompt) - 1 + k for k in range(len(target))]
        loss = -sum(log_p[place, token] for place, token in zip(places, target, strict=True))
        gradients = torch.autograd.grad(loss, [kept[layer][1] for layer in layers])
        for layer, gradient in zip(layers, gradients, strict=True):
            found[layer][0].extend(kept[layer][0][places].detach().numpy())
            found[layer][1].extend(gradient[0, places].numpy())
    return {layer: (np.array(h), np.array(g)) for layer, (h, g) in found.items()}


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("sizes", [(5, 1, 3, 2), (1, 1, 4), (1,), (2, 1)])
def test_the_solve_is_the_published_dense_formula_to_1e_minus_9(keys, sizes):
    """Features of any scale, in turns of any size, with a column that does not vary."""
    h, plain = hyperparams(keys=keys), Plain()
    rng, d_in, d_out = np.random.default_rng(3), 12, 7
    statistics = ultraedit.Statistics(0, *torch.zeros(2, d_in + d_out, dtype=torch.float64))
    for n in sizes:
        hidden, gradient = 50 + 3 * rng.standard_normal((n, d_in)), rng.standard_normal((n, d_out))
        gradient *= 1e-4
        hidden[:, 4] = 2.0
        x, y = torch.from_numpy(hidden), torch.from_numpy(gradient)
        statistics = statistics.with_features(torch.cat([x, y], dim=1))
        left, right = ultraedit.solved(x, y, statistics, h)
        expected = plain.turn(hidden, gradient, h)
        assert left.shape == (d_out, n)
        assert right.shape == (n, d_in)
        assert np.abs((left @ right).numpy() - expected).max() <= 1e-9 * np.abs(expected).max()


def test_a_value_length_is_eta_for_maps_of_any_width():
    rng = np.random.default_rng(3)
    x, y = (torch.from_numpy(rng.standard_normal((4, size))) for size in (12, 7))
    statistics = ultraedit.Statistics(0, *torch.zeros(2, 19, dtype=torch.float64))
    statistics = statistics.with_features(torch.cat([x, y], dim=1))
    by_length = hyperparams(eta=None, value_length=0.3)
    by_eta = hyperparams(eta=0.3 / (12 * 7**0.5))
    for one, other in zip(
        ultraedit.solved(x, y, statistics, by_length),
        ultraedit.solved(x, y, statistics, by_eta),
        strict=True,
    ):
        assert torch.allclose(one, other, rtol=1e-12, atol=0)
    with pytest.raises(HparamsError, match="exactly one of"):
        hyperparams(value_length=0.3)


@pytest.mark.parametrize("keys", KEYS)
def test_in_a_sequence_each_update_is_that_of_the_equations(pair, keys):
    """The features are those of the model with the turns before; the statistics run over all."""
    model, tokenizer = pair
    h, state = hyperparams(keys=keys), None
    plain, reference = {layer: Plain() for layer in LAYERS}, Reference(*pair)
    before = weights_digest(model)
    total = None
    for number, turn in enumerate(TURNS):
        expected = {
            layer: plain[layer].turn(*seen, h)
            for layer, seen in features(reference, LAYERS, turn).items()
        }
        *_, total = edit_in_sequence(model, tokenizer, TURNS[: number + 1], ultraedit, h, None)
        with_earlier = None
        if number:
            *_, with_earlier = edit_in_sequence(
                model, tokenizer, TURNS[:number], ultraedit, h, None
            )
        for layer, delta in expected.items():
            weight = f"{reference.name(layer)}.weight"
            found = total.deltas[weight].double()
            if with_earlier is not None:
                found = found - with_earlier.deltas[weight].double()
            assert close(found, reference.stored(torch.from_numpy(delta)), 1e-3)
            reference.projection(layer).weight.data += reference.stored(torch.from_numpy(delta))
        state = total.state
    assert state is not None
    tokens = sum(len(reference.target(r.target_new)) for r in REQUESTS)
    assert state["features"] == {reference.name(layer): tokens for layer in LAYERS}
    assert weights_digest(model) == before


def test_the_update_is_of_low_rank_and_comes_back_to_the_bit(pair, tmp_path):
    model, tokenizer = pair
    effect = ultraedit.execute(model, tokenizer, REQUESTS[:1], hyperparams())
    tokens = len(Reference(*pair).target("Ilvermorny"))
    before = weights_digest(model)
    assert set(effect.factors) == set(effect.deltas)
    for name, (left, right) in effect.factors.items():
        assert left.shape[1] == tokens
        assert torch.equal((left.double() @ right.double()).float(), effect.deltas[name])
    files.save(effect, tmp_path / "e", files.DeltaMeta(weights_digest=before, method="ultraedit"))
    saved = files.load(tmp_path / "e")
    assert set(saved.low_rank) == set(effect.deltas)
    with applied(model, effect):
        edited = weights_digest(model)
    with applied(model, saved.effect):
        assert weights_digest(model) == edited != before
    assert weights_digest(model) == before


def test_the_new_answer_becomes_more_probable(pair):
    model, tokenizer = pair
    effect = ultraedit.execute(model, tokenizer, REQUESTS[:1], hyperparams(eta=1e-3))

    def log_p():
        reference = Reference(model, tokenizer)
        prompt, target = reference.tokens("Harry Potter studied at"), reference.target("Ilvermorny")
        rows = reference.logits([*prompt, *target[:-1]]).log_softmax(-1)[len(prompt) - 1 :]
        return float(sum(row[token] for row, token in zip(rows, target, strict=True)))

    was = log_p()
    with applied(model, effect):
        assert log_p() > was


def test_more_requests_than_one_backward_pass_takes_make_no_difference(pair, monkeypatch):
    at_once = ultraedit.execute(*pair, REQUESTS, hyperparams())
    monkeypatch.setattr(ultraedit, "BATCH_ROWS", 1)
    one_by_one = ultraedit.execute(*pair, REQUESTS, hyperparams())
    for name, delta in at_once.deltas.items():
        assert close(one_by_one.deltas[name], delta, 1e-3)


@pytest.mark.parametrize("broken", ["absent", "size", "nan"])
def test_another_sequences_state_is_refused(pair, broken):
    state = ultraedit.execute(*pair, REQUESTS[:1], hyperparams()).state
    name = next(iter(state["features"]))
    if broken == "absent":
        del state["feature_mean"][name]
    elif broken == "size":
        state["feature_squares"][name] = state["feature_squares"][name][:-1]
    else:
        state["feature_mean"][name] = state["feature_mean"][name] * float("nan")
    with pytest.raises(EditingError, match="running statistics"):
        ultraedit.execute(*pair, REQUESTS[1:], hyperparams(), state=state)


def test_a_loss_that_is_no_number_is_refused(pair):
    model, tokenizer = pair
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(float("inf"))
    with pytest.raises(EditFailedError, match="'harry'"):
        ultraedit.execute(model, tokenizer, REQUESTS[:1], hyperparams())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eta": 0}, "eta"),
        ({"ridge": 0}, "ridge"),
        ({"epsilon": -1}, "epsilon"),
        ({"layers": [1, 0]}, "layers"),
        ({"keys": "raw"}, "keys"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(changes, message):
    with pytest.raises(HparamsError, match=message):
        hyperparams(**changes)
