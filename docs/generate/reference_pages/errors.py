"""docs/reference/errors.md: every error with status and remedy, and the exit codes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import thinkeval.service
from reference_pages.markdown import anchor, blocks, cell, code, fence, table
from thinkeval.service.base.errors import KNOWN_ERRORS, ServiceError, status_of
from thinkeval.service.cli.codes import CODES, OWN_CODES

HTTP = (
    ("The request is invalid", 422, "A field or parameter is unknown, missing or out of range.",
     "Correct the places named in `errors`."),
    ("No such route", 404, "The path is not that of an operation.",
     "See `/docs` or `/openapi.json`."),
    ("The request was refused", 405, "The route does not take this method.",
     "See `/docs` or `/openapi.json`."),
    ("The request was refused", 413, "The body is larger than THINKEVAL_BODY_LIMIT_MB.",
     "Send less, or ask the operator to raise the limit."),
    ("Internal error", 500, "A defect of ThinkEval; the service's log has the details.",
     "Report it together with the request; no stored data was changed by it."),
)  # fmt: skip
"""Problems that the service makes without an exception of this project."""

EXAMPLE = """{
  "type": "urn:thinkeval:problem:not-found",
  "code": "not-found",
  "title": "Not found",
  "status": 404,
  "detail": "There is no edit 'rome-harry'. Did you mean 'rome-harry-1'?",
  "remedy": "`thinkeval results edits` lists them.",
  "instance": "/v1/edits/rome-harry"
}"""

CLIENT = ("ProblemError",)
"""Errors of the client: they carry the status and the remedy of the answer."""

HOMES = {
    "ServiceError": "Service",
    "LoaderError": "Data files",
    "GraphError": "Database",
    "EditingError": "Models and editing",
}
"""Sections: the base class of each, and its title."""


def classes(base: type[Exception]) -> list[type[Exception]]:
    """A base class and all classes derived from it in the project, by name."""
    _import_all()
    found = {base}
    waiting = [base]
    while waiting:
        for each in waiting.pop().__subclasses__():
            if each not in found and each.__module__.startswith("thinkeval."):
                found.add(each)
                waiting.append(each)
    return sorted(found, key=lambda each: (each is not base, each.__name__))


def _import_all() -> None:
    """Import every module that defines an error of its own."""
    root = Path(thinkeval.service.__file__).parents[1]
    for room in ("service", "cypher", "editing", "loaders"):
        for path in sorted((root / room).rglob("*.py")):
            defines = "Error):" in path.read_text(encoding="utf-8")
            if defines and "public" not in path.parts:
                parts = path.relative_to(root).with_suffix("").parts
                importlib.import_module(".".join(("thinkeval", *parts)).removesuffix(".__init__"))


def page() -> str:
    """The Markdown: exit codes, the shape of a problem, and the errors by origin."""
    return blocks(
        "# Errors",
        "Every error of ThinkEval with its HTTP status, its cause and its remedy, and the exit"
        " codes of the command line.",
        "An error is the same text on every surface: what happened and where (`detail`), then what"
        " to do next (`remedy`). The command line prints both in one line, `error: DETAIL →"
        " REMEDY`, and ends with code 2. The service answers with a problem"
        " (`application/problem+json`, RFC 9457), and a browser gets the same text as a page. The"
        " Python client raises [`ProblemError`](python.md#problemerror) with both.",
        "## Exit codes",
        table(("Code", "Meaning"), ((code(value), cell(text)) for value, text in CODES.items())),
        table(
            ("Command", "Code", "Meaning"),
            (
                (f"[`{name}`](cli.md#{anchor(name)})", code(value), cell(text))
                for name, own in OWN_CODES.items()
                for value, text in own.items()
            ),
        ),
        "## Problem",
        fence(EXAMPLE, "json"),
        "`code` tells problems apart, and `type` ends with it; [REST](../how-to/serve-and-rest.md"
        "#errors) lists the codes."
        " `errors` is there for an invalid request, one entry a place. `Retry-After` comes with"
        " 429 (the queue is full) and 503 (the database is not available yet).",
        "## Requests",
        table(
            ("Title", "Status", "Cause", "Remedy"),
            ((cell(a), code(b), cell(c), d) for a, b, c, d in HTTP),
        ),
        *_sections(),
    )


def _sections() -> Iterator[str]:
    bases = {each.__name__: each for each in KNOWN_ERRORS}
    for name, title in HOMES.items():
        rows = [_row(each) for each in classes(bases[name])]
        yield blocks(f"## {title}", _lead(bases[name]))
        yield table(("Title", "Status", "Remedy", "Class"), rows)


def _lead(base: type[Exception]) -> str:
    room = base.__module__.split(".")[1]
    return f"Errors of `{room}/`; `except {base.__module__}.{base.__name__}` catches all of them."


def _row(kind: type[Exception]) -> tuple[str, str, str, str]:
    title = (kind.__doc__ or "").strip().splitlines()[0].rstrip(".")
    remedy = getattr(kind, "remedy", "")
    if remedy == ServiceError.remedy:
        remedy = "Named with each error."
    status = code(status_of(kind)) if kind.__name__ not in CLIENT else ""
    return cell(title), status, cell(str(remedy)), code(kind.__name__)
