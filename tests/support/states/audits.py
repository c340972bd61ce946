"""A made-up audit of a forgotten fact, with something in every part."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

from support.states.comparisons import comparison
from thinkeval.service.states.audit import FORMAT, LEAK
from thinkeval.service.states.audit_page import FILES, SUMS

EDIT = "compare-of-ada"
MARKUP = 'Lon<b id="x">don</b> & "co"'
"""A name that must not become markup."""


def _fact(name: str, before: float, after: float, request: str | None = None) -> dict[str, Any]:
    return {
        "request": request, "fact": name, "role": "target_true" if request else "fact",
        "subject": "Ada", "relation": "lived-in", "object": MARKUP, "prompt": "{} lived in",
        "question": None, "p": {"likelihood": {"before": before, "after": after}},
        "n_samples": None, "answers": {"before": None, "after": None},
    }  # fmt: skip


def _chain(number: int, before: float, after: float, state: str) -> dict[str, Any]:
    by = {
        "facts": ["f1", "f2"], "before": [before, 1.0], "after": [after, 1.0],
        "product_before": before, "product_after": after, "retention": after / before,
        "floor": 0.01, "state": state,
    }  # fmt: skip
    return {
        "request": EDIT, "number": number, "facts_in_chain": 2,
        "entities": ["Ada", f"Charles {number}", MARKUP], "relations": ["knew", "lived-in"],
        "state": state, "by": {"likelihood": by},
    }  # fmt: skip


def _rule_route() -> dict[str, Any]:
    def node(subject: str, before: float, after: float, **more: Any) -> dict[str, Any]:
        usual = {"implied": False, "leaves": 1, "rule": None, "text": None, "premises": []}
        return {
            "subject": subject, "relation": "lived-in", "object": MARKUP,
            "strength_pre": before, "strength_post": after, **(usual | more),
        }  # fmt: skip

    text = "If [Person A] knew [Person B], then [Person A] lived in it."
    proof = node(
        "Ada", 0.5, 0.4, implied=True, rule="r1", text=text, premises=[node("Charles", 0.9, 0.8)]
    )
    return {
        "request": EDIT, "number": 1, "measure": "likelihood", "floor": 0.01, "state": "open",
        "form": "proof", "facts": 1, "rule": "r1", "text": text, "before": 0.5, "after": 0.4,
        "proof": proof,
    }  # fmt: skip


def _verdict() -> dict[str, Any]:
    part = {"word": "took", "grade": "good", "value": 0.99, "sentence": "It is so.", "rule": "r"}
    names = ("asked directly", "left by chains", "facts around it", "facts about the subject")
    request = {
        "request": EDIT, "kind": "leaks", "direct": "Asked directly, no.",
        "leak": "A sentence on leak@k.", "chains": "1 of 2 chains.", "rules": "1 route by rules.",
        "counts": {"chains": {"open": 1, "closed": 1}, "rules": {"open": 1}},
        "parts": dict.fromkeys(names, part),
    }  # fmt: skip
    return {
        "measure": "likelihood", "headline": "It leaks: it is so.", "kind": "leaks",
        "requests": [request], "rest": "Of 10 facts 4 are kept.",
    }  # fmt: skip


def made_up() -> dict[str, Any]:
    """Return the content of an audit of one forgotten fact."""
    out = comparison(id="compare-it")
    (state,) = out.states
    text = "MATCH (n) RETURN n"
    request = {
        "number": 1, "edit": EDIT, "kind": "forget", "rewrite": "r", "subject": "Ada",
        "relation": "lived-in", "target_true": MARKUP, "target_new": "", "prompt": "{} lived in",
        "question": "Ada lived in", "options": {"max_steps": 5}, "probe": {"samples": 0},
        "probe_digest": "ab", "seed": 0, "n_facts_in_scope": 2,
        "routes": {
            "likelihood": {"chains": 2, "before": 2, "after": 1, "floor": 0.01, "known": 0.0}
        },
        "parameters": {"likelihood": {"graph": EDIT}},
    }  # fmt: skip
    value = {
        "metric": "forgetting", "measure": "likelihood", "step": None, "value": 0.99, "n": 1,
        "excluded": 0, "low": None, "high": None,
    }  # fmt: skip
    header = {
        "format": FORMAT, "created_at": "2026-11-23T09:00:00+00:00",
        "program": {"thinkeval": "0"}, "comparison": out.id, "compared_at": out.created_at,
        "graph": "g", "graph_digest": "ab", "n_facts": 10, "measures": ["likelihood"],
        "measure": "likelihood", "same_weights": False, "notes": ["A note."], "submitted": {},
    }  # fmt: skip
    query = {
        "name": "a/query", "used_by": ["audit"], "digest_of_comparison": None, "digest": "ab",
        "sha256": hashlib.sha256(text.encode()).hexdigest(), "same": None, "text": text,
    }  # fmt: skip
    drift = {"measure": "likelihood", **state.drift["likelihood"].model_dump(), "meaning": "m"}
    rules = {
        "request": EDIT, "measure": "likelihood", "rules": [{"id": "r1"}], "rules_digest": "ab",
        "problem": None, "routes": 1, "listed": 1, "omega": [],
    }  # fmt: skip
    metrics = {
        "request": EDIT, "n_facts": 2, "values": [value], "meanings": {"forgetting": "gone"},
        "leak": LEAK,
    }  # fmt: skip
    return {
        "header": header,
        "states": [
            {"side": "before", **state.before.model_dump(), "edits": []},
            {"side": "after", **state.after.model_dump(), "edits": []},
        ],
        "requests": [request],
        "facts": [_fact("f1", 0.9, 0.02), _fact("f2", 0.9, 0.9), _fact("f1", 0.9, 0.001, EDIT)],
        "chains": [_chain(1, 0.8, 0.7, "open"), _chain(2, 0.8, 0.001, "closed")],
        "rules": [rules],
        "rule_routes": [_rule_route()],
        "metrics": [metrics],
        "drift": [drift],
        "verdict": _verdict(),
        "queries": [query],
        "versions": {"comparison": {"torch": "2"}, "audit": {"thinkeval": "0"}},
    }


def is_whole(folder: Path) -> bool:
    """Return True if the folder has the files of an audit, and `sha256sum -c` accepts them."""
    names = {path.name for path in folder.iterdir()}
    words = ["sha256sum", "-c", "--strict", SUMS]
    return names == FILES and subprocess.run(words, cwd=folder, capture_output=True).returncode == 0
