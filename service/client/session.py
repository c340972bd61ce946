"""`thinkeval.open()`: this machine's models and database, by the verbs of the client."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from ..base.errors import KNOWN_ERRORS, UsageError, describe
from ..base.settings import Settings
from ..models.edit import EditIn, Score
from ..models.notebook import drawn_by
from ..scoring.runtime import Runtime
from ..states.opened import InMemory
from ..states.schemas import ComparisonIn, ComparisonOut
from ..states.spec import StateIn, parse
from .http import ProblemError, Progress
from .options import several, takes, written
from .rest import Client

if TYPE_CHECKING:
    from ..states.opened import LoadedState
    from .options import Rewrite


#     import thinkeval as te
#
#     with te.open() as t:
#         score = t.score("gpt2-xl", graph="knowgic", rewrite="Ward Kimball", method="rome")
#         t.chains(score.edit, surviving=True)
#         t.compare((model, tokenizer), (edited, tokenizer), graph="knowgic")
#
#     with te.open("http://gpu-machine:8000") as t: ...     # the same lines, at a service
#
# Reads are by the service itself, in this process; results that need a model are computed here,
# in place of a queue and a worker. A model in memory is left as it was, bit-identically.

Model = tuple[Any, Any] | tuple[Any, Any, str]
"""A transformers model with its tokenizer, and its name in tables if it is given one."""


def open(address: str | None = None, token: str | None = None, **options: Any) -> Client:
    """A session on this machine, or the client of a service; both have the same verbs.

    Args:
        address: of a `thinkeval serve`; None: this machine.
        token: of that service.
        options: of `Session`, or of `Client`.
    """
    return Session(**options) if address is None else Client(address, token, **options)


class Session(Client):
    """This machine: edits are scored and states compared in this process, when they are asked for.

    Args:
        settings: default: those of the environment.
        progress: called with done, total and stage of long work, as `Runtime` takes it.

    Raises:
        ProblemError: (every method) as at a service, with a remedy.
    """

    def __init__(
        self, settings: Settings | None = None, *, progress: Any = None, quiet: bool = False
    ) -> None:
        from ..cli.output import ProgressBars
        from ..web.app import create_app

        settings = settings or Settings()
        with ExitStack() as stack, _problems():
            self._bars = ProgressBars()
            if progress is None and not quiet:
                progress = stack.enter_context(self._bars)
            shown = {} if progress is None else {"progress": progress}
            self._runtime = stack.enter_context(Runtime(settings, **shown))
            _ = self._runtime.db
            transport = stack.enter_context(
                in_process(create_app(settings, workers=0, guarded=False))
            )
            super().__init__(ADDRESS, "", transport=transport)
            self._bars.end()
            self._stack = stack.pop_all()
        # A session that is still open when Python ends is closed before Python's threads stop.
        atexit.register(self.close)

    def close(self) -> None:
        """Release the models and the database; the server stays for the next command."""
        atexit.unregister(self.close)
        super().close()
        self._stack.close()

    @takes(EditIn)
    def score(  # type: ignore[override]
        self,
        named: str | Model | Rewrite | None = None,
        /,
        *,
        rewrite: Rewrite | None = None,
        model: str | Model | None = None,
        wait: bool = True,
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Score:
        """Score an edit; a stored score is returned at once.

        Args:
            named: the model, where `rewrite=` is given; else the rewrite.
            rewrite: id, prefix of an id, or subject of a stored rewrite; or one in full.
            model: name, folder, or (model, tokenizer) in memory; default: the graph's organism.
            wait: always: nothing else scores here.
            progress, timeout: of a service; a session shows its own progress.
            options: graph, method, samples, seed, overrides ... as for a service.

        Raises:
            ProblemError: refused, or the edit failed; with reason and remedy.
        """
        from ..experiments.submit import rewrite_of
        from ..reports.verdict import with_verdict
        from ..scoring.request import ScoreRequest
        from ..scoring.score import score_edit

        if rewrite is None:
            rewrite = cast("Rewrite | None", named)
        elif named is not None:
            model = cast("str | Model", named)
        body = written(rewrite)
        with self._working(), ExitStack() as stack:
            if isinstance(model, tuple):
                model = stack.enter_context(self._lent(model))
            chosen = {"model": model} if model is not None else {}
            posted = EditIn.model_validate({"rewrite": body, **chosen, **options})
            self._runtime.content_of(self._dataset(posted.graph))
            request = ScoreRequest.of(rewrite_of(self._runtime.db, posted), posted)
            score = with_verdict(self._runtime.db, score_edit(self._runtime, request))
        drawn_by(score, self.plot)
        return score

    @takes(ComparisonIn)
    def compare(  # type: ignore[override]
        self,
        base: str | StateIn | Model,
        *states: str | StateIn | Model | list[Any],
        graph: str = "hogwarts",
        rewrites: Sequence[str] = (),
        forget: Sequence[str] = (),
        progress: Progress | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> ComparisonOut:
        """Compare states of a model with a base; the same states and requests are found again.

        Args:
            base, states: in words, such as `organism+edit:EDIT`; or (model, tokenizer), or (model,
                tokenizer, name). A word `+CHANGE` is the state before with this put on. A list of
                states is the same.
            rewrites: ids or subjects of rewrite requests that are scored between the states.
            forget: facts that shall be forgotten, each `SUBJECT|RELATION|OBJECT`.
            progress, timeout: of a service; a session shows its own progress.
            options: samples, all_rewrites, max_steps ... as for a service.

        Raises:
            ProblemError: refused, or it failed; with reason and remedy.
        """
        from ..states.compare import compare

        with self._working():
            read = [_state(state) for state in (base, *several(states))]
            posted = ComparisonIn.model_validate({
                "base": read[0][0], "states": [state for state, _ in read[1:]], "graph": graph,
                "rewrites": several(rewrites), "forget": several(forget), **options,
            })  # fmt: skip
            found = compare(self._runtime, posted, memory=[model for _, model in read])
        drawn_by(found, self.plot)
        return found

    def load(self, state: str | StateIn, *, graph: str = "hogwarts") -> tuple[Any, Any]:
        """A copy of a state's model, to be changed by the caller, and its tokenizer.

        Args:
            state: in words, such as `gpt2-xl` or `organism+edit:EDIT`.
            graph: the graph that an organism is trained on.

        Raises:
            ProblemError: there is no such state, or it is behind an endpoint.
        """
        from ..states.opened import load_state

        with self._working():
            wanted = parse(state) if isinstance(state, str) else state
            if wanted.endpoint is not None:
                raise UsageError(
                    f"{wanted.spec} is behind an endpoint: its weights are not here.",
                    remedy="Name a model or a folder.",
                )
            with load_state(self._runtime, wanted, self._dataset(graph)) as found:
                loaded = cast("LoadedState", found).loaded
                return deepcopy(loaded.model), loaded.tokenizer

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Errors as those of a service; at the end the terminal is the caller's again."""
        try:
            with _problems():
                yield
        finally:
            self._bars.end()

    def _dataset(self, graph: str) -> Any:
        from ..graphs import datasets

        return datasets.get_or_import(self._runtime.db, graph)

    @contextmanager
    def _lent(self, model: Model) -> Iterator[str]:
        """The name by which a model in memory is scored for the duration of a `with` block."""
        from ...editing.deltas import preserved
        from ...editing.states.memory import borrowed

        name = _name(model)
        with (
            borrowed(model[0], model[1], name) as loaded,
            preserved(loaded.model),
            self._runtime.with_model(name, loaded),
        ):
            yield name


def _name(model: Model) -> str:
    """The name of a model in memory: as given, else the last part of where it was loaded from."""
    path = str(getattr(model[0].config, "_name_or_path", "") or "model")
    name = model[2] if len(model) > 2 else path.rstrip("/").rsplit("/", 1)[-1]
    return f"{name} in memory"


def _state(state: str | StateIn | Model) -> tuple[str | StateIn, InMemory | None]:
    """A state as a request has it, with the model in memory, if it is one."""
    if isinstance(state, tuple):
        name = _name(state)
        return StateIn(model=name), InMemory(state[0], state[1], name)
    return state, None


@contextmanager
def _problems() -> Iterator[None]:
    """Errors of this process as those of a service: with detail, remedy and status."""
    from pydantic import ValidationError

    try:
        yield
    except ProblemError:
        raise
    except ValidationError as error:
        first: Mapping[str, Any] = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ProblemError(f"{where}: {first['msg']}", "Correct the value.", 422) from error
    except KNOWN_ERRORS as error:
        problem = describe(error)
        raise ProblemError(problem.detail, problem.remedy, problem.status, problem.code) from error


# A service in this process as the transport of a client: no socket, no second program.

ADDRESS = "http://localhost"
"""Address of the requests; nothing is connected to."""


class InProcess(httpx.BaseTransport):
    """Sends requests to an ASGI application, and returns whole responses."""

    def __init__(self, app: Any, portal: BlockingPortal) -> None:
        self._asgi = httpx.ASGITransport(app=app)
        self._portal = portal

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The response to a request; streams are read to their end."""
        return self._portal.call(self._answered, request)

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        found = await self._asgi.handle_async_request(request)
        content = await found.aread()
        headers = [(k, v) for k, v in found.headers.raw if k.lower() != b"content-length"]
        return httpx.Response(found.status_code, headers=headers, content=content)


@contextmanager
def in_process(app: Any) -> Iterator[InProcess]:
    """The transport to an application, which is started, and stopped on exit.

    In place of the application's lifespan: at the end of Python no thread can be started for it.
    """
    state = app.state.thinkeval
    with start_blocking_portal() as portal, closing(state.connection), closing(state.dispatcher):
        state.connection.start()
        state.dispatcher.start()
        yield InProcess(app, portal)
