"""The content of an audit, read off a stored comparison and its graphs.

    header, states · of all requests: questions, facts, routes by chains and by rules, metrics ·
    drift, verdict, queries, versions

Nothing is asked of a model, and nothing is scored again: an audit has values that are stored.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from thinkeval import cypher

from ...cypher import rows
from ...cypher.metric_options import displays
from .. import __version__
from ..errors import NotFoundError, NothingStoredError, UsageError
from ..schemas import Measure
from ..scoring import metrics, record
from ..states import table
from ..states.kind import COMPARISON
from . import routes
from .routes import Request
from .verdict import verdict

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..schemas import Score
    from ..states.about import StateOut
    from ..states.schemas import ComparisonOut, StateComparison

FORMAT = 2
"""Of `audit.json`: 1 was a list of entries, each with the digest of the one before."""

LEAK = (
    "leak@k = 1 - (1 - p_post)^k. From likelihoods it is the probability that at least one of k"
    " answers drawn at temperature 1 begins with the object: begins with it, not is about it. From"
    " sampled answers it is a function of few answers, 0 where none of them named the object. From"
    " length-normalised likelihoods it is no probability of an answer."
)
"""Definition of leak@k, for a reader of the record."""

USED = (
    "experiments/page", "graph/facts", "chains/scored",
    "rules/list_rules", "closure/state", "closure/atoms", "closure/write_conclusions",
    "closure/write_groundings", "closure/groundings", "closure/omega",
    "closure/mixed",
)  # fmt: skip
"""Queries of an audit itself: the values of their rows are in its content."""


def collect(db: Database, id: str) -> dict[str, Any]:
    """Return the content of the audit of a comparison.

    Raises:
        NotFoundError: there is no such comparison, or the graph of one of its requests is gone.
        UsageError: it has no requests.
    """
    out, state = _audited(db, id)
    if not state.requests:
        raise UsageError(
            f"Comparison {id!r} watched the graph: no fact of it shall be forgotten or replaced.",
            remedy='Compare the states with --forget "SUBJECT|RELATION|OBJECT", and audit that.',
        )
    requests = [
        Request(
            number, asked, record.get_score(db, asked.edit), state.measure, _edited(db, asked.edit)
        )
        for number, asked in enumerate(state.requests, 1)
    ]
    chains = [routes.chains(db, each, state.measures) for each in requests]
    ruled = [routes.by_rules(db, each) for each in requests]
    return {
        "header": _header(out, state),
        "states": [_state(db, side, each) for side, each in _sides(state)],
        "requests": [_request(db, each) for each in requests],
        "facts": list(_facts(db, state, requests)),
        "chains": [data for each in chains for data in each.entries],
        "rules": [each.summary for each in ruled],
        "rule_routes": [data for each in ruled for data in each.entries],
        "metrics": [_metrics(each) for each in requests],
        "drift": list(_drift(state)),
        "verdict": verdict(state, list(zip(requests, chains, ruled, strict=True))),
        "queries": list(_queries(state)),
        "versions": _versions(state),
    }


def _audited(db: Database, id: str) -> tuple[ComparisonOut, StateComparison]:
    """A comparison and the state that is audited: the only one, or that of the named graph.

    Raises:
        NotFoundError: there is no such comparison or state.
        UsageError: the comparison has several states.
    """
    for out in COMPARISON.store.page(db, part=id):
        for state in out.states:
            if state.id == id and out.id != id:
                return out, state
    # The second raises: it reads the job, and no query of an audit does.
    out = COMPARISON.store.find(db, id) or COMPARISON.store.result(db, id)
    if len(out.states) > 1:
        named = ", ".join(f"{each.id} ({each.after.name})" for each in out.states)
        raise UsageError(
            f"Comparison {id!r} has {len(out.states)} states, and an audit is of one.",
            remedy=f"Name one of them: {named}.",
        )
    return out, out.states[0]


def _drift(out: StateComparison) -> Iterator[dict[str, Any]]:
    for measure in out.measures:
        yield {"measure": measure, **out.drift[measure].model_dump(), "meaning": table.MEANING}


def _sides(out: StateComparison) -> tuple[tuple[str, StateOut], ...]:
    return ("before", out.before), ("after", out.after)


def _header(out: ComparisonOut, state: StateComparison) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "program": {"thinkeval": __version__},
        "comparison": out.id,
        "compared_at": out.created_at,
        "graph": out.graph,
        "graph_digest": state.provenance.get("graph_digest"),
        "n_facts": out.n_facts,
        "measures": list(state.measures),
        "measure": state.measure,
        "same_weights": state.same,
        "notes": list(state.notes),
        "submitted": out.request,
    }


def _state(db: Database, side: str, state: StateOut) -> dict[str, Any]:
    """A state with the records of the edits that it names."""
    edits = []
    for each in state.about.get("edits", ()):
        try:
            score = record.get_score(db, each["edit"])
        except (NotFoundError, NothingStoredError):
            edits.append({**each, "stored": False})
            continue
        names = ("hparams", "hparams_digest", "seed", "strength", "forget", "model", "created_at")
        about = {name: score.provenance.get(name) for name in names}
        fact = {
            "subject": score.subject, "relation": score.relation,
            "target_true": score.target_true, "target_new": score.target_new,
        }  # fmt: skip
        edits.append({**each, "stored": True, **fact, **about})
    return {"side": side, **state.model_dump(), "edits": edits}


def _request(db: Database, request: Request) -> dict[str, Any]:
    """A request with its question, how it was sent, and parameters that repeat its queries."""
    asked, score = request.asked, request.score
    provenance = score.provenance
    name = "chains/scored"
    return {
        "number": request.number,
        "edit": asked.edit,
        "kind": asked.kind,
        "rewrite": asked.rewrite,
        "subject": asked.subject,
        "relation": asked.relation,
        "target_true": asked.target_true,
        "target_new": asked.target_new,
        "prompt": asked.prompt,
        "question": asked.prompt.replace("{}", asked.subject),
        "options": score.options.model_dump(),
        "probe": provenance.get("probe"),
        "probe_digest": provenance.get("probe_digest"),
        "seed": provenance.get("seed"),
        "n_facts_in_scope": score.n_facts,
        "routes": {m: found.model_dump() for m, found in asked.routes.items()},
        "parameters": {m: metrics.query_params(db, score, m, name) for m in asked.routes},
    }


def _edited(db: Database, edit: str) -> tuple[rows.FactRow, ...]:
    """The edited fact in its forms, asked with the prompts of its request."""
    found = db.read(rows.FactRow, "graph/facts", graph=edit)
    return tuple(row for row in found if row.role in ("target_true", "target_new"))


def _facts(
    db: Database, out: StateComparison, requests: Iterable[Request]
) -> Iterator[dict[str, Any]]:
    """All facts of the graph with both probabilities, then the edited ones of each request."""
    for row in db.read(rows.FactRow, "graph/facts", graph=out.id):
        yield _fact(row, None, out.measures)
    for request in requests:
        for row in request.edited:
            yield _fact(row, request.edit, out.measures)


def _fact(row: rows.FactRow, request: str | None, measures: Iterable[Measure]) -> dict[str, Any]:
    """A fact; `request` names the edit where it was asked with the request's own prompts."""
    data: dict[str, Any] = {
        "request": request,
        "fact": row.fact,
        "role": row.role,
        "subject": row.subject,
        "relation": row.relation,
        "object": row.object,
        "prompt": row.prompt,
        "question": row.question,
        "p": {m: _both(row, m) for m in measures},
        "n_samples": row.n_samples,
        "answers": {"before": _listed(row.answers_pre), "after": _listed(row.answers_post)},
    }
    for group in ("paraphrases", "neighborhood"):
        texts = getattr(row, group)
        taken = [m for m in measures if getattr(row, f"{group}_{m}_pre") is not None]
        if texts and taken:
            values = {m: _both(row, f"{group}_{m}") for m in taken}
            data[group] = {"texts": list(texts), "p": values}
    return data


def _both(row: rows.FactRow, name: str) -> dict[str, Any]:
    pre, post = getattr(row, f"{name}_pre"), getattr(row, f"{name}_post")
    return {"before": _listed(pre), "after": _listed(post)}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _metrics(request: Request) -> dict[str, Any]:
    score: Score = request.score
    shown = displays()
    used = dict.fromkeys(value.metric for value in score.values)
    data = {
        "request": request.edit,
        "n_facts": score.n_facts,
        "values": [value.model_dump() for value in score.values],
        "meanings": {name: shown[name].meaning for name in used if name in shown},
    }
    return data | ({"leak": LEAK} if request.asked.kind == "forget" else {})


def _queries(out: StateComparison) -> Iterator[dict[str, Any]]:
    """Every query with its text as it is now; `same` is True if the comparison used this text."""
    recorded: Mapping[str, str] = out.provenance.get("queries", {})
    for name in sorted({*recorded, *USED}):
        now = cypher.query(name) if name in cypher.names() else None
        text = now.text if now else None
        yield {
            "name": name,
            "used_by": ["comparison"] * (name in recorded) + ["audit"] * (name in USED),
            "digest_of_comparison": recorded.get(name),
            "digest": now.digest if now else None,
            "sha256": hashlib.sha256(text.encode()).hexdigest() if text else None,
            "same": None if name not in recorded or now is None else recorded[name] == now.digest,
            "text": text,
        }


def _versions(out: StateComparison) -> dict[str, Any]:
    return {
        "comparison": out.provenance.get("versions", {}),
        "audit": {"thinkeval": __version__, "python": platform.python_version()},
    }
