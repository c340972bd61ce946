"""Published weights of APP: every cell of the paper's table, and the methods that share targets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from thinkeval.editing import hparams, registry
from thinkeval.editing.errors import HparamsError
from thinkeval.editing.objectives.weights import published

TABLE = {
    "fine_tuning": [(0.2, 0.5, 0.2), (0.2, 0.5, 0.2), (0.2, 0.5, 0.2)],
    "mend": [(0.5, 0, 0), (0.5, 0, 0), (0.3, 0, 0)],
    "memit": [(0.05, 0.05, 0.05), (0.1, 0.3, 0.2), (0.6, 1.0, 0.3)],
    "rome": [(0.2, 0.2, 0.1), (0.2, 0.2, 0.1), (0.5, 0.8, 0.1)],
}


@pytest.mark.parametrize("method", TABLE)
def test_the_table_is_the_published_one(method: str) -> None:
    names = ("gpt2-xl", "gpt-j-6b", "llama-2-7b")
    assert [published(method, name) for name in names] == TABLE[method]


@pytest.mark.parametrize("method", ["rect", "prune", "alphaedit"])
def test_methods_that_share_targets_share_weights(method: str) -> None:
    for name in ("gpt2-xl", "llama-2-7b", "organism-gpt2"):
        assert published(method, name) == published("memit", name)


def test_every_method_with_an_objective_has_weights_for_the_organisms() -> None:
    own = [name for name in registry.names() if registry.takes_objective(name)]
    assert {"rome", "memit", "rect", "prune", "alphaedit", "fine_tuning"} < set(own)
    for method in {*own, "mend"} - {"random_delta"}:
        for name in hparams.available(method):
            if name.startswith("organism"):
                assert len(published(method, name)) == 3


@pytest.mark.parametrize(("method", "name"), [("memit", "qwen2.5-7b"), ("kn", "gpt2-xl")])
def test_without_weights_the_error_says_what_to_pass(method: str, name: str) -> None:
    with pytest.raises(HparamsError, match=f"'{method}' and the model '{name}'") as error:
        published(method, name)
    assert "alpha, beta and gamma" in error.value.remedy


def test_nothing_here_imports_torch() -> None:
    modules = "app, all_answers, weights"
    code = f"import sys; from thinkeval.editing.objectives import {modules}; "
    code += "weights.published('rome', 'gpt-j-6b'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
