"""An operation: a request, an answer, and a function between them, declared once.

`service.cli.operations` makes a command of it and `service.web.operations` a route; the client
calls it by its name. A kind of experiment (`service.experiments.kind`) is its counterpart for work
whose result is stored: it runs as a job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from ..reports.outline import Shown

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.database import Progress
    from ..base.settings import Settings


@dataclass(frozen=True, slots=True)
class Call:
    """The means of an operation.

    Attributes:
        submit: queues an experiment of a kind, and returns it; None on the command line, where
            long work is waited for.
    """

    db: Database
    settings: Settings
    progress: Progress
    submit: Callable[..., BaseModel] | None = None


@dataclass(frozen=True)
class Operation:
    """One command, one route, and one method of the client.

    Attributes:
        name: of the route and of the client's method, such as `list_rules`.
        command: words of the command, such as `graph rules list`; "" for none.
        route: method and path, such as `GET /v1/graphs/{graph}/rules`; "" for none.
        request: its fields are arguments and options, parts of the path, query or body.
        answer: of one item where `many`.
        run: computes the answer.
        show: the answer for a person, by answer and request.
        summary: a sentence without its full stop.
        about: further sentences, for `--help` and the reference.
        tag: group of the route in the reference.
        arguments: fields that the command takes without a flag; by default those of the path.
        many: True if `run` returns a list, which a route answers in pages.
        status: of the answer over REST; 204 without a body.
        job: the answer where `run` submitted an experiment.
    """

    name: str
    command: str
    route: str
    request: type[BaseModel]
    answer: type[BaseModel]
    run: Callable[[Call, Any], Any]
    show: Callable[[Any, Any], Iterable[Shown]]
    summary: str
    about: str = ""
    tag: str = ""
    arguments: Sequence[str] = ()
    many: bool = False
    status: int = 200
    job: type[BaseModel] | None = None

    @property
    def places(self) -> list[str]:
        """The fields of the request that the path names, in its order."""
        return [part[1:-1] for part in self.route.split("/") if part[:1] == "{"]
