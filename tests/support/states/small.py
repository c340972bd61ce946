"""States for tests: small models in folders, saved edits in files, and questions to ask them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from support.tiny_models import build_tiny, build_tokenizer
from thinkeval.editing.deltas import EditEffect, files
from thinkeval.editing.models import weights_digest
from thinkeval.editing.probe import ProbeSettings
from thinkeval.loaders.records import Fact
from thinkeval.service.graphs.datasets import Dataset
from thinkeval.service.scoring.probe import Answer, Question

NO_DATASET = Dataset("no-data-set", 0, "")
"""For models that are not trained on a graph."""
EXACT = ProbeSettings(measures=("likelihood", "likelihood_norm"))
QUESTIONS = [
    Question(Fact(subject, "r", name, "{} studied at"))
    for subject, name in (
        ("Harry Potter", "Hogwarts"),
        ("Harry Potter", "Ilvermorny"),
        ("Padma Patil, the sister of Parvati,", "Scotland"),
        ("Ron", "London"),
    )
]


def saved_model(folder: Path, architecture: str = "gpt2", seed: int = 0) -> Any:
    """Write a tiny model with its tokenizer to a folder; returns the model."""
    model, tokenizer = build_tiny(architecture, seed)
    return saved(model, folder, tokenizer)


def saved(model: Any, folder: Path, tokenizer: Any = None) -> Any:
    """Write a model with a tokenizer to a folder; returns the model."""
    model.save_pretrained(folder)
    (tokenizer or build_tokenizer()).save_pretrained(folder)
    return model


def low_rank_effect(
    model: Any, names: Sequence[str], *, rank: int = 2, scale: float = 0.5, seed: int = 5
) -> EditEffect:
    """An edit whose updates of these parameters are products of two random factors."""
    drawn = torch.Generator().manual_seed(seed)
    parameters, factors, deltas = dict(model.named_parameters()), {}, {}
    for name in names:
        rows, columns = parameters[name].shape
        left = scale * torch.randn(rows, rank, generator=drawn)
        right = scale * torch.randn(rank, columns, generator=drawn)
        factors[name] = (left, right)
        deltas[name] = (left.double() @ right.double()).float()
    return EditEffect(deltas=deltas, factors=factors)


def saved_edit(path: Path, of: Any, effect: EditEffect, **about: Any) -> Path:
    """Write an edit of the model `of` to a file."""
    meta = files.DeltaMeta(weights_digest=weights_digest(of), method="rome", **about)
    files.save(effect, path, meta)
    return path


def numbers(answers: Sequence[Answer], measure: str = "likelihood") -> list[float]:
    """One measure of all answers."""
    return [answer.values[measure] for answer in answers]
