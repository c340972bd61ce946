"""Losses of appended answers written down once more, in float64: one forward pass per answer.

Nothing here imports the code under test. Every maximum and mean is a loop over answers, from the
paper's equations (Ma et al. 2024, ICML, §6, eq. 7–10, and §7.7).
"""

from __future__ import annotations

from dataclasses import replace

import torch

from support.references.edit_reference import Reference


def log_p(reference, request, name):
    """Mean token log p of a name behind the plain edit prompt: one forward pass."""
    ids, answer = reference.tokens(request.filled_prompt), reference.target(name)
    rows = reference.logits([*ids, *answer[:-1]]).log_softmax(-1)[len(ids) - 1 :]
    return torch.stack([rows[k, token] for k, token in enumerate(answer)]).mean()


def terms(now_correct, now_hard, correct, hard):
    """L1, L2 and L3 of lists of scalars; at a maximum's corner the gradient is 0."""
    zero = torch.zeros((), dtype=torch.float64)

    def positive(value):
        return value if value > 0 else zero

    l1, l2, l3 = zero, zero, zero
    for o in now_correct:
        for f in now_hard:
            l1 = l1 + positive(2 - o + f) / (len(now_correct) * len(now_hard))
    for o, before in zip(now_correct, correct, strict=True):
        l2 = l2 + positive(before - o) / len(now_correct)
    for f, before in zip(now_hard, hard, strict=True):
        l3 = l3 + positive(f - before) / len(now_hard)
    return l1, l2, l3


class AppReference(Reference):
    """The value optimisation's loss with α L1 + β L2 + γ L3."""

    def __init__(self, model, tokenizer, weights, correct, hard):
        super().__init__(model, tokenizer)
        self.weights, self.correct, self.hard = weights, correct, hard

    def app(self, module, request, delta):
        """α L1 + β L2 + γ L3 with a vector added at the subject's last token."""
        lists = self.correct[request.id], self.hard[request.id]
        with torch.no_grad():
            start = [[log_p(self, request, name) for name in names] for names in lists]
        with self.adding(module, self.place(request.prompt, request.subject), delta):
            now = [[log_p(self, request, name) for name in names] for names in lists]
        return sum(w * t for w, t in zip(self.weights, terms(*now, *start), strict=True))

    def loss(self, module, request, templates, delta, v0, kl_start, hparams, loss_layer=None):
        found, start = super().loss(
            module, request, templates, delta, v0, kl_start, hparams, loss_layer
        )
        return found + self.app(module, request, delta), start


class AllAnswersReference(Reference):
    """The value optimisation's loss, meaned over the new target and the correct answers."""

    def __init__(self, model, tokenizer, correct):
        super().__init__(model, tokenizer)
        self.correct = correct

    def loss(self, module, request, templates, delta, v0, kl_start, hparams, loss_layer=None):
        parts = [
            super(AllAnswersReference, self).loss(
                module, each, templates, delta, v0, kl_start, hparams, loss_layer
            )
            for name in (request.target_new, *self.correct[request.id])
            for each in [replace(request, target_new=name)]
        ]
        return torch.stack([loss for loss, _ in parts]).mean(), parts[0][1]
