"""Error answers (problem+json) as tests read them, and the routes of the OpenAPI document."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI

from thinkeval.service.base.errors import CODES
from thinkeval.service.web.problems import MEDIA_TYPE

BASE = "http://127.0.0.1:8000"
FILLED = {"kind": "leakage", "fmt": "svg"}


def paths(app: FastAPI) -> dict[str, set[str]]:
    """Every path of the document, and its methods."""
    return {
        path: {method.upper() for method in operations}
        for path, operations in app.openapi()["paths"].items()
    }


def fill(path: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: FILLED.get(found[1], "nowhere"), path)


def problem(answer: Any, status: int) -> dict[str, Any]:
    """The problem an answer is; fails where it is anything else."""
    assert answer.status_code == status, (answer.request.url, answer.status_code, answer.text)
    assert answer.headers["content-type"] == MEDIA_TYPE
    told = answer.json()
    assert set(told) >= {"type", "code", "title", "status", "detail", "remedy", "instance"}
    assert told["type"] == f"urn:thinkeval:problem:{told['code']}"
    assert told["code"] in CODES
    assert told["status"] == status
    for key in ("title", "detail", "remedy"):
        assert told[key].strip(), (answer.request.url, key)
    assert "Traceback" not in answer.text
    return told
