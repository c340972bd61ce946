"""Editing formulas written down once more, in float64, one row at a time, straight from the papers.

Nothing here imports the code under test: no batching, no padding, no float32, no offsets.
"""

from __future__ import annotations

import copy
from contextlib import contextmanager

import torch


class Reference:
    """A float64 copy of a tiny model, with access to its MLP projections and layers."""

    def __init__(self, model, tokenizer):
        self.model = copy.deepcopy(model).double().eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.gpt2 = model.config.model_type == "gpt2"
        self.layers = self.model.transformer.h if self.gpt2 else self.model.model.layers

    def projection(self, layer):
        mlp = self.layers[layer].mlp
        return mlp.c_proj if self.gpt2 else mlp.down_proj

    def name(self, layer):
        path = "transformer.h.{}.mlp.c_proj" if self.gpt2 else "model.layers.{}.mlp.down_proj"
        return path.format(layer)

    def matrix(self, layer):
        """The weight as [d_out, d_in], whatever way it is stored."""
        weight = self.projection(layer).weight
        return weight.T if self.gpt2 else weight

    def stored(self, update):
        return update.T if self.gpt2 else update

    def tokens(self, text):
        return self.tokenizer(text)["input_ids"]

    def target(self, text):
        return self.tokenizer(" " + text, add_special_tokens=False)["input_ids"]

    def place(self, prompt, subject):
        """The published way: how many tokens everything up to the subject's end has."""
        return len(self.tokens(prompt.split("{}")[0] + subject)) - 1

    def logits(self, ids):
        return self.model(torch.tensor([ids])).logits[0]

    def key(self, layer, prompt, subject):
        return self.seen(self.projection(layer), prompt, subject)[0]

    def value(self, layer, prompt, subject):
        return self.seen(self.projection(layer), prompt, subject)[1]

    def layer_output(self, layer, prompt, subject):
        return self.seen(self.layers[layer], prompt, subject)[1]

    @torch.no_grad()
    def seen(self, module, prompt, subject):
        """Input and output of a module at the subject's last token."""
        kept = {}

        def hook(_, inputs, output):
            kept["in"], kept["out"] = inputs[0], output if torch.is_tensor(output) else output[0]

        handle = module.register_forward_hook(hook)
        self.logits(self.tokens(prompt.replace("{}", subject)))
        handle.remove()
        at = self.place(prompt, subject)
        return kept["in"][0, at].clone(), kept["out"][0, at].clone()

    @contextmanager
    def adding(self, module, place, delta):
        def hook(_, __, output):
            out = output if torch.is_tensor(output) else output[0]
            bump = torch.zeros_like(out)
            bump[0, place] = 1
            out = out + bump * delta
            return out if torch.is_tensor(output) else (out, *output[1:])

        handle = module.register_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()

    def loss(self, module, request, templates, delta, v0, kl_start, hparams, loss_layer=None):
        """NLL + KL + weight decay at a delta; also the KL log-probabilities."""
        target = self.target(request.target_new)
        nll = 0.0
        for template in templates:
            prompt = template.replace("{}", request.prompt)
            ids = self.tokens(prompt.replace("{}", request.subject))
            with self.adding(module, self.place(prompt, request.subject), delta):
                logits = self._read([*ids, *target[:-1]], loss_layer)
            log_p = logits.log_softmax(-1)
            picked = [log_p[len(ids) - 1 + k, token] for k, token in enumerate(target)]
            nll = nll - torch.stack(picked).mean() / len(templates)
        place = self.place("{} is a", request.subject)
        with self.adding(module, place, delta):
            kl_now = self.logits(self.tokens(f"{request.subject} is a"))[place].log_softmax(-1)
        start = kl_now.detach() if kl_start is None else kl_start
        if hparams.kl_direction == "new_initial":
            divergence = (kl_now.exp() * (kl_now - start)).sum()
        else:
            divergence = (start.exp() * (start - kl_now)).sum()
        decay = hparams.v_weight_decay * delta.norm() / v0.norm() ** 2
        return nll + hparams.kl_factor * divergence + decay, start

    def _read(self, ids, loss_layer):
        if loss_layer is None:
            return self.logits(ids)
        kept = {}
        handle = self.layers[loss_layer].register_forward_hook(
            lambda _, __, out: kept.update(h=out if torch.is_tensor(out) else out[0])
        )
        self.logits(ids)
        handle.remove()
        norm = self.model.transformer.ln_f if self.gpt2 else self.model.model.norm
        return self.model.lm_head(norm(kept["h"]))[0]

    def optimise(self, request, templates, hparams, layer, site, loss_layer=None):
        """v* or z, and the number of updates: Adam with the published loop."""
        module = self.projection(layer) if site == "mlp" else self.layers[layer]
        v0 = self.seen(module, request.prompt, request.subject)[1]
        delta = torch.zeros_like(v0, requires_grad=True)
        adam = torch.optim.Adam([delta], lr=hparams.v_lr)
        start = None
        for step in range(hparams.v_num_grad_steps):
            loss, start = self.loss(
                module, request, templates, delta, v0, start, hparams, loss_layer
            )
            if loss < hparams.v_stop_loss or step == hparams.v_num_grad_steps - 1:
                break
            adam.zero_grad()
            loss.backward()
            adam.step()
            longest = hparams.clamp_norm_factor * v0.norm()
            if delta.norm() > longest:
                with torch.no_grad():
                    delta.mul_(longest / delta.norm())
        return (v0 + delta).detach(), step

    def optimise_joint(self, requests, templates, hparams, layer, site):
        """One v* or z of requests: `optimise` on the sum of their losses, from their mean v0."""
        module = self.projection(layer) if site == "mlp" else self.layers[layer]
        starts = [self.seen(module, r.prompt, r.subject)[1] for r in requests]
        v0 = sum(starts) / len(starts)
        delta = torch.zeros_like(v0, requires_grad=True)
        adam = torch.optim.Adam([delta], lr=hparams.v_lr)
        kl = [None] * len(requests)
        for step in range(hparams.v_num_grad_steps):
            losses = []
            for i, request in enumerate(requests):
                loss, kl[i] = self.loss(
                    module, request, templates, delta, starts[i], kl[i], hparams
                )
                losses.append(loss)
            small = all(loss < hparams.v_stop_loss for loss in losses)
            if small or step == hparams.v_num_grad_steps - 1:
                break
            adam.zero_grad()
            sum(losses).backward()
            adam.step()
            longest = hparams.clamp_norm_factor * v0.norm()
            if delta.norm() > longest:
                with torch.no_grad():
                    delta.mul_(longest / delta.norm())
        return (v0 + delta).detach(), step

    def mean_key(self, layer, request, groups):
        """Mean over groups of the mean key over a group's templates."""
        means = [
            torch.stack(
                [self.key(layer, t.replace("{}", request.prompt), request.subject) for t in group]
            ).mean(0)
            for group in groups
        ]
        return torch.stack(means).mean(0)


def close(actual, expected, relative):
    """The error's norm against the expected norm."""
    actual, expected = actual.double(), expected.double()
    assert actual.shape == expected.shape
    error = (actual - expected).norm() / expected.norm()
    assert error <= relative, f"relative error {error:.2e}, allowed {relative:.0e}"
    return True
