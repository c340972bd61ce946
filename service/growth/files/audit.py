"""The audit bundle of a growth run: everything its graph rests on, in files.

* `run.json`: model, endpoint, request, digest of the prompts, state and cost.
* `prompts/*.md`: the prompts as they are installed; texts as they were sent: `answers.jsonl`.
* `answers.jsonl`: every raw answer with its request.
* `statements.jsonl`, `candidates.jsonl`: triplets read from them, and their outcome.
* `decisions.jsonl`: every decision, in order.
* `iterations.jsonl`: the table of iterations.
* `facts.jsonl`: the facts of the graph.
* `sha256sums.txt`: digest of each file; `sha256sum -c` checks them.

Two bundles of a finished run are equal byte by byte: rows are ordered, and nothing in them depends
on when the bundle was written. A key is never part of a run; should the value of the configured one
have entered an answer, or an address contain a password, it is replaced.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict
from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from ....cypher import rows
from ..review.schemas import CandidateOut, DecisionOut
from ..runs import require_run
from ..schemas import GrowthOut
from .layout import json_bytes
from .output import with_digests

if TYPE_CHECKING:
    from ....cypher.run import Database

KEY_VARIABLES = ("THINKEVAL_LLM_API_KEY", "OPENAI_API_KEY", "THINKEVAL_API_KEY")
HIDDEN = "[removed]"
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@\s\"]+@")
_JSON_COLUMNS = ("request", "capabilities", "messages", "checks", "corrected", "judge_corrected")
_DERIVED = ("notes", "reused", "scored_as", "counts", "judged")
"""Fields of a run that follow from others."""


def audit_bundle(db: Database, run: str) -> dict[str, bytes]:
    """The files of the bundle, by name.

    Raises:
        NotFoundError: no such run; says which are close.
    """
    found = require_run(db, run)
    about = {k: getattr(found, k) for k in GrowthOut.model_fields if k not in _DERIVED}
    about["iterations"] = len(found.iterations)
    files = {
        "run.json": json_bytes(_plain(about)),
        "answers.jsonl": _lines(db.read(rows.AllAnswersRow, "growth/all_answers", run=run)),
        "statements.jsonl": _lines(
            db.read(rows.AllStatementsRow, "growth/all_statements", run=run)
        ),
        "candidates.jsonl": _lines(db.read(CandidateOut, "growth/candidates", run=run)),
        "decisions.jsonl": _lines(db.read(DecisionOut, "growth/decisions", run=run)),
        "iterations.jsonl": _lines(found.iterations),
        "facts.jsonl": _facts(db, found.graph),
        **_prompts(),
    }
    return with_digests({name: _without_secrets(body) for name, body in files.items()})


def _lines(found: Iterable[Any]) -> bytes:
    return "".join(
        json.dumps(_plain(_columns(row)), ensure_ascii=False, sort_keys=True) + "\n"
        for row in found
    ).encode()


def _columns(row: Any) -> dict[str, Any]:
    """Return the stored columns of a row, whether they are shown or not."""
    if not isinstance(row, BaseModel):
        return asdict(row)
    shown = row.model_dump(exclude_none=False)
    return {name: shown.get(name, getattr(row, name)) for name in type(row).model_fields}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its columns of JSON as values."""
    return {
        name: json.loads(value) if name in _JSON_COLUMNS and isinstance(value, str) else value
        for name, value in row.items()
    }


def _facts(db: Database, graph: str) -> bytes:
    """Return the facts with their measured values, without empty columns."""
    lines = []
    for row in db.read(rows.FactRow, "graph/facts", graph=graph):
        values = {k: v for k, v in asdict(row).items() if v not in (None, (), [])}
        lines.append(json.dumps(values, ensure_ascii=False, sort_keys=True) + "\n")
    return "".join(lines).encode()


def _prompts() -> dict[str, bytes]:
    folder = package_files("thinkeval.service.growth").joinpath("prompts")
    if not folder.is_dir():
        return {}
    return {
        f"prompts/{file.name}": file.read_bytes()
        for file in folder.iterdir()
        if file.name.endswith(".md")
    }


def _without_secrets(body: bytes) -> bytes:
    text = _USER_OF_ADDRESS.sub("", body.decode())
    for variable in KEY_VARIABLES:
        key = os.environ.get(variable, "").strip()
        if len(key) > 3:
            text = text.replace(key, HIDDEN)
    return text.encode()
