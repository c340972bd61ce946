"""Requests to forget: the object's replacement for each method, and the facts to retain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...loaders.records import SUBJECT_SLOT, RewriteRequest, digest, unique
from ..base.errors import UsageError
from ..graphs import datasets
from ..models.edit import EditOptions

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .resolved import Resolved


# Requests to forget as each method gets them, and the kinds of requests each method takes.
#
# A request to forget has no target_new. A method that forgets (`FORGETS`) takes it as it is. One
# that writes an object (ROME, MEMIT, fine-tuning ...) is given a refusal in its place; the score
# says if the old object can still be had, not if the refusal is given.


def with_refusal_target(rewrite: RewriteRequest, options: EditOptions) -> RewriteRequest:
    """The request as the method of these options takes it."""
    return replace(rewrite, target_new=options.refusal) if refuses(rewrite, options) else rewrite


def refuses(rewrite: RewriteRequest, options: EditOptions) -> bool:
    """Return True if the method is given a refusal."""
    from ...editing import registry

    return rewrite.kind == "forget" and not registry.forgets(options.method)


def check(rewrite: RewriteRequest, options: EditOptions) -> None:
    """Refuse a request that the method cannot carry out, before a model is loaded.

    Raises:
        UsageError: a method that only forgets is asked to install an object.
        UnknownMethodError: no such method.
    """
    from ...editing import registry

    if rewrite.kind != "forget" and registry.forgets(options.method):
        others = ", ".join(methods_for([rewrite], registry.names()))
        raise UsageError(
            f"{options.method} makes a model forget and installs no object, so it cannot edit"
            f" {rewrite.target_new!r} into {rewrite.id!r}.",
            remedy='Name the fact that shall be forgotten with --forget "SUBJECT|RELATION|OBJECT"'
            f" (over REST: leave out target_new), or use a method that replaces: {others}.",
        )


def methods_for(rewrites: Iterable[RewriteRequest], names: Sequence[str]) -> tuple[str, ...]:
    """Of these methods, those that can carry out all of the requests.

    A request to forget can be carried out by every method, by most with a refusal.
    """
    from ...editing import registry

    only_forget = all(rewrite.kind == "forget" for rewrite in rewrites)
    return tuple(name for name in names if only_forget or not registry.forgets(name))


# Facts that a method that forgets shall retain: of the graph, of another one, or of a file.
#
# By default these are facts at distance 2 or more of the forgotten ones (`probes/retain`): those
# that share no entity with them, in the order of their ids, at most as many as the hyperparameter
# `retain_limit`. Some of them may lie on the chains that a score measures; the record counts
# them, as Preservation is then partly measured on trained facts.

Pairs = tuple[tuple[str, str], ...]

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Retained:
    """The facts to retain.

    Attributes:
        pairs: complete prompts, each with its answer.
        source: id of the graph, or name of the file.
        in_scope: number of facts that the score measures; None of a file, where it is unknown.
    """

    pairs: Pairs
    source: str
    in_scope: int | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The values on which an edit's id depends."""
        return {"digest": digest(self.pairs), "n": len(self.pairs)}

    @property
    def about(self) -> dict[str, Any]:
        """For the record."""
        return {"source": self.source, **self.identity, "in_scope": self.in_scope}


def needed(method: Any) -> bool:
    """Return True if a method retains facts (`NEEDS_RETAIN`)."""
    return bool(getattr(method, "NEEDS_RETAIN", False))


def retained(resolved: Resolved, forgotten: Sequence[RewriteRequest] = ()) -> Retained:
    """Return the facts that the method of a request shall retain.

    Args:
        forgotten: the facts that are forgotten together; by default that of the request.

    Raises:
        NotFoundError: the graph that the request names is not stored.
        UsageError: its file cannot be read.
        RequestError: there is nothing to retain.
    """
    from ...editing.errors import RequestError

    request, db = resolved.request, resolved.runtime.db
    if request.retain is not None and request.retain.endswith(SUFFIX):
        file = Path(request.retain).expanduser()
        return Retained(datasets.read_apart(read, file), file.name)
    graph = request.retain or request.graph
    if graph != request.graph:
        datasets.require_graph(db, graph)
    found = of_graph(db, graph, forgotten or [request.rewrite], resolved.hparams.retain_limit)
    if not found:
        raise RequestError(
            f"every fact of the graph '{graph}' shares an entity with a forgotten one, so there is"
            " none to retain",
            remedy="Name another graph, or a .jsonl file, with --retain.",
        )
    measured = {fact.id for fact in resolved.scope.facts}
    here = sum(row.id.rpartition("|")[2] in measured for row in found)
    pairs = tuple((row.prompt.replace(SUBJECT_SLOT, row.subject, 1), row.object) for row in found)
    return Retained(pairs, graph, here if graph == request.graph else None)


def of_graph(
    db: Database, graph: str, forgotten: Sequence[RewriteRequest], limit: int
) -> list[rows.RetainRow]:
    """The facts of a graph at distance 2 or more of the forgotten ones, by id, at most `limit`."""
    entities = unique(
        name.strip() for each in forgotten for name in (each.subject, each.target_true)
    )
    return list(
        db.read(rows.RetainRow, "probes/retain", graph=graph, entities=list(entities), limit=limit)
    )


def read(path: Path) -> Pairs:
    """The pairs of a file of JSON lines, `{"prompt": ..., "answer": ...}` each.

    Raises:
        UsageError: it cannot be read; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"The file {path.name} to retain cannot be read ({error}).") from error
    pairs = tuple(_pair(path, number, line) for number, line in enumerate(lines, 1) if line.strip())
    if not pairs:
        raise UsageError(f"The file {path.name} to retain is empty.", remedy=_FORM)
    return pairs


_FORM = 'Each line is {"prompt": "The capital of France is", "answer": "Paris"}.'


def _pair(path: Path, number: int, line: str) -> tuple[str, str]:
    try:
        record = json.loads(line)
        prompt, answer = record["prompt"], record["answer"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"Line {number} of {path.name} is no prompt with an answer.", remedy=_FORM
        ) from error
    if not all(isinstance(text, str) and text.strip() for text in (prompt, answer)):
        raise UsageError(
            f"Line {number} of {path.name} has no text for prompt or answer.", remedy=_FORM
        )
    return prompt.strip(), answer.strip()


def require_stored(retain: str | None) -> None:
    """Refuse a file over REST, where it would be one of the service's machine.

    Raises:
        UsageError: it is a file.
    """
    if retain is not None and (retain.endswith(SUFFIX) or "/" in retain or "\\" in retain):
        raise UsageError(
            f"{retain!r} names a file of the service's machine.",
            remedy="Name a stored graph in `retain`; a file can be used on the command line.",
        )
