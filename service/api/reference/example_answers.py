"""Example answers of the OpenAPI document, one file of JSON per subject.

They are answers of real runs, written by `tests/acceptance/service/api/test_examples.py` with
THINKEVAL_WRITE_EXAMPLES=1: {operation: {status: {media type: answer}}}. Lists and long texts are
shortened.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("examples")

Examples = dict[str, dict[str, dict[str, Any]]]


@cache
def read() -> Examples:
    """Every example, by operation, status and media type."""
    found: Examples = {}
    for path in sorted(FOLDER.glob("*.json")):
        found |= json.loads(path.read_text(encoding="utf-8"))
    return found


def fill(document: dict[str, Any]) -> None:
    """Add the examples to a document's answers; one without a place in it is left out."""
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, answers in read().get(operation["operationId"], {}).items():
                content = operation["responses"].get(status, {}).get("content", {})
                for media, answer in answers.items():
                    if media in content:
                        content[media]["example"] = answer


def write(document: dict[str, Any], examples: Examples) -> None:
    """Write the examples to the folder, each operation in the file of its first tag.

    Operations that `examples` lacks keep theirs.
    """
    files: dict[str, Examples] = {}
    examples = read() | examples
    for operations in document["paths"].values():
        for operation in operations.values():
            if operation["operationId"] in examples:
                file = files.setdefault(operation["tags"][0], {})
                file[operation["operationId"]] = examples[operation["operationId"]]
    FOLDER.mkdir(exist_ok=True)
    for name, content in files.items():
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (FOLDER / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
