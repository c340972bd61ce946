"""Knowledge neurons derived once more, for tests: float64, one neuron layer after the other."""

from __future__ import annotations

from contextlib import contextmanager

import torch

from thinkeval.editing.key_value.neurons import paper_path
from thinkeval.editing.methods import kn
from thinkeval.loaders.records import RewriteRequest

HARRY = RewriteRequest("harry", "test", "{} studied at", "Harry Potter", "r", "Hogwarts", "Paris")
FRANCE = RewriteRequest(
    "france", "test", "The capital of {} is", "France", "r", "Paris", "Warsaw", None, ("{} has",)
)


def values(**changes):
    return kn.HyperParams.from_dict({"steps": 5, "refine": False, **changes})


class Neurons:
    """The attribution formula once more: float64, no batch, one layer and one α at a time."""

    def __init__(self, reference, published=False):
        self.at, self.published = reference, published

    def module(self, layer):
        mlp = self.at.layers[layer].mlp
        if self.published:
            return mlp.c_fc if self.at.gpt2 else mlp.gate_proj
        return self.at.projection(layer)

    @contextmanager
    def hooked(self, layer, change):
        """`change` gets what stands at the last token and gives what shall stand there."""

        def put(value):
            return torch.cat([value[0, :-1], change(value[0, -1])[None]])[None]

        module = self.module(layer)
        if self.published:
            handle = module.register_forward_hook(lambda _, __, out: put(out))
        else:
            handle = module.register_forward_pre_hook(lambda _, args: (put(args[0]),))
        try:
            yield
        finally:
            handle.remove()

    def probability(self, ids, token):
        return self.at.logits(ids)[-1].softmax(-1)[token]

    def scores(self, ids, token, alphas):
        rows = []
        for layer in range(len(self.at.layers)):
            own = self.seen(layer, ids)
            total = torch.zeros_like(own)
            for alpha in alphas:
                scaled = (alpha * own).requires_grad_(True)
                with self.hooked(layer, lambda _, scaled=scaled: scaled):
                    total += torch.autograd.grad(self.probability(ids, token), scaled)[0]
            rows.append(own * total / len(alphas))
        return torch.stack(rows)

    def seen(self, layer, ids):
        kept = []
        with self.hooked(layer, lambda value: kept.append(value.detach()) or value):
            self.at.logits(ids)
        return kept[0]

    def mean_scores(self, prompt, request, alphas, continuation="target"):
        ids = self.at.tokens(prompt.replace("{}", request.subject))
        target = self.at.target(request.target_true)
        readings = []
        for k, token in enumerate(target):
            before = {"target": target[:k], "none": [], "greedy": self.greedy(ids, k)}
            readings.append(self.scores([*ids, *before[continuation]], token, alphas))
        return torch.stack(readings).mean(0)

    def greedy(self, ids, n):
        said = []
        for _ in range(n):
            said.append(int(self.at.logits([*ids, *said])[-1].argmax()))
        return said

    def embedding(self, ids):
        return self.at.model.get_input_embeddings().weight[torch.tensor(ids)]


def chosen(scores, threshold=0.2):
    """(layer, neuron) pairs above the share of the highest score."""
    return {tuple(at) for at in (scores > threshold * scores.max()).nonzero().tolist()}


def written(reference, neurons, shift):
    """{weight name: update} with the shift in each neuron's slot, as the weight is stored."""
    expected = {}
    for layer, neuron in neurons:
        name = f"{reference.name(layer)}.weight"
        update = torch.zeros_like(reference.matrix(layer))  # [d_out, d_in]
        update[:, neuron] = shift
        expected[name] = expected.get(name, 0) + reference.stored(update)
    return expected


def shared(reference, request, prompts, p, threshold):
    """Neurons in the coarse sets of more than the share p of the prompts."""
    neurons = Neurons(reference)
    sets = [
        chosen(neurons.mean_scores(text, request, paper_path(2)), threshold) for text in prompts
    ]
    counts = {n: sum(n in one for one in sets) for one in sets for n in one}
    return {n for n, count in counts.items() if count > p * len(prompts)}, sets
