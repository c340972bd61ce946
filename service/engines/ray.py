"""The engine `ray`: executors are actors of a Ray cluster, on any of its nodes.

Ray starts, places, watches and ends processes. It keeps nothing that matters: jobs, leases and
results are in the database, which every node has to reach. Ray never restarts an actor or repeats a
call here (`max_restarts=0`, `max_task_retries=0`), as a job would else run twice or be blamed for
the death of another: the dispatcher starts a new executor, and claims again.

    RAY_AUTH_MODE=token   on the head, the nodes and here, or anyone who reaches a port runs code
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import threading
import time
from contextlib import chdir, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..base.errors import UsageError
from ..base.leases import Lease, State, this_process
from ..base.settings import PREFIX, Settings
from .engine import ALIVE_S, END_S, Heard, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...cypher import rows
    from .engine import Outcome
    from .executor import Make

log = logging.getLogger("thinkeval.engine")

ANSWER_S = 120.0
"""A node has so long to answer a question: it imports torch first."""
OPEN_S = 10.0
"""A cluster has so long to accept a connection."""
SLICE_S = 0.25
"""A call of `wait` looks so often whether it was woken."""


class Actor:
    """One executor as an actor; `heard`, `cancel` and `stop` are answered while a job runs."""

    def __init__(self, make: Make) -> None:
        # Signals are not handled here: with concurrency groups no method has the main thread.
        self._executor = make()
        self._executor.runtime.__enter__()  # ends with the process
        self._begun = False
        self._ended = threading.Event()

    def about(self) -> dict[str, Any]:
        """Return the properties that are listed of it; answers once it can be given a job."""
        return this_process(self._executor.settings.device)

    def run(self, row: rows.ClaimJobRow, lease: Lease) -> tuple[Outcome, Any]:
        """Run a job; returns how it ended, and its result."""
        self._begun = True
        try:
            return self._executor.run(row, lease)
        finally:
            self._begun = False

    def heard(self) -> tuple[bool, State | None]:
        """Return whether a job was begun, and its state."""
        return self._begun, self._executor.state()

    def cancel(self, lease: Lease, lost: bool) -> None:
        """Ask the job of a lease to stop."""
        self._executor.interrupt(lease, lost=lost)

    def stop(self) -> None:
        """Queue the job under way again."""
        self._executor.stop()

    def watch(self) -> None:
        """Return never: the caller hears of the actor's death."""
        self._ended.wait()


@dataclass(frozen=True, slots=True)
class Needs:
    """The part of a node that one executor takes.

    Attributes:
        gpus: 1 where the cluster has any; else it takes one processor.
        memory: in bytes; 0: not looked at.
        labels: that the node has.
    """

    gpus: int = 0
    memory: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, has_gpus: bool) -> Needs:
        """The needs that the settings name."""
        pairs = re.findall(r"([^=,]+)=([^=,]+)", settings.executor_labels)
        memory = int(settings.executor_memory_gb * 1e9)
        return cls(int(has_gpus), memory, dict(pairs))

    def __str__(self) -> str:
        found = ["a GPU" if self.gpus else "a CPU"]
        found += [f"{self.memory / 1e9:g} GB of memory"] if self.memory else []
        found += [f"the label {key}={value}" for key, value in self.labels.items()]
        return ", ".join(found)

    def room_of(self, node: Mapping[str, Any]) -> int:
        """The executors that an empty node has room for."""
        have, labels = node["Resources"], node.get("Labels") or {}
        if any(labels.get(key) != value for key, value in self.labels.items()):
            return 0
        room = have.get("GPU", 0) if self.gpus else have.get("CPU", 0)
        if self.memory:
            room = min(room, have.get("memory", 0) // self.memory)
        return int(room)


@dataclass(slots=True)
class _Child:
    actor: Any
    heard: Heard
    idle: bool = False
    asked: Any = None
    """The pending question how far its job is."""


class RayEngine:
    """Executors as actors of a cluster, from `start` to `close`.

    Args:
        make: makes an executor on a node, where its module is installed.
        executors: how many are wanted; None: as many as there is room for.
        address: of the cluster, as `ray.init` takes it: `auto`, `local`, host and port, ray://...

    Raises:
        UsageError: the extra `ray` is missing, the cluster does not answer or has no room for the
            executors, or it has nodes that cannot reach an embedded database.
    """

    def __init__(self, settings: Settings, make: Make, executors: int | None, address: str) -> None:
        self._ray = _connected(address)
        self._settings, self._make = settings, make
        self._needs = Needs.of(settings, self._ray.cluster_resources().get("GPU", 0) > 0)
        self.room = require_room(self._ray.nodes(), executors, self._needs)
        """The number of executors that can run at once, now."""
        _require_reachable(self._ray, settings)
        self._class = self._ray.remote(
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"control": 2, "watch": 1},
        )(Actor)
        self._children: dict[str, _Child] = {}
        self._pending: dict[Any, tuple[str, str]] = {}
        """Calls under way: the executor, and which call it is."""
        self._asked_at = 0.0
        self._woken = threading.Event()

    def start(self, name: str) -> None:
        """Start an actor; Ray says later where."""
        actor = self._class.options(
            num_cpus=1,
            num_gpus=self._needs.gpus,
            memory=self._needs.memory or None,
            label_selector=dict(self._needs.labels) or None,
            runtime_env={"env_vars": _variables()},
        ).remote(self._make)
        self._children[name] = _Child(actor, Heard(time.monotonic()))
        self._pending[actor.about.remote()] = (name, "about")
        self._pending[actor.watch.options(concurrency_group="watch").remote()] = (name, "watch")

    def ready(self) -> list[str]:
        """The executors that can be given a job."""
        return [name for name, child in self._children.items() if child.idle]

    def run(self, name: str, job: rows.ClaimJobRow, lease: Lease) -> None:
        """Give a ready executor a job."""
        child = self._children[name]
        child.idle = False
        child.heard = Heard(time.monotonic(), about=child.heard.about)
        self._pending[child.actor.run.remote(job, lease)] = (name, "run")

    def wait(self, timeout_s: float) -> list[Report]:
        """The jobs and executors that ended; waits until there is news, or `wake` is called."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._ask()
            left = max(0.0, deadline - time.monotonic())
            calls = list(self._pending)
            done, _ = (
                self._ray.wait(calls, num_returns=len(calls), timeout=min(SLICE_S, left))
                if calls
                else ([], [])
            )
            if not calls:
                self._woken.wait(min(SLICE_S, left))
            reports = [report for call in done if (report := self._told(call))]
            if reports or self._woken.is_set() or time.monotonic() >= deadline:
                self._woken.clear()
                return reports

    def _ask(self) -> None:
        if time.monotonic() - self._asked_at < ALIVE_S:
            return
        self._asked_at = time.monotonic()
        for name, child in self._children.items():
            if not child.idle and child.asked is None and child.heard.about:
                child.asked = child.actor.heard.options(concurrency_group="control").remote()
                self._pending[child.asked] = (name, "heard")

    def _told(self, call: Any) -> Report | None:
        name, what = self._pending.pop(call)
        child = self._children.get(name)
        if child is None:  # its death is known from another call
            with suppress(Exception):
                self._ray.get(call)
            return None
        try:
            told = self._ray.get(call)
        except self._ray.exceptions.RayActorError as error:
            return self._buried(name, error)
        except self._ray.exceptions.RayTaskError as error:
            if what == "run":
                log.error("executor %s: %s", name, error)
            return self._buried(name, error)
        child.heard.at = time.monotonic()
        if what == "about":
            child.heard.about, child.idle = told, True
        elif what == "heard":
            child.asked = None
            if not child.idle:
                child.heard.begun, child.heard.state = told
        elif what == "run":
            child.idle, child.heard.begun = True, False
            return Report(name, told[0], result=told[1])
        return None

    def _buried(self, name: str, error: Exception) -> Report:
        child = self._children.pop(name)
        # A node that is out of reach may have run the job or not: that is no crash of it.
        away = isinstance(error, self._ray.exceptions.ActorUnavailableError)
        with suppress(Exception):
            self._ray.kill(child.actor, no_restart=True)
        detail = next(iter(str(error).splitlines()), type(error).__name__)
        return Report(name, "died", detail, child.heard.begun and not away)

    def heard(self, name: str) -> Heard:
        """The last message of an executor that was started and has not died."""
        return self._children[name].heard

    def cancel(self, name: str, lease: Lease, *, lost: bool) -> None:
        """Ask an executor to stop the job of a lease."""
        actor = self._children[name].actor
        actor.cancel.options(concurrency_group="control").remote(lease, lost)

    def kill(self, name: str) -> None:
        """End an executor for sure; `wait` reports that it died."""
        log.warning("executor %s does not stop: killing it", name)
        self._ray.kill(self._children[name].actor, no_restart=True)

    def wake(self) -> None:
        """End `wait` soon; may be called from any thread."""
        self._woken.set()

    def close(self) -> None:
        """End the actors, each of which queues its job again, and nothing else of the cluster."""
        running = [call for call, (_, what) in self._pending.items() if what == "run"]
        for child in self._children.values():
            child.actor.stop.options(concurrency_group="control").remote()
        with suppress(Exception):
            if running:
                self._ray.wait(running, num_returns=len(running), timeout=END_S)
        for child in self._children.values():
            with suppress(Exception):
                self._ray.kill(child.actor, no_restart=True)
        self._children.clear()
        self._ray.shutdown()


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a cluster.

    Attributes:
        free: executors that it has room for now.
        found: what `on_each_node` returned there; None if it was not asked.
    """

    host: str
    address: str
    cpus: float
    gpus: float
    memory_gb: float
    free: int
    found: Any = None


def nodes(address: str, ask: Callable[[], Any] | None = None) -> list[Node]:
    """Return the nodes of a cluster that are alive; nothing is started but `ask`.

    Args:
        ask: a function of an installed module that is called on each node; None: none is.

    Raises:
        UsageError: as `RayEngine`.
    """
    ray = _connected(address)
    try:
        free = ray._private.state.available_resources_per_node()
        alive = [node for node in ray.nodes() if node["Alive"]]
        strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        asked = {
            node["NodeID"]: ray.remote(ask)
            .options(
                num_cpus=0,
                max_retries=0,
                scheduling_strategy=strategy(node["NodeID"], soft=False),
                runtime_env={"env_vars": _variables()},
            )
            .remote()
            for node in alive
            if ask is not None
        }
        return [_node(ray, node, free, asked.get(node["NodeID"])) for node in alive]
    finally:
        ray.shutdown()


def _node(ray: Any, node: dict[str, Any], free: dict[str, dict[str, float]], asked: Any) -> Node:
    have = node["Resources"]
    unit = "GPU" if have.get("GPU", 0) else "CPU"
    found = None
    if asked is not None:
        try:
            found = ray.get(asked, timeout=ANSWER_S)
        except ray.exceptions.RayError as error:
            found = next(iter(str(error).splitlines()), type(error).__name__)
    return Node(
        host=node["NodeManagerHostname"],
        address=node["NodeManagerAddress"],
        cpus=have.get("CPU", 0),
        gpus=have.get("GPU", 0),
        memory_gb=have.get("memory", 0) / 1e9,
        free=int(free.get(node["NodeID"], {}).get(unit, 0)),
        found=found,
    )


def _variables() -> dict[str, str]:
    """The settings of this process, which hold for what it starts."""
    return {key: value for key, value in os.environ.items() if key.startswith(PREFIX)}


def has_token() -> bool:
    """Return whether Ray asks for a token here: without one, who reaches a port runs code."""
    return os.environ.get("RAY_AUTH_MODE", "").lower() == "token"


def _connected(address: str) -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "The engine ray needs the package ray.", remedy="Run `pip install 'thinkeval[ray]'`."
        ) from error
    _require_open(ray, address)
    try:
        # Always an address: without one Ray takes whatever cluster this machine started last.
        # In another folder: Ray lets actors import from the one where the driver was started.
        with chdir(sys.prefix):
            ray.init(address=address, log_to_driver=True, logging_level=logging.WARNING)
    except (ConnectionError, ray.exceptions.RayError, RuntimeError, ValueError) as error:
        raise _no_answer(address, str(error).splitlines()[0]) from error
    return ray


def _no_answer(address: str, why: str) -> UsageError:
    return UsageError(
        f"The Ray cluster {address!r} does not answer: {why}",
        remedy="Start one by `ray start --head`, or name its address: --ray-address HOST:PORT."
        " With token authentication set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH here too.",
    )


def _require_open(ray: Any, address: str) -> None:
    """Refuse an address at which nothing listens: Ray tries such a one for many minutes.

    `auto` means the cluster that this machine started last, also if that is gone.
    """
    where = address.removeprefix("ray://")
    if address == "auto":
        where = os.environ.get("RAY_ADDRESS") or ray._private.utils.read_ray_address() or ""
    host, _, port = where.rpartition(":")
    if not port.isdigit():  # `local`, or Ray says itself that it knows none
        return
    try:
        with socket.create_connection((host, int(port)), OPEN_S):
            return
    except OSError as error:
        why = f"nothing listens at {host}:{port} ({error.strerror or error})."
        raise _no_answer(address, why) from error


def require_room(nodes: Sequence[Mapping[str, Any]], executors: int | None, needs: Needs) -> int:
    """Return the room for executors; refuse none, as Ray would wait for ever; tell of too little.

    Args:
        nodes: as `ray.nodes` lists them.

    Raises:
        UsageError: the cluster can place no executor.
    """
    room = sum(needs.room_of(node) for node in nodes if node["Alive"])
    if executors != 0 and room < 1:
        raise UsageError(
            f"No node of the cluster has {needs} for an executor.",
            remedy="Add a node: `ray start --address HEAD:PORT` on another machine; or correct"
            " THINKEVAL_EXECUTOR_MEMORY_GB and THINKEVAL_EXECUTOR_LABELS.",
        )
    if executors is not None and executors > room:
        log.warning(
            "the cluster has room for %d executors with %s each, of %d: the others wait for a node",
            room, needs, executors,
        )  # fmt: skip
    return room


def _require_reachable(ray: Any, settings: Settings) -> None:
    """Refuse nodes of other machines where the database is the embedded one of this machine."""
    if settings.neo4j_uri:
        return
    here = ray.util.get_node_ip_address()
    others = {node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]} - {here}
    if others:
        raise UsageError(
            f"The cluster has nodes on other machines ({', '.join(sorted(others))}), which cannot"
            " reach the embedded database of this one.",
            remedy="Set THINKEVAL_NEO4J_URI to a server that every node reaches.",
        )
