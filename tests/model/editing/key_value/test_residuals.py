"""MEMIT where the MLP's output is scaled or normalised before it is added to the stream."""

from __future__ import annotations

import pytest
import torch

from support.edit_methods import FRANCE, HARRY, MEMIT_FAMILY, execute
from support.references.architecture_reference import ArchitectureReference
from support.references.edit_reference import close
from support.tiny_architectures import moments, pair_of
from thinkeval.editing import nethook
from thinkeval.editing.architectures import adapter_for, names
from thinkeval.editing.deltas import EditEffect, applied, files, strength
from thinkeval.editing.key_value.residuals import nearest, pulled_back
from thinkeval.editing.sequence import combined

REQUESTS = [HARRY, FRANCE]
NORMED = ("gemma2", "gemma3", "gemma3_text", "olmo2", "olmo3")
LAST = 1
ALMOST_EXACT = {"layers": [LAST], "mom2_update_weight": 1e-4, "v_lr": 0.5, "v_num_grad_steps": 8}
"""One layer, and a preservation term so small that the solution is one of the keys alone."""


def edit(name, method="memit", **options):
    options.setdefault("context_templates", ["{}"])
    return execute(method, pair_of(name), REQUESTS, dict(moments(name)), **options)


def nearest_by_descent(point, gains, radius, starts=6):
    """The smallest ‖g ⊙ x − t‖ over ‖x‖ = ρ: descent from random directions."""
    best = None
    generator = torch.Generator().manual_seed(0)
    for _ in range(starts):
        free = torch.randn(len(point), generator=generator, dtype=torch.float64)
        free.requires_grad_(True)
        optimiser = torch.optim.LBFGS([free], max_iter=300, tolerance_grad=1e-12, history_size=20)
        optimiser.line_search_fn = "strong_wolfe"

        def gap(free=free, optimiser=optimiser):
            optimiser.zero_grad()
            loss = (gains * free * (radius / free.norm()) - point).square().sum()
            loss.backward()
            return loss

        optimiser.step(gap)
        found = float(gap().detach().sqrt())
        best = found if best is None else min(best, found)
    return best


def test_the_nearest_point_is_that_of_a_descent():
    """Inside the ellipsoid, outside of it, near its centre; gains of both signs."""
    generator = torch.Generator().manual_seed(3)
    gains = torch.randn(6, generator=generator, dtype=torch.float64) + 0.5
    points = torch.randn(4, 6, generator=generator, dtype=torch.float64)
    points *= torch.tensor([[0.05], [1.0], [4.0], [30.0]])
    radius = torch.tensor([[2.0], [1.5], [3.0], [1.0]], dtype=torch.float64)
    found = nearest(points, gains, radius)
    assert close(found.norm(dim=1, keepdim=True), radius, 1e-12)
    for x, point, length in zip(found, points, radius, strict=True):
        distance = float((gains * x - point).norm())
        assert distance == pytest.approx(nearest_by_descent(point, gains, length), rel=1e-6)


@pytest.mark.parametrize("name", names())
def test_the_stream_receives_what_the_layout_says(name):
    """A change of the projection's output changes the layer's output by c · (N(m + Δ) − N(m))."""
    model, tokenizer = pair_of(name)
    adapter = adapter_for(model)
    ids = torch.tensor([tokenizer("The mother of Harry is")["input_ids"]])
    layer, out = adapter.layer_module(LAST), adapter.mlp_out(LAST).module
    bump = torch.randn(1, ids.shape[1], 32, generator=torch.Generator().manual_seed(1))

    def run(change):
        watched = {"layer": layer, "m": out}
        recorded, changed = nethook.recording(outputs=watched), nethook.changing(out, change)
        with torch.no_grad(), recorded as seen, changed:
            nethook.forward(model, {"input_ids": ids})
        return seen.outputs["layer"], seen.outputs["m"]

    before, m = run(lambda output: output)
    after, _ = run(lambda output: output + bump)
    norm = adapter.post_norm(LAST) or torch.nn.Identity()
    with torch.no_grad():
        expected = adapter.residual_factor * (norm(m + bump) - norm(m))
    assert close(after - before, expected, 1e-5)
    assert (adapter.layout.post_norm is not None) == (name in NORMED)


def test_elsewhere_the_residual_is_the_streams():
    residual = torch.randn(2, 32, dtype=torch.float64)
    adapter = adapter_for(pair_of("llama")[0])
    assert pulled_back(adapter, None, REQUESTS, LAST, residual) is residual


@pytest.mark.parametrize("name", ["granite", "gpt_neox", "cohere"])
def test_a_scaled_output_reaches_z(name):
    """Granite adds a fraction of the MLP's output: half of z was missed without its factor."""
    left = edit(name, changes=ALMOST_EXACT).residual_left
    assert set(left) == {"harry", "france"}
    assert max(left.values()) < 1e-2


@pytest.mark.parametrize("name", NORMED)
def test_a_target_that_the_norm_lets_through_is_reached(name):
    reference = ArchitectureReference(*pair_of(name))
    generator = torch.Generator().manual_seed(5)
    targets = {}
    for each in REQUESTS:
        value = reference.value(LAST, each.prompt, each.subject)
        turned = value + value.norm() / 4 * torch.randn(32, generator=generator).double() / 4
        norm = reference.layers[LAST].post_feedforward_layernorm
        out = reference.layer_output(LAST, each.prompt, each.subject)
        targets[each.id] = (out + norm(turned) - norm(value)).float()
    left = edit(name, changes=ALMOST_EXACT, targets=targets).residual_left
    assert max(left.values()) < 2e-2


@pytest.mark.parametrize("name", ["gemma2", "olmo2"])
def test_what_is_left_of_z_is_what_no_output_of_the_mlp_can_add(name):
    """The found z is beyond the norm's reach; the edit ends at the nearest reachable point."""
    pair = pair_of(name)
    effect = edit(name, changes=ALMOST_EXACT)
    reference = ArchitectureReference(*pair)
    norm = reference.layers[LAST].post_feedforward_layernorm
    gains = norm(torch.ones(32, dtype=torch.float64))
    for each in REQUESTS:
        value = reference.value(LAST, each.prompt, each.subject)
        out = reference.layer_output(LAST, each.prompt, each.subject)
        wanted = effect.targets[each.id].double()
        point = wanted - (out - norm(value))
        radius = float((norm(value) / gains).norm())
        limit = nearest_by_descent(point, gains, radius) / float((wanted - out).norm())
        assert limit > 0.1, "the case tells nothing"
        assert effect.residual_left[each.id] == pytest.approx(limit, abs=5e-3)


@pytest.mark.parametrize("method", MEMIT_FAMILY)
@pytest.mark.parametrize("name", ["gpt2", "olmo2"])
def test_the_record_has_the_fraction_that_the_whole_edit_leaves(name, method):
    pair = pair_of(name)
    effect = edit(name, method)
    before = ArchitectureReference(*pair)
    with applied(pair[0], effect):
        after = ArchitectureReference(*pair)
    for each in REQUESTS:
        wanted = effect.targets[each.id].double()
        gaps = [
            (wanted - reference.layer_output(1, each.prompt, each.subject)).norm()
            for reference in (before, after)
        ]
        assert effect.residual_left[each.id] == pytest.approx(float(gaps[1] / gaps[0]), rel=1e-3)


def test_without_a_step_there_is_no_residual():
    left = edit("gpt2", targets=edit("gpt2").targets, changes={"v_num_grad_steps": 1}).residual_left
    assert None not in left.values()
    reference = ArchitectureReference(*pair_of("gpt2"))
    model, tokenizer = pair_of("gpt2")
    from thinkeval.editing.key_value.keys import bare_rows, layer_output_at_subject

    rows = bare_rows(tokenizer, REQUESTS)
    here = layer_output_at_subject(adapter_for(model), tokenizer, rows, LAST)
    assert close(here[0], reference.layer_output(LAST, HARRY.prompt, HARRY.subject), 1e-5)
    targets = {each.id: here[i] for i, each in enumerate(REQUESTS)}
    assert edit("gpt2", targets=targets).residual_left == {"harry": None, "france": None}


def test_the_fraction_is_saved_joined_and_dropped_by_another_strength(tmp_path):
    effect = edit("gpt2")
    meta = files.DeltaMeta(weights_digest="d", method="memit")
    files.save(effect, tmp_path / "e.safetensors", meta)
    assert files.load(tmp_path / "e.safetensors").effect.residual_left == effect.residual_left
    assert strength.scaled(effect, 2.0).residual_left == {}
    later = EditEffect(residual_left={"new": 0.5})
    assert combined(effect, later).residual_left == {**effect.residual_left, "new": 0.5}
