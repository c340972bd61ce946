"""Additions to the OpenAPI document that FastAPI writes: errors, security, tags, example responses.

`tests/acceptance/service/api/test_openapi.py` compares the running service with the document.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from thinkeval.service.api.problems import ProblemOut
from thinkeval.service.api.reference import descriptions
from thinkeval.service.api.security import COOKIE, is_open
from thinkeval.service.leakcut.schemas import CutIn

EDIT = "rome-harry-potter-0b3e9f61a2"
LINKS = {"self": f"/v1/edits/{EDIT}", "page": f"/edits/{EDIT}"} | {
    name: f"/v1/edits/{EDIT}/{name}" for name in ("score", "chains", "leakage", "graph", "events")
}
HOGWARTS = "Hogwarts School of Witchcraft and Wizardry"
FACT = {
    "id": f"{EDIT}|Ron Weasley|studied at|{HOGWARTS}",
    "subject": "Ron Weasley",
    "relation": "studied at",
    "object": HOGWARTS,
    "prompt": "{} studied at",
}
REWRITE = {
    "graph": "hogwarts",
    "id": "harry-potter--studied-at--ilvermorny",
    "subject": "Harry Potter",
    "relation": "studied at",
    "prompt": "{} studied at",
    "target_true": HOGWARTS,
    "target_new": "Ilvermorny School of Witchcraft and Wizardry",
    "question": "Where did Harry Potter study?",
    "paraphrases": [],
    "chains": {"1": 1, "2": 4, "3": 11, "4": 23, "5": 40},
}
QUEUED = {
    "id": EDIT,
    "posted_as": [EDIT],
    "graph": "hogwarts",
    "rewrite": REWRITE["id"],
    **{k: REWRITE[k] for k in ("subject", "relation", "prompt", "target_true", "target_new")},
    "model": "organism-gpt2-seed0",
    "method": "rome",
    "status": "queued",
    "progress": 0.0,
    "stage": "waiting",
    "error": None,
    "remedy": None,
    "attempts": 0,
    "created_at": "2026-05-04T09:30:00.125Z",
    "finished_at": None,
    "score": None,
    "links": LINKS,
}
SCORE = {
    "edit": EDIT,
    "dataset": "hogwarts",
    **{k: QUEUED[k] for k in ("rewrite", "subject", "relation", "prompt")},
    **{k: QUEUED[k] for k in ("target_true", "target_new", "model", "method")},
    "values": [
        {"metric": "efficacy", "measure": "likelihood", "value": 0.98, "n": 1},
        {"metric": "ifr", "measure": "likelihood", "value": 0.41, "n": 79},
        {"metric": "ifr_by_steps", "measure": "likelihood", "step": 2, "value": 0.38, "n": 4},
        {"metric": "ifr", "measure": "p", "value": 0.45, "n": 79, "low": 0.3, "high": 0.61},
    ],
    "n_facts": 62,
}
SCORED = QUEUED | {
    "status": "succeeded",
    "progress": 1.0,
    "stage": "done",
    "attempts": 1,
    "finished_at": "2026-05-04T09:30:04.512Z",
    "score": SCORE,
}
LINK = FACT | {"question": "Where did Ron Weasley study?", "pre": 0.97, "post": 0.88}
CHAIN = {
    "steps": 2,
    "entities": ["Harry Potter", "Ron Weasley", HOGWARTS],
    "r_pre": 0.92,
    "r_post": 0.8,
    "ratio": 0.87,
    "surviving": True,
    "links": [
        {
            "id": f"{EDIT}|Harry Potter|was friends with|Ron Weasley",
            "subject": "Harry Potter",
            "relation": "was friends with",
            "object": "Ron Weasley",
            "prompt": "{} was friends with",
            "question": None,
            "pre": 0.95,
            "post": 0.91,
            "ratio": 0.958,
        },
        LINK | {"ratio": 0.907},
    ],
}
SWEEP = {
    "id": "sweep-5d1c0a7f3e",
    "request": {"graph": "hogwarts", "methods": ["none", "rome"]},
    "created_at": "2026-05-04T09:30:00.125Z",
    "counts": {"queued": 1, "running": 0, "succeeded": 1, "failed": 0, "cancelled": 0},
    "edits": [EDIT, "none-harry-potter-77c1d4e2b9"],
    "measure": "likelihood",
    "caption": None,
    "table": [{"Model": "organism-gpt2-seed0", "Method": "rome", "IFR": 0.41, "chains": 79}],
    "failed": [],
}

CUT_FACT = FACT | {
    "id": "05cbcdbf5c49ea28",
    "pre": 0.97,
    "post": 0.88,
    "closes": 21,
    "alone": 21,
    "share": 0.37,
    "collateral": 0.95,
    "n_collateral": 1,
    "cost": 1.053,
}
CUT = {
    "edit": EDIT,
    "graph": "hogwarts",
    **{k: QUEUED[k] for k in ("rewrite", "subject", "relation", "target_true", "target_new")},
    **{k: QUEUED[k] for k in ("model", "method")},
    "measure": "likelihood",
    "options": CutIn().model_dump(mode="json"),
    "paths": 79,
    "leaking": 21,
    "ifr": 0.41,
    "expected": 0.02,
    "facts": [CUT_FACT],
    "cost": 1.053,
    "bound": 1.053,
    "optimal": True,
    "seconds": 0.03,
    "keys": "subject",
    "open": [],
    "alternatives": [],
    "more": False,
    "names": {CUT_FACT["id"]: ["Ron Weasley", "studied at", HOGWARTS]},
    "rules": None,
    "budget": None,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "import_graph": {
        "201": {
            "graph": "hogwarts",
            "status": "imported",
            "n_facts": 108,
            "n_entities": 46,
            "read": {"facts": 108},
            "kept": {"facts": 108},
            "counts": {},
            "notes": [],
        }
    },
    "list_rewrites": {"200": {"items": [REWRITE], "next": None, "total": 1}},
    "list_rewrites_of_graph": {"200": {"items": [REWRITE]}},
    "post_edit": {"202": QUEUED, "200": SCORED},
    "list_edits": {"200": {"items": [QUEUED], "next": None, "total": 1}},
    "get_edit": {"200": SCORED},
    "cancel_edit": {"202": {"id": EDIT, "status": "cancelled"}},
    "get_score": {"200": SCORE},
    "get_chains": {
        "200": {
            "items": [CHAIN],
            "next": "1",
            "total": 79,
            "surviving": 52,
            "measure": "likelihood",
            "max_steps": 5,
        }
    },
    "get_leakage": {
        "200": {
            "items": [
                FACT | {"pre": 0.97, "post": 0.88, "chains": 21, "share": 0.4, "ifr_share": 0.37}
            ],
            "measure": "likelihood",
        }
    },
    "get_leak_cut": {"200": CUT},
    "get_rewrite_leak_cut": {
        "200": CUT
        | dict.fromkeys(("edit", "model", "method", "measure", "ifr", "expected"))
        | {"facts": [CUT_FACT | dict.fromkeys(("pre", "post", "share"))], "keys": "off"}
    },
    "post_sweep": {"202": SWEEP | {"table": []}},
    "get_sweep": {"200": SWEEP},
    "leaderboard": {
        "200": {
            "measure": "likelihood",
            "rewrites": "common",
            "caption": "Indirect fact recovery by likelihood.",
            "warnings": [],
            "left_out": {},
            "differences": [],
            "edits": 1,
            "rows": SWEEP["table"],
        }
    },
}


TAGS = {
    "graphs": "Stored graphs, import of data sets, rewrite requests.",
    "edits": "Submit an edit for scoring, follow it, cancel and delete it.",
    "appends": "Edits that append an answer, and what both models answer at their prompts.",
    "results": "Results of scored edits: score, chains, leaking facts, graph, queries, diff.",
    "rules": "If-Then rules of a data set: mining, labels, groundings, closures, implications.",
    "sweeps": "Several methods on several rewrites, and their table.",
    "coedits": "Further facts edited with a rewrite, round by round, and the frontier.",
    "depedit": "Establish and update: knowledge sets, runs of the protocol, and their tables.",
    "growth": "Graphs that a model's own answers give: runs, review, logs, crawls, export.",
    "console": "Read-only Cypher queries of the client's own.",
    "catalogue": "Methods, models, metrics, the text of every query, and the leaderboard.",
    "figures": "Figures of stored edits as PNG, SVG or PDF.",
    "service": "Health and metrics, for the operator of the service.",
}

SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The service's THINKEVAL_API_TOKEN. If none is set, the service listens on"
        " its own machine only and requires none.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Set by `POST /login` for the web UI: same-site, derived from the token.",
    },
}


SCHEMA_NAMES = {
    "Fraction": "RunShareOut",
    "LeakageRow": "LeakOut",
    "LineNote": "LineOut",
    "Link": "LinkOut",
    "Mean": "MeanOut",
    "OmegaRow": "ReturnOut",
    "Question": "QuestionOut",
    "ScoredChainRow": "ChainOut",
    "Skipped": "SkippedOut",
    "StoredAnswer": "AnswerOut",
    "StoredGraph": "StoredGraphOut",
    "StoredRun": "RunOut",
    "StoredSet": "SetOut",
}
"""Public name of the schema of a record that answers show without change."""


def public_name(name: str) -> str:
    """Name of a schema in the document; `Body_upload_graph`, a form's, is `UploadGraphBody`."""
    if name.startswith("Body_"):
        return "".join(part.capitalize() for part in name.split("_")[1:]) + "Body"
    return SCHEMA_NAMES.get(name, name)


def readable_id(route: APIRoute) -> str:
    """Operation id of a route: the function's name, which generated clients use for methods."""
    return route.name


def install(app: FastAPI) -> None:
    """Serve the extended document at `/openapi.json`; it is built at the first request."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    document = _renamed(document)
    parts = document["components"]
    parts["schemas"] = {
        public_name(name): schema | {"title": public_name(schema["title"])}
        for name, schema in parts["schemas"].items()
    }
    parts["schemas"]["ProblemOut"] = ProblemOut.model_json_schema(
        ref_template="#/components/schemas/{model}"
    )
    parts["securitySchemes"] = SECURITY
    document["security"] = [{}, *({name: []} for name in SECURITY)]
    descriptions.fill(document)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if is_open(path):
                operation["security"] = []
            _add_examples(operation)
    return document


def _renamed(node: Any) -> Any:
    """The document with the public names of schemas, in definitions, titles and references."""
    if isinstance(node, list):
        return [_renamed(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {key: _renamed(value) for key, value in node.items()}
    if "$ref" in found:
        path, _, name = found["$ref"].rpartition("/")
        found["$ref"] = f"{path}/{public_name(name)}"
    return found


def _add_examples(operation: dict[str, Any]) -> None:
    for status, example in EXAMPLES.get(operation["operationId"], {}).items():
        operation["responses"][status]["content"]["application/json"]["example"] = example
