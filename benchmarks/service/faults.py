"""Random faults of every kind, to real processes: is what they leave whole, and equal?

`thinkeval serve` runs with one worker and a database of its own, as in `kills.py`. One fault after
the other is drawn by a seeded source. A service, a worker or the database is killed, stopped or
starved while an edit is scored; the disk, the cache or a saved update is damaged; a command of the
command line gets Ctrl-C or SIGKILL at a random moment of its run. After each fault the same work is
done again undisturbed, and four conditions have to be met:

    none lost          what was accepted ends, and what was stored before is there
    none twice         each edit is recorded once
    none half-written  no lease without a process, no graph of an edit without the edit, no file
                       that cannot be read
    equal numbers      those of an undisturbed run at the beginning

A command that is interrupted or cannot work ends with one line, and with 130 or 2. Each violation
is printed at the end, with the number of its fault; the program then exits with 1.

    python benchmarks/service/faults.py --faults 200 --seed 1
    python benchmarks/service/faults.py --only interrupt --faults 30

The home is a small tmpfs where this user may mount one (root on Linux); the faults of a full or
read-only disk are left out elsewhere.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import kills
import psutil
from frozen import differences, marked, parsed
from service_reads import PROGRAM

from thinkeval.cypher.errors import GraphError
from thinkeval.service.base.database import connect
from thinkeval.service.base.settings import Settings
from thinkeval.service.cli import main as cli

REWRITE = "ron-weasley--studied-at"
OTHER = "harry-potter--studied-at"
TMPFS_MB = 1400
SOON_S = 240.0
SCORE = ("score", "-g", kills.GRAPH, "--samples", "0", "--json")


class Broken(Exception):
    """An invariant does not hold."""


class World:
    """A home with its service, the results of undisturbed runs, and the source of chance."""

    def __init__(self, folder: Path, source: random.Random, *, mounted: bool) -> None:
        self.home, self.cache, self.work = folder / "home", folder / "cache", folder / "work"
        self.source = source
        self.reference: dict[str, Any] = {}
        self.took: dict[str, float] = {}
        self.mounted = mounted
        self.work.mkdir()
        more = {"THINKEVAL_CACHE": str(self.cache), "OMP_NUM_THREADS": "1"}
        _share_cache(self.cache)
        self.service = kills.Disturbed(self.home, **more)
        self.env = self.service.env
        os.environ |= self.env  # commands inside this process
        self.start_s = 0.0
        self.edits: dict[int, dict[tuple[object, ...], float]] = {}

    def begin(self) -> None:
        """Do everything once without a fault."""
        triples = "\n".join(f"Entity {n},knows,Entity {7 * n % 997}" for n in range(1, 1500))
        (self.work / "tri.csv").write_text("subject,relation,object\n" + triples + "\n")
        self.calm("import", kills.GRAPH)
        saved = self.calm(*SCORE, REWRITE, "-m", "rome")[0]["edit"]
        other = self.calm(*SCORE, OTHER, "-m", "rome")[0]["edit"]
        self.saved, self.other = str(saved), str(other)
        began = time.monotonic()
        self.command(*SCORE, OTHER, "-m", "none")
        self.start_s = time.monotonic() - began
        for seed in (1,):
            edit = self.service.finished(self.service.submit(_body(seed)))
            self.edits[seed] = kills.values(edit)

    def know(self, *names: str) -> str:
        """One of these commands, after it has been run once without a fault."""
        name = self.source.choice(names)
        if name not in self.reference:
            began = time.monotonic()
            self.reference[name] = marked(self.calm(*self.words(name)))
            self.took[name] = self.start_s + time.monotonic() - began
        return name

    def words(self, name: str) -> tuple[str, ...]:
        """The words of a command, with this world's edits and files."""
        if name == "backup":
            (self.work / "all.zip").unlink(missing_ok=True)
        names = {"{saved}": self.saved, "{other}": self.other, "{work}": str(self.work)}
        found = []
        for word in COMMANDS[name]:
            for mark, value in names.items():
                word = word.replace(mark, value)
            found.append(word)
        return tuple(found)

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """A command in a process of its own, which Ctrl-C reaches."""
        return subprocess.Popen(
            [str(PROGRAM), *words], env=self.env | env, cwd=self.work, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    def command(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """A command in a process of its own, to its end."""
        with self.start(*words, **env) as process:
            out, err = process.communicate(timeout=600)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def calm(self, *words: str) -> Any:
        """Return the output of a command run in this process, which has imported torch already.

        Raises:
            Broken: it failed.
        """
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        code = 0
        with (
            contextlib.chdir(self.work),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                cli.main(list(words))
            except SystemExit as ended:
                code = int(ended.code or 0)
        texts = [stream.buffer.getvalue().decode() for stream in map(_flushed, (out, err))]
        if code == cli.INTERRUPTED:
            raise KeyboardInterrupt
        if code:
            raise Broken(f"`{' '.join(words)}` afterwards: {code}, {texts[1].strip()}")
        return parsed(texts[0], "json")

    def again(self, name: str) -> None:
        """Run a command of the list undisturbed, and compare.

        Raises:
            Broken: it fails, or prints something else than in the beginning.
        """
        self.know(name)
        deadline = time.monotonic() + 4 * kills.LEASE_S
        while True:  # the lease of a killed command has to expire first
            try:
                found = marked(self.calm(*self.words(name)))
                break
            except Broken:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1.0)
        told = [each for each in differences(self.reference[name], found) if _matters(each[0])]
        if told:
            raise Broken(f"{name} gives other values: {told[:3]}")

    def query(self, text: str) -> list[dict[str, Any]]:
        """The rows of a query of the benchmark's own."""
        import neo4j

        with connect(Settings()) as db:
            uri = db.uri
        password = (self.home / "neo4j" / "password").read_text().strip()
        with neo4j.GraphDatabase.driver(uri, auth=("neo4j", password)) as driver:
            return [record.data() for record in driver.execute_query(text).records]

    @contextmanager
    def scoring(self) -> Iterator[None]:
        """An edit is scored by the service while the block disturbs; then it is compared."""
        seed = self.source.choice(list(self.edits))
        edit = self.service.submit(_body(seed))
        time.sleep(self.source.uniform(0.1, 5.0))
        yield
        self.service.ready()
        told = self.service.finished(edit, SOON_S)
        if told["status"] != "succeeded":
            raise Broken(f"the edit is {told['status']}: {told.get('error')}")
        if not kills.same(kills.values(told), self.edits[seed]):
            raise Broken("the edit has other numbers")

    def examine(self) -> None:
        """Look at what is stored.

        Raises:
            Broken: something is twice, half-written, or has a lease without a process.
        """
        twice = self.query("MATCH (e:Edit) WITH e.id AS id, count(*) AS n WHERE n > 1 RETURN id, n")
        orphans = self.query(
            "MATCH (g:Graph {kind: 'edit'}) WHERE NOT EXISTS { MATCH (e:Edit {id: g.id}) }"
            " AND g.complete AND NOT g.id STARTS WITH 'compare-' RETURN g.id AS id"
        )
        held = self.query(
            "MATCH (j:Job) WHERE (j.status = 'running') <> (j.lease IS NOT NULL)"
            " RETURN j.id AS id, j.status AS status"
        )
        lost = [
            name
            for name in (self.saved, self.other)
            if not self.query(f"MATCH (e:Edit {{id: '{name}'}}) RETURN e.id AS id")
        ]
        parts = [
            path.name
            for path in (self.home / "deltas").iterdir()
            if path.suffix != ".safetensors" and time.time() - path.stat().st_mtime > 60
        ]
        log = (self.home / "serve.log").read_text(errors="replace")
        told = "Traceback" in log
        if told:
            (self.home / "serve.log").write_text("")
            at = log.index("Traceback")
            raise Broken(f"the service's log has a traceback: {log[at:][-900:]}")
        for what, found in {
            "twice": twice, "graphs without an edit": orphans, "leases": held, "lost": lost,
            "parts of files": parts,
        }.items():  # fmt: skip
            if found:
                raise Broken(f"{what}: {found[:3]}")

    def close(self) -> None:
        """End everything."""
        self.service.close()


COMMANDS: dict[str, tuple[str, ...]] = {
    "score": (*SCORE, REWRITE, "-m", "rome", "--force"),
    "sweep": ("sweep", "-g", kills.GRAPH, "-m", "none", "--samples", "0", "--json"),
    "import": ("import", "{work}/tri.csv", "--name", "tri", "--replace", "--json"),
    "compare": ("compare", "organism", "organism+edit:{saved}", "-g", kills.GRAPH, "--samples",
                "0", "--force", "--json"),
    "report": ("report", "{saved}", "{other}", "--json"),
    "deltas verify": ("results", "deltas", "verify", "{saved}", "--json"),
    "backup": ("db", "backup", "{work}/all.zip", "--json"),
    "probe": ("probe", kills.GRAPH, "--samples", "0", "--json"),
}  # fmt: skip


def _matters(path: str) -> bool:
    """Return True if a difference of outputs is one of results; others tell of the run."""
    return not any(
        word in path
        for word in (
            "reused",
            "attempts",
            "bytes",
            "sha256",
            "status",
            "stored",
            "replaced",
            "notes",
            "n_nodes",
            "n_relationships",
            "nodes",
            "relationships",
            "parts",
        )
    )


def _body(seed: int) -> dict[str, Any]:
    return kills.body("rome", seed, force=True) | {"samples": 5}


def _flushed(stream: io.TextIOWrapper) -> Any:
    stream.flush()
    return stream


@contextmanager
def _mounted(home: Path) -> Iterator[bool]:
    """The home as a small tmpfs; False where it is a usual folder."""
    home.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={TMPFS_MB}m", "tmpfs", str(home)]
    mounted = sys.platform == "linux" and not os.geteuid() and not subprocess.call(words)
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(home)], check=False)


def _share_cache(cache: Path) -> None:
    """A cache of its own but for the server's files: no other program sees what is damaged here."""
    users = Settings().cache
    cache.mkdir()
    (users / "neo4j").mkdir(parents=True, exist_ok=True)
    (cache / "neo4j").symlink_to(users / "neo4j")
    if (users / "organisms").is_dir():
        shutil.copytree(users / "organisms", cache / "organisms")


def whole(done: subprocess.CompletedProcess[str], *codes: int) -> None:
    """Check how a disturbed command ended: with its result, or with one line.

    Raises:
        Broken: a traceback, several lines, or another exit code.
    """
    if "init_import_site" in done.stderr:
        return  # Python itself was starting: nothing of the program is there yet
    if "Traceback" in done.stderr or "Exception ignored" in done.stderr:
        raise Broken(f"a traceback: {done.stderr[-1200:]}")
    if done.returncode not in codes:
        raise Broken(f"exit code {done.returncode}: {done.stderr[-300:]}")
    lines = [each for each in done.stderr.splitlines() if each.startswith(("error:", "Interr"))]
    if done.returncode in (2, 130) and len(lines) != 1:
        raise Broken(f"exit code {done.returncode} with {len(lines)} lines: {done.stderr[-300:]}")


# Faults: each disturbs the world once, and raises Broken where an invariant does not hold.


def executor(world: World) -> None:
    """Kill the worker."""
    with world.scoring():
        world.service.disturb("worker")


def service(world: World) -> None:
    """Kill the service."""
    with world.scoring():
        world.service.disturb("service")


def both(world: World) -> None:
    """Kill the service and its worker at once, as where memory runs out in a container."""
    with world.scoring():
        process = world.service.process
        assert process is not None
        for each in [*psutil.Process(process.pid).children(recursive=True), process]:
            if "java" not in (each.name() if isinstance(each, psutil.Process) else ""):
                with suppress(psutil.Error):
                    each.kill()
        process.wait()
        world.service.start()


def neo4j(world: World) -> None:
    """Kill the database."""
    with world.scoring():
        world.service.disturb("neo4j")


def stopped(world: World) -> None:
    """Stop the worker for longer than its lease."""
    with world.scoring():
        world.service.disturb("stop")


def paused_jvm(world: World) -> None:
    """Stop the database's process for some seconds."""
    with world.scoring():
        found = world.service.neo4j()
        if found is not None:
            found.suspend()
            time.sleep(world.source.uniform(1.0, 1.5 * kills.LEASE_S))
            found.resume()


def tiny_heap(world: World) -> None:
    """Start the database with a heap in which it cannot work."""
    world.know("report")
    world.command("db", "stop")
    heap = world.source.choice(["16m", "40m", "64m", "0", "lots"])
    done = world.command(*world.words("report"), THINKEVAL_NEO4J_HEAP=heap)
    whole(done, 0, 2)
    world.command("db", "stop")
    world.service.ready()
    world.again("report")


def full_disk(world: World) -> None:
    """Fill the disk while a graph is imported or an edit is scored, and make room again."""
    filler = world.home / "filler"
    name = world.know("import", "score")
    with world.start(*world.words(name)) as process:
        time.sleep(world.source.uniform(0.5, world.took[name]))
        left = world.source.choice([0, 300_000, 2_000_000])
        try:
            free = shutil.disk_usage(world.home).free
            with suppress(OSError), filler.open("wb") as file:
                for _ in range(max(0, free - left) // 1_000_000):
                    file.write(bytes(1_000_000))
            out, err = process.communicate(timeout=400)
        finally:
            filler.unlink(missing_ok=True)
    whole(subprocess.CompletedProcess(name, process.returncode, out, err), 0, 2)
    try:
        world.again(name)
    except Broken as error:  # as the message says
        print(f"    after a full disk: {error}", file=sys.stderr, flush=True)
        world.command("db", "stop")
        if "db repair" in str(error):
            world.command("db", "repair")
        world.again(name)


@contextmanager
def _read_only(folder: Path) -> Iterator[None]:
    for words in (["--bind", str(folder), str(folder)], ["-o", "remount,bind,ro", str(folder)]):
        subprocess.run(["mount", *words], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def read_only_deltas(world: World) -> None:
    """Score while no update can be saved."""
    world.know("score")
    with _read_only(world.home / "deltas"):
        whole(world.command(*world.words("score")), 0, 2)
    world.again("score")


def read_only_home(world: World) -> None:
    """Run a command in a home that cannot be written."""
    name = world.know("score", "import", "report")
    aside = world.work / "home"
    aside.mkdir(exist_ok=True)
    with _read_only(aside):
        whole(world.command(*world.words(name), THINKEVAL_HOME=str(aside)), 2)
    world.again(name)


def deleted_cache(world: World) -> None:
    """Delete what can be made again, but the server's files, while an edit is scored."""
    world.know("score")
    with world.scoring():
        for each in world.cache.iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each, ignore_errors=True)
    world.again("score")


def truncated_organism(world: World) -> None:
    """Cut the weights of the organism short, or its configuration."""
    world.know("score")
    for weights in world.cache.glob("organisms/hogwarts*/*.safetensors"):
        os.truncate(weights, world.source.randrange(weights.stat().st_size))
    world.again("score")


def swapped_deltas(world: World) -> None:
    """Put the saved update of one edit in the place of another's."""
    world.know("deltas verify")
    deltas = world.home / "deltas"
    mine, others = (next(deltas.glob(f"{name}*")) for name in (world.saved, world.other))
    kept = mine.read_bytes()
    shutil.copyfile(others, mine)
    try:
        whole(world.command(*world.words("deltas verify")), 2)
        whole(world.command(*world.words("compare")), 2)
    finally:
        mine.write_bytes(kept)
    world.again("deltas verify")


def _signalled(world: World, number: signal.Signals, codes: tuple[int, ...]) -> str:
    name = world.know(*COMMANDS)
    early = world.source.random() < 0.4
    upto = min(4.0, world.took[name]) if early else 1.1 * world.took[name]
    at = world.source.uniform(0.02, upto)
    with world.start(*world.words(name)) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(at)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    told = f"{name} after {at:.2f} of {world.took[name]:.1f} s"
    try:
        whole(subprocess.CompletedProcess(name, process.returncode, out, err), *codes)
        backup = world.work / "all.zip"
        if name == "backup" and backup.exists():
            world.calm("db", "verify", str(backup))
        world.again(name)
    except Broken as error:
        raise Broken(f"{told}: {error}") from None
    return told


def interrupt(world: World) -> None:
    """Press Ctrl-C at a random moment of a command."""
    # Before Python's own start is over, the system ends the process by the signal.
    _signalled(world, signal.SIGINT, (0, 130, -signal.SIGINT))


def killed(world: World) -> None:
    """Kill a command at a random moment."""
    _signalled(world, signal.SIGKILL, (0, -signal.SIGKILL))


FAULTS: dict[str, tuple[int, Callable[[World], None]]] = {
    "interrupt": (14, interrupt), "killed": (5, killed), "executor": (3, executor),
    "service": (2, service), "both": (2, both), "neo4j": (2, neo4j), "stopped": (2, stopped),
    "paused JVM": (2, paused_jvm), "tiny heap": (1, tiny_heap), "full disk": (2, full_disk),
    "read-only deltas": (1, read_only_deltas), "read-only home": (1, read_only_home),
    "deleted cache": (1, deleted_cache), "truncated organism": (1, truncated_organism),
    "swapped deltas": (1, swapped_deltas),
}  # fmt: skip
"""Faults by name, with how often each is drawn."""
OF_A_MOUNT = ("full disk", "read-only deltas", "read-only home")


def main() -> None:
    """Run, check, print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=list(FAULTS))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long")
    options = parser.parse_args()
    ends = time.monotonic() + options.seconds
    counts: Counter[str] = Counter()
    violations: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="thinkeval-faults-") as folder,
        _mounted(Path(folder, "home")) as mounted,
    ):
        world = World(Path(folder), random.Random(options.seed), mounted=mounted)
        try:
            world.begin()
            drawn = {
                name: weight
                for name, (weight, _) in FAULTS.items()
                if (world.mounted or name not in OF_A_MOUNT)
                and (options.only is None or name in options.only)
            }
            for number in range(options.faults):
                if time.monotonic() > ends:
                    break
                (name,) = world.source.choices(list(drawn), list(drawn.values()))
                counts[name] += 1
                began = time.monotonic()
                try:
                    FAULTS[name][1](world)
                    world.examine()
                except (Broken, GraphError, subprocess.SubprocessError, SystemExit) as error:
                    violations.append(f"{number} {name}: {error}")
                told = violations[-1] if violations and violations[-1].startswith(
                    f"{number} "
                ) else f"{number} {name}: well"  # fmt: skip
                print(f"{told} ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)
            verified = world.command("db", "verify", "--json")
            if verified.returncode:
                violations.append(f"db verify: {verified.stdout[-300:]} {verified.stderr[-300:]}")
        finally:
            world.close()
    told_all = {"faults": sum(counts.values()), "kinds": dict(counts), "violations": violations}
    print(json.dumps(told_all, indent=2, ensure_ascii=False))
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
