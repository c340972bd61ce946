"""Training a hypernetwork: statistics, losses, gradients through the update, when it stops."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch
from torch.func import functional_call

from support.mend_facts import FACTS, HELD, fact, hparams, trainer_for
from support.references.edit_reference import Reference, close
from support.tiny_models import build_tiny
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.errors import HparamsError, HypernetworkError
from thinkeval.editing.mend.data import (
    Examples,
    Inference,
    log_probabilities,
    target_batch,
    training_facts,
)
from thinkeval.editing.mend.gradients import RowUpdate, by_row, row_updates, token_pairs
from thinkeval.editing.mend.network import RunningStatistics, matrices_of
from thinkeval.editing.mend.training import Trainer, _validation, train
from thinkeval.editing.models import weights_digest


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=8)


@pytest.fixture
def facts():
    return training_facts(FACTS, HELD)


def test_statistics_are_those_of_all_rows_at_once():
    """Also where the mean is a million times the deviation."""
    rows = torch.randn(50, 7, generator=torch.Generator().manual_seed(0)).double()
    rows[:, 3] += 1e6
    rows[:, 5] = 2.0
    seen = RunningStatistics(7)
    for part in rows.split([1, 20, 4, 25]):
        seen.update(part)
    seen.update(rows[:0])
    assert seen.count == 50
    assert torch.allclose(seen.mean, rows.mean(0), rtol=1e-12)
    assert torch.allclose(seen.std, rows.std(0), rtol=1e-8, atol=1e-12)
    assert RunningStatistics(3).std.tolist() == [1, 1, 1]


def test_each_matrix_is_normalised_by_its_own_pairs(pair, facts):
    h = hparams(batch_size=3)
    trainer = trainer_for(pair, facts, h)
    rng = random.Random(1)
    edits = [trainer.examples.example(i, rng, 0).edit for i in trainer.examples.training]
    batches = [target_batch([edit], pair[1], trainer.device) for edit in edits]
    found = [token_pairs(trainer.adapter, trainer.matrices, batch)[0] for batch in batches]
    for name, (key, i) in trainer.network.place.items():
        rows = torch.cat([torch.cat([p[name].x, p[name].delta], 1) for p in found]).double()
        assert close(trainer.network.editors[key].mean[i], rows.mean(0), 1e-4)
        assert close(trainer.network.editors[key].std[i], rows.std(0), 1e-4)


def test_updates_by_row_are_edits_of_the_weights(pair, facts):
    """Each row sees W + its own ΔW, and gradients are those through the weights."""
    trainer = trainer_for(pair, facts, hparams())
    adapter, matrices = trainer.adapter, trainer.matrices
    generator = torch.Generator().manual_seed(3)
    tokens = torch.tensor([0, 0, 0, 1, 1])
    parts = {
        m.name: tuple(
            (0.1 * torch.randn(5, d, generator=generator)).requires_grad_(True)
            for d in (m.d_in, m.d_out)
        )
        for m in matrices
    }
    owners = [0, 1, 0]
    rows = [trainer.examples.draw(random.Random(i), 1).probe for i in range(3)]
    batch = target_batch(rows, pair[1], trainer.device)
    updates = {name: by_row(pair_, tokens, owners) for name, pair_ in parts.items()}
    with row_updates(adapter, matrices, updates):
        log_p = log_probabilities(adapter, batch)
    losses = batch.nll(log_p)
    flat = [tensor for pair_ in parts.values() for tensor in pair_]
    slopes = torch.autograd.grad(losses.sum(), flat)
    expected = []
    for row, owner in zip(rows, owners, strict=True):
        weights = {}
        for m in matrices:
            left, right = (tensor[tokens == owner] for tensor in parts[m.name])
            delta = left.T @ right
            weights[m.name] = pair[0].get_parameter(m.name) + (delta if m.in_out else delta.T)
        ids = torch.tensor([[*row.prompt, *row.target[:-1]]])
        out = functional_call(pair[0], weights, (ids,)).logits[0].log_softmax(-1)
        ends = out[len(row.prompt) - 1 :]
        expected.append(-ends.gather(1, torch.tensor(row.target)[:, None]).mean())
    assert close(losses, torch.stack(expected), 1e-5)
    for mine, theirs in zip(
        slopes, torch.autograd.grad(torch.stack(expected).sum(), flat), strict=True
    ):
        assert close(mine, theirs, 1e-4)


def test_the_loss_is_algorithm_1s(pair, facts):
    """NLL and KL(unedited ‖ edited) of each example, float64, with the edit in the weights."""
    h = hparams(cedit=0.7, cloc=3.0)
    trainer = trainer_for(pair, facts, h)
    rng = random.Random(4)
    examples = [trainer.examples.draw(rng, 2) for _ in range(3)]
    loss, numbers = trainer.losses(examples)
    edit, locality = [], []
    for example in examples:
        batch = target_batch([example.edit], pair[1], trainer.device)
        found, _ = token_pairs(trainer.adapter, trainer.matrices, batch)
        factors = {
            name: trainer.network.factors(name, pairs.x, pairs.delta)
            for name, pairs in found.items()
        }
        effect = EditEffect({name: left @ right for name, (left, right) in factors.items()})
        base = Reference(*pair)
        with applied(pair[0], effect):
            edited = Reference(*pair)
        edit.append(-read(edited, example.probe)[0].mean())
        for row in example.neighbours:
            old, new = read(base, row)[1], read(edited, row)[1]
            locality.append((old.exp() * (old - new)).sum(-1).mean())
    edit, locality = torch.stack(edit).mean(), torch.stack(locality).mean()
    assert numbers["edit"] == pytest.approx(edit.item(), rel=1e-4)
    assert numbers["locality"] == pytest.approx(locality.item(), rel=1e-3)
    assert loss.item() == pytest.approx(0.7 * edit.item() + 3.0 * locality.item(), rel=1e-3)


def read(reference, row):
    """log p of the target's tokens, and all log p at their places."""
    with torch.no_grad():
        logits = reference.logits([*row.prompt, *row.target[:-1]])
    log_p = logits.log_softmax(-1)[len(row.prompt) - 1 :]
    return log_p.gather(1, torch.tensor(row.target)[:, None])[:, 0], log_p


def test_every_weight_of_the_network_learns(pair, facts):
    trainer = trainer_for(pair, facts, hparams())
    with torch.no_grad():  # V's gradient is 0 as long as U is
        for name, parameter in trainer.network.named_parameters():
            if name.endswith(".u"):
                parameter.add_(0.01)
    rng = random.Random(0)
    loss, _ = trainer.losses([trainer.examples.draw(rng, 2) for _ in range(4)])
    loss.backward()
    for name, parameter in trainer.network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_an_untrained_network_is_not_dead(pair, facts):
    """It begins where the ReLU bends: with the derivative that torch gives there, none would."""
    trainer = trainer_for(pair, facts, hparams())
    trainer.losses([trainer.examples.draw(random.Random(0), 2)])[0].backward()
    for name, parameter in trainer.network.named_parameters():
        if name.endswith((".u", ".bias", ".shift", "edit_lr")):
            assert parameter.grad is not None
            assert parameter.grad.abs().max() > 0, name


def test_training_lowers_the_validation_loss_and_leaves_the_model(pair, facts):
    h = hparams(max_iters=40)
    model, tokenizer = pair
    before = weights_digest(model)
    state = torch.random.get_rng_state()
    stages = []
    done = train(model, tokenizer, facts, h, progress=lambda *told: stages.append(told))
    assert weights_digest(model) == before == done.network.weights_digest
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(p.requires_grad for p in model.parameters())
    assert not any(p.requires_grad for p in done.network.parameters())
    assert done.steps == 40
    assert done.best_step > 0
    assert done.after["loss"] < 0.7 * done.before["loss"]
    assert done.after["edit"] < 0.7 * done.before["edit"]
    assert stages[0] == (0, 40, "training MEND")
    assert stages[-1][:2] == (40, 40)
    # What is kept is the network of the best validation: taken again, its numbers are the same.
    trainer = trainer_for(pair, facts, h)
    trainer.network = done.network
    rng, keys = random.Random(h.train_seed + 2), trainer.examples.validation
    again = [
        trainer.examples.example(keys[i % len(keys)], rng, h.n_locality, validation=True)
        for i in range(h.val_steps)
    ]
    assert trainer.validate(again)["loss"] == pytest.approx(done.after["loss"], rel=1e-5)


def test_the_network_learns_and_not_the_step_sizes_alone(pair, facts):
    h = hparams(max_iters=40, lr_lr=1e-13, lr=1e-2)
    done = train(*pair, facts, h)
    assert done.network.edit_lr.tolist() == pytest.approx([-1e-3] * len(done.network.matrices))
    assert done.after["loss"] < 0.9 * done.before["loss"]


def test_the_seed_decides_everything(facts):
    pair = build_tiny("gpt2", seed=5, scale=8)
    first = train(*pair, facts, hparams(max_iters=6))
    torch.manual_seed(99)
    again = train(*pair, facts, hparams(max_iters=6))
    other = train(*pair, facts, hparams(max_iters=6, train_seed=1))
    assert first.after == again.after != other.after
    for name, value in first.network.state_dict().items():
        assert torch.equal(again.network.state_dict()[name], value)


def test_it_stops_early_and_steps_after_some_forwards(facts):
    pair = build_tiny("gpt2", seed=5, scale=8)
    still = train(*pair, facts, hparams(accumulate_bs=50, max_iters=40, early_stop_patience=10))
    assert (still.steps, still.best_step) == (10, 0)
    assert still.after == still.before


def test_a_loss_that_explodes_is_told(facts):
    pair = build_tiny("gpt2", seed=5, scale=8)
    with torch.no_grad():
        adapter_for(pair[0]).mlp_out(2).module.weight[0, 0] = torch.nan
    before = weights_digest(pair[0])
    with pytest.raises(HypernetworkError, match=r"loss of MEND's training is nan at step 1"):
        train(*pair, facts, hparams())
    assert weights_digest(pair[0]) == before


def test_an_edited_model_is_refused(pair, facts):
    name = matrices_of(adapter_for(pair[0]), hparams())[0].name
    effect = EditEffect({name: torch.ones_like(pair[0].get_parameter(name))})
    with (
        applied(pair[0], effect),
        pytest.raises(HypernetworkError, match="an edit is applied to the model"),
    ):
        train(*pair, facts, hparams())


def test_layers_that_do_not_exist_are_refused(pair, facts):
    with pytest.raises(HparamsError, match="layer 9"):
        train(*pair, facts, hparams(layers=[9]))


def test_tokens_are_spread_over_rows():
    left, right = torch.arange(1.0, 4)[:, None], torch.arange(4.0, 7)[:, None]
    out = by_row((left, right), torch.tensor([0, 2, 2]), [2, 0, 1])
    assert isinstance(out, RowUpdate)
    assert out.left[..., 0].tolist() == [[2, 3], [1, 0], [0, 0]]
    assert out.right[..., 0].tolist() == [[5, 6], [4, 0], [0, 0]]


def test_conclusions_are_a_part_of_the_loss(pair, facts):
    """DepEdit, equation 3: asked for like the edit itself, an implication costs as much."""
    h = replace(hparams(), cimp=0.5)
    trainer = trainer_for(pair, facts, h)
    drawn = [trainer.examples.draw(random.Random(i), 2) for i in range(3)]
    plain = trainer.losses(drawn)[1]
    told = [replace(e, implied=(e.probe,)) for e in drawn]
    loss, numbers = trainer.losses(told)
    assert numbers["implication"] == pytest.approx(numbers["edit"], rel=1e-5)
    assert loss.item() == pytest.approx(plain["loss"] + 0.5 * plain["edit"], rel=1e-5)
    trainer.hparams = hparams()
    assert trainer.losses(told)[1] == pytest.approx(plain)


def test_edits_at_once_are_the_sum_of_their_updates(pair, facts):
    h = replace(hparams(), n_edits=2)
    trainer = trainer_for(pair, facts, h)
    drawn = trainer.examples.draw_together(random.Random(0), 3, 2)
    edited = {e.edit.prompt for e in drawn}
    assert len(edited) == 3
    assert not any(row.prompt in edited for e in drawn for row in e.neighbours)
    alone = trainer_for(pair, facts, hparams())._updates(drawn)
    for name, update in trainer._updates(drawn).items():
        found = update.left.mT @ update.right
        each = alone[name].left.mT @ alone[name].right
        assert torch.allclose(found[0], each[0] + each[1], atol=1e-6)
        assert torch.allclose(found[1], each[2], atol=1e-6)


def test_an_inference_decides_what_its_premise_is_edited_to(pair, facts):
    fact = facts[0]
    other = next(f.object for f in facts if f.object not in (fact.object, fact.subject))
    said = Inference((fact.subject, fact.relation), other, "Hogwarts", "{} lies in", "Scotland")
    examples = Examples(facts, pair[1], seed=0, val_share=0.25, inferences=[said])
    number = next(i for i, k in enumerate(examples.keys) if (k.subject, k.relation) == said.premise)
    found = examples.example(number, random.Random(1), 1)
    assert found.edit.target == tuple(pair[1](f" {other}", add_special_tokens=False)["input_ids"])
    assert [row.target for row in found.implied] == [
        tuple(pair[1](" Scotland", add_special_tokens=False)["input_ids"])
    ]


def test_new_keys_leave_stored_hypernetworks_valid():
    assert replace(hparams(), cimp=0.0, n_edits=1).training_digest == hparams().training_digest
    assert replace(hparams(), cimp=0.5).training_digest != hparams().training_digest
    assert replace(hparams(), n_edits=2).training_digest != hparams().training_digest


LINKED = [*FACTS, fact("Hogwarts", "knows", "Durmstrang"), fact("Ilvermorny", "knows", "Hogwarts")]


def test_app_keeps_correct_answers_above_false_ones(pair):
    """L_e + α L1 (Ma et al. 2024, eq. 7) of examples, written out on edited float64 copies."""
    facts = training_facts(LINKED, HELD)
    examples = Examples(facts, pair[1], seed=0, val_share=0.25, answers=True)
    number = next(i for i, k in enumerate(examples.keys) if k.subject == "Padma Patil")
    h = hparams(app_alpha=0.5, cedit=0.4)
    trainer = trainer_for(pair, facts, h)
    drawn = [examples.example(number, random.Random(i), 2) for i in range(4)]
    with_answers = [e for e in drawn if e.hard]
    assert with_answers, "the case tells nothing"
    loss, numbers = trainer.losses(drawn)
    trainer.hparams = hparams(cedit=0.4)
    plain = trainer.losses(drawn)[1]
    total = 0.0
    for example in with_answers:
        updates = trainer._updates([example])
        deltas = {name: (u.left.mT @ u.right)[0].detach() for name, u in updates.items()}
        total += margin_of(pair, deltas, example)
    assert numbers["margin"] == pytest.approx(total / 4, rel=1e-4)
    assert {k: numbers[k] for k in ("edit", "locality")} == pytest.approx(
        {k: plain[k] for k in ("edit", "locality")}
    )
    assert loss.item() == pytest.approx(plain["loss"] + 0.4 * 0.5 * numbers["margin"], rel=1e-5)
    assert "margin" not in plain


def margin_of(pair, deltas, example):
    """L1 by one forward pass an answer and a loop over pairs."""
    wide = Reference(*pair)
    for name, delta in deltas.items():
        weight = wide.model.get_parameter(name)
        weight += (delta if delta.shape == weight.shape else delta.T).double()
    found = []
    for rows in (example.correct, example.hard):
        one = []
        for row in rows:
            log_p = wide.logits([*row.prompt, *row.target[:-1]]).log_softmax(-1)
            last = len(row.prompt) - 1
            picked = [float(log_p[last + k, token]) for k, token in enumerate(row.target)]
            one.append(sum(picked) / len(picked))
        found.append(one)
    pairs = [max(0.0, 2 - o + f) for o in found[0] for f in found[1]]
    return sum(pairs) / len(pairs)


def test_false_answers_are_linked_to_the_new_object(pair):
    facts = training_facts(LINKED, HELD)
    examples = Examples(facts, pair[1], seed=0, val_share=0.25, answers=True)
    plain = Examples(facts, pair[1], seed=0, val_share=0.25)

    def ids(name):
        return tuple(pair[1](f" {name}", add_special_tokens=False)["input_ids"])

    number = next(i for i, k in enumerate(examples.keys) if k.subject == "Padma Patil")
    linked = {ids("Hogwarts"): [ids("Durmstrang")], ids("Durmstrang"): [ids("Hogwarts")]}
    seen = set()
    for seed in range(20):
        drawn = examples.example(number, random.Random(seed), 2)
        seen.add(drawn.edit.target)
        expected = linked.get(drawn.edit.target, [])
        assert [row.target for row in drawn.hard] == expected
        assert [row.target for row in drawn.correct] == ([ids("Ilvermorny")] if expected else [])
        bare = plain.example(number, random.Random(seed), 2)
        assert bare == replace(drawn, correct=(), hard=()), "the draws are the same"
    assert len(seen) > 1


def test_training_with_app_lowers_the_margin_beside_training_without():
    pair = build_tiny("gpt2", seed=5, scale=8)
    facts = training_facts(LINKED, HELD)
    done = train(*pair, facts, hparams(app_alpha=10.0, max_iters=40))
    plain = train(*pair, facts, hparams(max_iters=40))
    assert "margin" not in plain.after
    examples = Examples(facts, pair[1], seed=0, val_share=0.25, answers=True)
    h = hparams(app_alpha=10.0)
    pair[0].requires_grad_(False)
    trainer = Trainer(adapter_for(pair[0]), pair[1], examples, plain.network, h)
    assert done.after["margin"] < 0.9 * trainer.validate(_validation(trainer))["margin"]
    with pytest.raises(HypernetworkError, match="APP has no false answers"):
        train(*pair, training_facts(FACTS, HELD), hparams(app_alpha=2.0))
    with pytest.raises(HparamsError, match="'app_alpha' must not be negative"):
        hparams(app_alpha=-0.1)
