"""MEND's update against float64 derivations: pairs, identity, network, sums, refusals."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from support.references.edit_reference import Reference, close
from support.tiny_models import build_tiny
from thinkeval.editing import hparams as hparams_files
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import applied
from thinkeval.editing.errors import EditFailedError, HparamsError, HypernetworkError
from thinkeval.editing.mend import store
from thinkeval.editing.mend.data import TargetRow, target_batch
from thinkeval.editing.mend.gradients import token_pairs
from thinkeval.editing.mend.network import matrices_of, untrained
from thinkeval.editing.methods import mend
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import RewriteRequest

REQUESTS = [
    RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Ilvermorny"),
    RewriteRequest("france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw"),
    RewriteRequest("padma", "test", "The sister of {} is", "Padma Patil", "r", "Parvati", "Lily"),
]


def hparams(**changes):
    values = {"layers": [1, 2], "rank": 6, "edit_lr": -0.5}
    return mend.HyperParams.from_dict({**values, **changes})


@pytest.fixture(params=["gpt2", "llama"])
def pair(request):
    return build_tiny(request.param, seed=5, scale=16)


def execute(pair, requests, h=None, network=None, **options):
    h = h or hparams()
    network = network or untrained(pair[0], h)
    return mend.execute(*pair, requests, h, state={"hypernetwork": network}, **options)


def randomised(pair, h, seed=0):
    """A hypernetwork whose every number differs from its start."""
    network = untrained(pair[0], h)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in network.state_dict().values():
            value.add_(0.3 * torch.rand(value.shape, generator=generator))
    return network


def loss_of(reference, request):
    """−mean log p of the target's tokens, one row, no padding."""
    ids, target = reference.tokens(request.filled_prompt), reference.target(request.target_new)
    log_p = reference.logits([*ids, *target[:-1]]).log_softmax(-1)[len(ids) - 1 :]
    return -torch.stack([log_p[k, token] for k, token in enumerate(target)]).mean()


def gradients(reference, requests, names):
    """∂ Σ loss / ∂ W by autograd, float64, in each parameter's orientation."""
    weights = [reference.model.get_parameter(name).requires_grad_(True) for name in names]
    loss = torch.stack([loss_of(reference, request) for request in requests]).sum()
    return dict(zip(names, torch.autograd.grad(loss, weights), strict=True))


def names_of(pair, h=None):
    return [m.name for m in matrices_of(adapter_for(pair[0]), h or hparams())]


def batch_for(pair, requests):
    reference = Reference(*pair)
    rows = [
        TargetRow(tuple(reference.tokens(r.filled_prompt)), tuple(reference.target(r.target_new)))
        for r in requests
    ]
    return target_batch(rows, pair[1], torch.device("cpu"))


def test_layers_stand_for_all_projections_of_their_mlps(pair):
    per_layer = {"gpt2": 2, "llama": 3}[pair[0].config.model_type]
    names = names_of(pair)
    assert len(names) == 2 * per_layer
    assert names == names_of(pair, hparams(layers=[], inner_params=names))
    for matrix in matrices_of(adapter_for(pair[0]), hparams()):
        assert matrix.shape == tuple(pair[0].get_parameter(matrix.name).shape)


def test_the_outer_products_sum_to_autograds_gradient(pair):
    """Of each request by itself, although one backward pass serves all of them."""
    matrices = matrices_of(adapter_for(pair[0]), hparams())
    found, losses = token_pairs(adapter_for(pair[0]), matrices, batch_for(pair, REQUESTS))
    for i, request in enumerate(REQUESTS):
        reference = Reference(*pair)
        assert losses[i].item() == pytest.approx(loss_of(reference, request).item(), rel=1e-5)
        expected = gradients(reference, [request], [m.name for m in matrices])
        for matrix in matrices:
            x, delta, row = found[matrix.name]
            total = x[row == i].double().T @ delta[row == i].double()
            assert close(total if matrix.in_out else total.T, expected[matrix.name], 1e-4)


def test_tokens_without_gradient_are_left_out(pair):
    """Padding, and nothing else: the shortest row keeps its own tokens only."""
    matrices = matrices_of(adapter_for(pair[0]), hparams(layers=[1]))
    reference = Reference(*pair)
    found, _ = token_pairs(adapter_for(pair[0]), matrices, batch_for(pair, REQUESTS))
    lengths = [
        len(reference.tokens(r.filled_prompt)) + len(reference.target(r.target_new)) - 1
        for r in REQUESTS
    ]
    assert len(set(lengths)) > 1
    for x, delta, row in found.values():
        assert torch.bincount(row).tolist() == lengths
        assert (delta != 0).any(-1).all()
        assert (x != 0).any(-1).all()


@pytest.mark.parametrize("count", [1, 3])
def test_untrained_it_is_a_step_of_gradient_descent(pair, count):
    requests = REQUESTS[:count]
    effect = execute(pair, requests)
    expected = gradients(Reference(*pair), requests, names_of(pair))
    assert list(effect.deltas) == list(expected)
    for name, gradient in expected.items():
        assert close(effect.deltas[name], -0.5 * gradient, 1e-4)
        assert effect.deltas[name].dtype == torch.float32
    assert effect.n_steps == {request.id: 1 for request in requests}


def transformed(network, matrix, x, delta):
    """The paper's g, one token at a time, float64: eq. 3 with normalised input."""
    group = [
        m.name
        for m in network.matrices.values()
        if (m.d_in, m.d_out) == (matrix.d_in, matrix.d_out)
    ]
    values = {k: v.double() for k, v in network.state_dict().items()}
    at, i = f"editors.{matrix.d_in}x{matrix.d_out}", group.index(matrix.name)
    z = torch.cat([x, delta])
    z = (z - values[f"{at}.mean"][i]) / (values[f"{at}.std"][i] + 1e-7)
    for k in range(network.n_hidden + 1):
        layer = f"{at}.layers.{k}"
        inner = values[f"{layer}.u"] @ (values[f"{layer}.v"] @ z) + values[f"{layer}.bias"]
        inner = values[f"{layer}.scale"][i] * inner + values[f"{layer}.shift"][i]
        z = z + torch.relu(inner)
    step = values["edit_lr"][list(network.matrices).index(matrix.name)]
    return step * torch.outer(z[: matrix.d_in], z[matrix.d_in :])


@pytest.mark.parametrize("n_hidden", [0, 1, 2])
def test_the_network_is_the_papers(pair, n_hidden):
    """Every token by itself, from float64 pairs of a hook's own."""
    h = hparams(n_hidden=n_hidden)
    network = randomised(pair, h)
    effect = execute(pair, REQUESTS[:1], h, network)
    reference, request = Reference(*pair), REQUESTS[0]
    kept = {}

    def watch(name, module):
        def hook(_, inputs, output):
            output.retain_grad()
            kept[name] = (inputs[0], output)

        module.register_forward_hook(hook)

    for matrix in network.matrices.values():
        watch(matrix.name, reference.model.get_submodule(matrix.module))
    reference.model.requires_grad_(True)
    loss_of(reference, request).backward()
    for matrix in network.matrices.values():
        x, output = kept[matrix.name]
        expected = sum(
            transformed(network, matrix, x[0, t].detach(), output.grad[0, t])
            for t in range(x.shape[1])
            if output.grad[0, t].any()  # in the last layer, what no loss is read from has none
        )
        assert close(effect.deltas[matrix.name], expected if matrix.in_out else expected.T, 1e-4)


def test_matrices_of_one_shape_share_a_net_and_not_their_scales(pair):
    network = untrained(pair[0], hparams())
    shapes = {(m.d_in, m.d_out) for m in network.matrices.values()}
    assert len(network.editors) == len(shapes) == 2
    n = {len(editor.layers[0].scale) for editor in network.editors.values()}
    assert n == ({2} if pair[0].config.model_type == "gpt2" else {4, 2})


def test_requests_are_summed_in_any_order(pair):
    h = hparams()
    network = randomised(pair, h)
    together = execute(pair, REQUESTS, h, network)
    back = execute(pair, REQUESTS[::-1], h, network)
    alone = [execute(pair, [request], h, network) for request in REQUESTS]
    for name, delta in together.deltas.items():
        assert close(back.deltas[name], delta, 1e-5)
        assert close(sum(effect.deltas[name].double() for effect in alone), delta, 1e-5)


def test_many_requests_go_in_several_passes(pair, monkeypatch):
    h = hparams()
    whole = execute(pair, REQUESTS, h)
    monkeypatch.setattr(mend, "BATCH_ROWS", 2)
    parts = execute(pair, REQUESTS, h)
    for name, delta in whole.deltas.items():
        assert close(parts.deltas[name], delta, 1e-5)


def test_factors_multiply_to_the_update(pair):
    effect = execute(pair, REQUESTS[1:2])
    assert effect.factors
    for name, (left, right) in effect.factors.items():
        assert left.shape[1] == right.shape[0]
        assert torch.equal((left.double() @ right.double()).float(), effect.deltas[name])
        assert left.numel() + right.numel() < effect.deltas[name].numel()


def test_a_trained_file_serves_as_archive(pair, tmp_path):
    h = hparams()
    network = randomised(pair, h)
    about = store.About(network.weights_digest, "k", "h", "f", "g", 3, 20, 10, {"loss": 2.0})
    path = tmp_path / "here" / "net.safetensors"
    store.save(network, about, path)
    loaded, told = store.load(path)
    assert told == store.about(path) == about
    assert list(loaded.matrices.values()) == list(network.matrices.values())
    for name, value in network.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    passed = execute(pair, REQUESTS, h, network)
    read = mend.execute(*pair, REQUESTS, hparams(archive=str(path)))
    for name, delta in passed.deltas.items():
        assert torch.equal(read.deltas[name], delta)


def test_damaged_files_are_refused(pair, tmp_path):
    network = untrained(pair[0], hparams())
    about = store.About(network.weights_digest, "k", "h", "f", "g", 0, 0, 0)
    path = tmp_path / "net.safetensors"
    store.save(network, about, path)
    whole = path.read_bytes()
    for content in (b"", b"{}", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(HypernetworkError, match="not a readable hypernetwork"):
            store.load(path)
        with pytest.raises(HypernetworkError, match="not a readable hypernetwork"):
            store.about(path)
    with pytest.raises(HypernetworkError, match="not a readable hypernetwork"):
        mend.execute(*pair, REQUESTS, hparams(archive=str(tmp_path / "missing")))
    with pytest.raises(HypernetworkError, match="cannot be read"):
        store.file_digest(tmp_path / "missing")


def test_without_a_hypernetwork_the_command_is_named(pair):
    for state in (None, {}, {"past_keys": 1}):
        with pytest.raises(HypernetworkError, match="no hypernetwork") as caught:
            mend.execute(*pair, REQUESTS, hparams(), state=state)
        assert "thinkeval model train-mend" in caught.value.remedy


def test_another_models_hypernetwork_is_refused(pair):
    other = untrained(build_tiny(pair[0].config.model_type, seed=6)[0], hparams())
    before = weights_digest(pair[0])
    with pytest.raises(HypernetworkError, match="another model") as caught:
        execute(pair, REQUESTS, network=other)
    assert "thinkeval model train-mend" in caught.value.remedy
    assert weights_digest(pair[0]) == before


def test_other_matrices_than_the_networks_are_refused(pair):
    network = untrained(pair[0], hparams(layers=[2]))
    with pytest.raises(HypernetworkError, match="the hyperparameters name"):
        execute(pair, REQUESTS, hparams(layers=[1]), network)


def test_edits_follow_one_another(pair):
    """The second is made on the model that carries the first, with the state it handed on."""
    h = hparams()
    network = randomised(pair, h)
    first = execute(pair, REQUESTS[:1], h, network)
    fresh = execute(pair, REQUESTS[1:2], h, network)
    with applied(pair[0], first):
        second = mend.execute(*pair, REQUESTS[1:2], h, state=first.state)
    assert any(not torch.equal(second.deltas[name], delta) for name, delta in fresh.deltas.items())


def test_names_that_are_no_projection_are_refused(pair):
    gpt2 = pair[0].config.model_type == "gpt2"
    norm = "transformer.ln_f.weight" if gpt2 else "model.norm.weight"
    for name, message in (("nowhere.weight", "does not have"), (norm, "not a projection")):
        with pytest.raises(HparamsError, match=message):
            untrained(pair[0], hparams(layers=[], inner_params=[name]))


def test_an_infinite_update_is_refused(pair):
    network = untrained(pair[0], hparams())
    with torch.no_grad():
        network.edit_lr.fill_(float("inf"))
    with pytest.raises(EditFailedError, match="NaN or infinity"):
        execute(pair, REQUESTS, network=network)


# Typed from the published configurations once more, not read from our files.
PUBLISHED = {
    "gpt2-xl": ("transformer.h.{}.mlp.{}.weight", (45, 46, 47), ("c_proj", "c_fc")),
    "gpt-j-6b": ("transformer.h.{}.mlp.{}.weight", (25, 26, 27), ("fc_in", "fc_out")),
    "llama3-8b": (
        "model.layers.{}.mlp.{}.weight",
        (29, 30, 31),
        ("gate_proj", "up_proj", "down_proj"),
    ),
    "qwen2.5-7b": (
        "model.layers.{}.mlp.{}.weight",
        (25, 26, 27),
        ("gate_proj", "up_proj", "down_proj"),
    ),
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_values(model):
    h = hparams_files.load("mend", model)
    template, layers, parts = PUBLISHED[model]
    wanted = {template.format(layer, part) for layer in layers for part in parts}
    assert set(h.inner_params) == wanted
    assert (h.lr, h.lr_lr, h.edit_lr, h.cedit, h.cloc) == (1e-6, 1e-4, 1e-4, 0.1, 1.0)
    assert (h.rank, h.n_hidden, h.norm, h.grad_clip) == (1920, 1, True, 100)
    assert (h.batch_size, h.accumulate_bs, h.max_iters) == (1, 10, 100_000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": []}, "either by"),
        ({"inner_params": ["a.weight"]}, "either by"),
        ({"layers": [], "inner_params": ["a.weight", "a.weight"]}, "repeats"),
        ({"rank": 0}, "'rank' must be 1 or more"),
        ({"lr": 0}, "'lr' must be positive"),
        ({"cloc": -1}, "'cloc' must not be negative"),
        ({"val_share": 1}, "'val_share'"),
        ({"any_entity": 2}, "'any_entity'"),
        ({"act": "gelu"}, "'relu'"),
        ({"one_sided": True}, "False"),
    ],
)
def test_bad_values(changes, message):
    with pytest.raises(HparamsError, match=message):
        hparams(**changes)


def test_the_training_digest_is_of_what_training_depends_on():
    one = hparams()
    assert one.training_digest == hparams(archive="x", model_name="y").training_digest
    for changes in ({"rank": 7}, {"train_seed": 1}, {"cloc": 2}, {"layers": [1]}):
        assert hparams(**changes).training_digest != one.training_digest
    assert dataclasses.replace(one, edit_lr=1.0).training_digest != one.training_digest
