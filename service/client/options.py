"""Methods that take the fields of a request as keyword arguments, which completion shows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from pydantic import BaseModel

from ..base.errors import close_names, did_you_mean
from ..models.edit import RewriteIn
from .http import ProblemError

Method = TypeVar("Method", bound=Callable[..., Any])
Rewrite = str | RewriteIn | Mapping[str, str]
"""A rewrite as it is named, or written out."""


def takes(request: type[BaseModel]) -> Callable[[Method], Method]:
    """Give a method the fields of a request as keyword arguments, in place of its `**options`.

    `inspect.signature` has them with their defaults, so that notebooks complete them. A name that
    neither has is refused with the closest one, before anything is sent; a field that is not given
    is not sent.
    """

    def decorate(method: Method) -> Method:
        signature = inspect.signature(method)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        fields = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty
                if field.is_required()
                else field.get_default(call_default_factory=True),
                annotation=field.annotation,
            )
            for name, field in request.model_fields.items()
            if name not in signature.parameters
        ]
        known = [p.name for p in (*own[1:], *fields)]

        @wraps(method)
        def checked(*args: Any, **options: Any) -> Any:
            _require_known(options, known, "option")
            return method(*args, **options)

        vars(checked)["__signature__"] = signature.replace(parameters=[*own, *fields])
        return checked  # type: ignore[return-value]

    return decorate


def written(rewrite: Rewrite | None) -> str | dict[str, Any]:
    """A rewrite as a request has it.

    Raises:
        ProblemError: none is named, or a key is missing or unknown.
    """
    if rewrite is None:
        raise ProblemError("No rewrite is named.", "Name one: score(rewrite=...).", 422)
    if isinstance(rewrite, str):
        return rewrite
    given = rewrite.model_dump() if isinstance(rewrite, RewriteIn) else dict(rewrite)
    _require_known(given, list(RewriteIn.model_fields), "key of `rewrite`")
    missing = [name for name in ("subject", "target_true") if not given.get(name)]
    if not (given.get("prompt") or given.get("relation")):
        missing.insert(1, "prompt (or relation)")
    if missing:
        raise ProblemError(
            f"`rewrite` needs subject, prompt (or relation), target_true, target_new; it lacks"
            f" {', '.join(missing)}.",
            "Add them; without target_new the fact is to be forgotten.",
            422,
            "invalid-request",
        )
    return given


def several(given: Iterable[Any]) -> list[Any]:
    """Return values that are named one by one, in lists, or as a single text."""
    parts = [given] if isinstance(given, str) else given
    return [one for each in parts for one in (each if isinstance(each, list) else [each])]


def _require_known(given: Mapping[str, Any], known: list[str], what: str) -> None:
    for name in given:
        if name not in known:
            close = did_you_mean(close_names(name, known, most=1))
            raise ProblemError(
                f"Unknown {what} {name!r}. {close}".rstrip(),
                f"There are {', '.join(known)}.",
                422,
                "invalid-request",
            )
