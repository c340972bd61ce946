"""Weights of APP's terms by method and model, read from app.json. Imports no torch.

Those of gpt2-xl, gpt-j-6b and llama-2-7b are of Ma et al. 2024 (ICML), appendix; the organisms' are
this project's. A method that shares another's targets (rect, prune and alphaedit: memit's) has its
weights, which are not published.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ..errors import HparamsError


def published(method: str, hparams_name: str) -> tuple[float, float, float]:
    """α, β and γ of a method for a model.

    Args:
        hparams_name: of the model's file of hyperparameters, without `.json` (`gpt2-xl`).

    Raises:
        HparamsError: there are none.
    """
    table = _table()
    rows = table.get(method, {})
    rows = table[rows] if isinstance(rows, str) else rows
    if hparams_name not in rows:
        have = f"there are for {', '.join(rows)}" if rows else f"there are for {', '.join(table)}"
        raise HparamsError(
            f"there are no weights of APP for '{method}' and the model '{hparams_name}'; {have}",
            remedy="Pass all three: alpha, beta and gamma.",
        )
    alpha, beta, gamma = rows[hparams_name]
    return float(alpha), float(beta), float(gamma)


@cache
def _table() -> dict[str, Any]:
    return json.loads(
        (files("thinkeval.editing.objectives") / "app.json").read_text(encoding="utf-8")
    )
