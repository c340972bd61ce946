"""Recording of a service's answers as the examples of the API reference.

An answer is kept per operation, status and media type. Lists and long texts are shortened, and
what a run has of its own (names of the test's graphs, folders, addresses) is replaced.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any

import httpx

ITEMS, LETTERS = 2, 600
"""Items of a list and letters of a text that an example shows."""
WRITE = "THINKEVAL_WRITE_EXAMPLES"
NUMBER = re.compile(r"-?\d+\.\d{4,}")

Examples = dict[str, dict[str, dict[str, Any]]]


@dataclass
class Recorder:
    """Sends requests by operation id and keeps the answers.

    Attributes:
        replaced: {text of this run: text in an example}, longest first.
    """

    http: httpx.Client
    document: dict[str, Any]
    replaced: dict[str, str]
    kept: Examples = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.operations = {
            part["operationId"]: (method, path)
            for path, methods in self.document["paths"].items()
            for method, part in methods.items()
        }

    def __call__(self, operation: str, /, body: Any = None, **more: Any) -> Any:
        """The answer's JSON or text; `query` and `files` as httpx takes them, else path parts."""
        method, path = self.operations[operation]
        query, files, form = (more.pop(name, None) for name in ("query", "files", "form"))
        answer = self.http.request(
            method, path.format(**more), json=body, params=query, files=files, data=form
        )
        assert answer.is_success, (operation, answer.status_code, answer.text)
        media = answer.headers.get("content-type", "").partition(";")[0]
        if media == "application/json":
            content: Any = answer.json()
        elif media.startswith("text/") or media == "application/jsonl":
            content = answer.text
        else:
            return answer.content
        shown = self.shortened(content)
        statuses = self.kept.setdefault(operation, {})
        statuses.setdefault(str(answer.status_code), {}).setdefault(media, shown)
        return content

    def shortened(self, content: Any) -> Any:
        """The answer as an example: without what is this run's own, lists and texts cut."""
        text = json.dumps(content, ensure_ascii=False)
        for own, other in sorted(self.replaced.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(own, other)
        return _cut(json.loads(text))


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(part) for name, part in value.items()}
    if isinstance(value, list):
        kept = value if len(value) == 3 else value[:ITEMS]  # 3: a triplet, which is one thing
        return [_cut(part) for part in kept]
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, str) and len(value) > LETTERS:
        return value[:LETTERS].rsplit("\n", 1)[0] + "\n…"
    return value


def writing() -> bool:
    """Whether the examples are to be written anew."""
    return bool(os.environ.get(WRITE))
