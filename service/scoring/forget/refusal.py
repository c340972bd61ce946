"""Requests to forget as each method gets them, and the kinds of requests each method takes.

A request to forget has no target_new. A method that forgets (`FORGETS`) takes it as it is. One that
writes an object (ROME, MEMIT, fine-tuning ...) is given a refusal in its place; the score says
if the old object can still be had, not if the refusal is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ....loaders.records import RewriteRequest
from ...errors import UsageError
from ...schemas import EditOptions


def with_refusal_target(rewrite: RewriteRequest, options: EditOptions) -> RewriteRequest:
    """The request as the method of these options takes it."""
    return replace(rewrite, target_new=options.refusal) if refuses(rewrite, options) else rewrite


def refuses(rewrite: RewriteRequest, options: EditOptions) -> bool:
    """Return True if the method is given a refusal."""
    from ....editing import registry

    return rewrite.kind == "forget" and not registry.forgets(options.method)


def check(rewrite: RewriteRequest, options: EditOptions) -> None:
    """Refuse a request that the method cannot carry out, before a model is loaded.

    Raises:
        UsageError: a method that only forgets is asked to install an object.
        UnknownMethodError: no such method.
    """
    from ....editing import registry

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
    from ....editing import registry

    only_forget = all(rewrite.kind == "forget" for rewrite in rewrites)
    return tuple(name for name in names if only_forget or not registry.forgets(name))
