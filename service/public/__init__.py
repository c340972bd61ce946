"""ThinkEval: how deep does a change of a language model go?

The public names of the package. `import thinkeval` is light: each name is loaded at its first use,
so that neither torch nor the database driver is imported for nothing.

    import thinkeval as te

    with te.open() as t: ...                            # this machine: models and database
    with te.open("http://localhost:8000") as t: ...     # a running `thinkeval serve`, same verbs
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thinkeval.service import __version__

if TYPE_CHECKING:
    from thinkeval.cypher import query
    from thinkeval.service.base.settings import Settings
    from thinkeval.service.client.http import ProblemError
    from thinkeval.service.client.rest import Client
    from thinkeval.service.client.session import Session, open
    from thinkeval.service.leakcut.coedit import co_edit
    from thinkeval.service.leakcut.request import leak_cut
    from thinkeval.service.models.edit import EditIn, Score
    from thinkeval.service.models.leakcut import CoEditIn
    from thinkeval.service.reports.exporters import export
    from thinkeval.service.scoring.runtime import Runtime
    from thinkeval.service.scoring.score import score_edit

_HOMES = {
    "Client": "thinkeval.service.client.rest",
    "CoEditIn": "thinkeval.service.models.leakcut",
    "EditIn": "thinkeval.service.models.edit",
    "ProblemError": "thinkeval.service.client.rest",
    "Runtime": "thinkeval.service.scoring.runtime",
    "Score": "thinkeval.service.models.edit",
    "Settings": "thinkeval.service.base.settings",
    "Session": "thinkeval.service.client.session",
    "co_edit": "thinkeval.service.leakcut.coedit",
    "export": "thinkeval.service.reports.exporters",
    "leak_cut": "thinkeval.service.leakcut.request",
    "open": "thinkeval.service.client.session",
    "query": "thinkeval.cypher",
    "score_edit": "thinkeval.service.scoring.score",
}

__all__ = [
    "Client",
    "CoEditIn",
    "EditIn",
    "ProblemError",
    "Runtime",
    "Score",
    "Session",
    "Settings",
    "__version__",
    "co_edit",
    "export",
    "leak_cut",
    "open",
    "query",
    "score_edit",
]


def __getattr__(name: str) -> Any:
    """The public object of that name, imported now.

    Raises:
        AttributeError: the name is not public.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'thinkeval' has no public name {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, for completion in a notebook."""
    return sorted(__all__)
