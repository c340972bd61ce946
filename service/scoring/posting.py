"""The request that scores a stored edit again: for commands, for REST, and to co-edit it."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from ..graphs.datasets import OWN
from ..request_options import option_of
from ..schemas import EditOptions, Score
from .runtime import as_option


def posted(score: Score) -> dict[str, Any]:
    """Return the request body that scores this edit again; default options are left out."""
    rewrite: Any = score.rewrite
    if score.rewrite.startswith(OWN):
        rewrite = {
            "subject": score.subject,
            "prompt": score.prompt,
            "relation": score.relation,
            "target_true": score.target_true,
        }
        if score.target_new:
            rewrite["target_new"] = score.target_new
    wanted = {
        "graph": score.dataset,
        "rewrite": rewrite,
        "model": as_option(score.model),
        "method": score.method,
    }
    return wanted | {
        name: value
        for name, field in EditOptions.model_fields.items()
        if (value := _recorded(score, name, field)) is not None
        and value != field.get_default(call_default_factory=True)
    }


def _recorded(score: Score, name: str, field: FieldInfo) -> Any:
    """The value that an edit was scored with; None where its record does not have it."""
    path = option_of(field).recorded
    if path is None:
        return None
    probe = score.provenance.get("probe", {})
    if name == "samples" and "p" not in probe.get("measures", ()):
        return 0
    value: Any = score.provenance | {"options": score.options.model_dump()}
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return bool(value) if field.annotation is bool else value
