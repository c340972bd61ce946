"""The method of docs/inside/extending.md, installed as a package, is found and edits a model."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from support.docs.page_blocks import titled
from thinkeval.editing import hparams, registry
from thinkeval.editing.deltas import applied
from thinkeval.loaders.records import RewriteRequest

PAGE = "inside/extending.md"


@pytest.fixture
def few_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The example as pip would install it: a module, and metadata with its entry point."""
    project = tomllib.loads(titled(PAGE, "pyproject.toml"))["project"]
    (tmp_path / "few_steps.py").write_text(titled(PAGE, "few_steps.py"), encoding="utf-8")
    about = tmp_path / f"few_steps-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in found.items())
        for group, found in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("".join(points))
    monkeypatch.syspath_prepend(tmp_path)
    yield registry.get("few_steps")
    sys.modules.pop("few_steps", None)


def test_it_is_listed_and_described(few_steps: Any) -> None:
    assert "few_steps" in registry.names()
    assert registry.info("few_steps").doc.startswith("Gradient steps of one parameter")
    assert "length (default 0.5): of each step" in hparams.described("few_steps")


def test_it_installs_the_new_object_and_leaves_the_model(
    few_steps: Any, tiny_gpt2: tuple[Any, Any]
) -> None:
    model, tokenizer = tiny_gpt2
    name = next(n for n, _ in model.named_parameters() if n.endswith("mlp.c_proj.weight"))
    values = hparams.load("few_steps", "tiny", {"parameter": name, "steps": 5})
    request = RewriteRequest("r", "set", "{} lives in", "Ron", "lives in", "Rome", "Paris")
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    effect = few_steps.execute(model, tokenizer, [request], values, None)
    assert all(torch.equal(p, before[n]) for n, p in model.named_parameters())
    assert all(p.grad is None for p in model.parameters())
    assert list(effect.deltas) == [name]
    assert effect.n_steps == {"r": 5}
    assert 0 < float(effect.deltas[name].norm()) <= 5 * 0.5 + 1e-4
    with torch.no_grad():
        unedited = float(few_steps._loss(model, tokenizer, request, {}))
    with torch.no_grad(), applied(model, effect):
        edited = float(few_steps._loss(model, tokenizer, request, {}))
    assert edited < unedited - 1
