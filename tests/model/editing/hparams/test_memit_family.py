"""Hyperparameter files of MEMIT's relatives: MEMIT's values and a few of their own."""

from __future__ import annotations

import pytest

from thinkeval.editing import hparams

# Typed from the papers' code once more, not read from our files: threshold, L2.
ALPHAEDIT = {
    "gpt2-xl": (0.02, 10),
    "gpt-j-6b": (0.02, 10),
    "llama3-8b": (0.02, 10),
    "qwen2.5-7b": (0.02, 1),
}
ORGANISMS = ("organism-gpt2", "organism-llama")


@pytest.mark.parametrize("model", ALPHAEDIT)
def test_published_values(model):
    alphaedit = hparams.load("alphaedit", model)
    assert (alphaedit.nullspace_threshold, alphaedit.L2) == ALPHAEDIT[model]
    assert alphaedit.nullspace_relative is None
    rect = hparams.load("rect", model)
    assert (rect.k_percent, rect.mask) == (40, "paper")
    prune = hparams.load("prune", model)
    assert (prune.application, prune.restraint) == ("paper", None)


@pytest.mark.parametrize("model", [*ALPHAEDIT, *ORGANISMS])
@pytest.mark.parametrize("method", ["alphaedit", "rect", "prune"])
def test_all_else_is_memits(method, model):
    """So that one vector z serves the whole family."""
    theirs = hparams.load("memit", model).as_dict()
    ours = hparams.load(method, model).as_dict()
    assert {key: ours[key] for key in theirs} == theirs
