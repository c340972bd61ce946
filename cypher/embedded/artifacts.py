"""Download of the embedded server's files into a cache that an interrupted download cannot corrupt.

Every file is downloaded to a separate folder, compared with the SHA-256 sum of the lock file, and
only then moved into place by an atomic rename. So the cache contains complete files only; a killed
download resumes where it stopped, and a file damaged later is detected before the next start and
downloaded again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from ..errors import EmbeddedServerError
from .lock import Bundle, Jar

if TYPE_CHECKING:
    import requests

Progress = Callable[[int, int, str], None] | None
"""Called with (done, total, stage)."""

MIN_FREE_BYTES = 600 * 10**6
"""Free space required before a download, and before a database is created."""

_MB = 10**6
_CONNECTIONS = 8
_ATTEMPTS = 3
_PAUSE_S = 0.5
"""Between two attempts; twice as long before the third."""
_TIMEOUT_S = 20
_OTHER_WAYS = (
    " Or use your own Neo4j: set THINKEVAL_NEO4J_URI, THINKEVAL_NEO4J_USER and"
    " THINKEVAL_NEO4J_PASSWORD, or `docker compose up neo4j`."
)


def ensure(
    cache: Path,
    *,
    bundle: Bundle,
    repositories: Mapping[str, str] | None = None,
    progress: Progress = None,
) -> Path:
    """Return the folder with all files of the bundle; download missing or damaged ones.

    Args:
        cache: the application's cache folder; the bundle gets its own folder inside.
        bundle: the files to download.
        repositories: Maven repositories, name -> URL, tried in this order; default
            ``THINKEVAL_MAVEN_URL`` if set, else those of jgo's own settings and Maven Central.
        progress: called with megabytes done and in total, from the calling thread.

    Raises:
        EmbeddedServerError: a file cannot be downloaded, or the disk is full.
    """
    folder = cache / bundle.folder
    if not damaged(folder, bundle):
        return folder
    make_folder(folder)
    with exclusive(cache / f"{bundle.folder}.lock", "waiting for another download", progress):
        wanted = damaged(folder, bundle)
        if wanted:
            require_space(cache, MIN_FREE_BYTES, "to download Neo4j")
            _Fetch(folder, bundle, wanted, repositories or default_repositories()).run(progress)
    return folder


def damaged(folder: Path, bundle: Bundle) -> tuple[Jar, ...]:
    """The files of the bundle that are missing from the folder or differ from their checksum."""
    return tuple(jar for jar in bundle.jars if not _is_intact(folder / jar.filename, jar))


def _is_intact(path: Path, jar: Jar) -> bool:
    try:
        if path.stat().st_size != jar.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256
    except OSError:  # missing or not readable: download it
        return False


def default_repositories() -> dict[str, str]:
    """The repositories: THINKEVAL_MAVEN_URL alone, or jgo's settings, then Maven Central."""
    if url := os.environ.get("THINKEVAL_MAVEN_URL"):
        return {"thinkeval": url.rstrip("/")}
    from jgo.config import GlobalSettings
    from jgo.constants import MAVEN_CENTRAL_URL

    return {**GlobalSettings.load().repositories, "central": MAVEN_CENTRAL_URL}


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn disk errors (permissions, space, a file in the way) into an EmbeddedServerError."""
    try:
        yield
    except OSError as error:
        raise _disk_error(folder, error) from error


def _disk_error(folder: Path, error: OSError) -> EmbeddedServerError:
    return EmbeddedServerError(
        f"{error.filename or folder}: {error.strerror or error}",
        remedy="Choose writable folders on a disk with free space, with THINKEVAL_HOME and"
        " THINKEVAL_CACHE.",
    )


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its parents; EmbeddedServerError if that fails."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=mode)


def require_space(folder: Path, needed: int, purpose: str) -> None:
    """Raise EmbeddedServerError if the disk of ``folder`` has less than ``needed`` bytes left."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EmbeddedServerError(
            f"{folder}: {free // _MB} MB free on this disk, {needed // _MB} MB needed {purpose}.",
            remedy="Free some space, or choose another disk with THINKEVAL_HOME and"
            " THINKEVAL_CACHE.",
        )


@contextmanager
def exclusive(
    lock: Path, stage: str, progress: Progress, *, timeout_s: float = 900
) -> Iterator[None]:
    """Hold a lock file, reporting progress while waiting; released even if this process is killed.

    Raises:
        EmbeddedServerError: the other process has not released it after ``timeout_s``.
    """
    file, waited = FileLock(lock), 0.0
    while True:
        try:
            file.acquire(timeout=1, poll_interval=0.1)
            break
        except Timeout:
            waited += 1
            if progress:
                progress(0, 0, stage)
            if waited >= timeout_s:
                raise EmbeddedServerError(
                    f"{lock}: another process has had this lock for {timeout_s:.0f} s.",
                    remedy="Find the thinkeval process that hangs, and end it.",
                ) from None
        except OSError as error:
            raise _disk_error(lock.parent, error) from error
    try:
        yield
    finally:
        file.release()


def _new_session() -> requests.Session:
    """A session that waits and asks again where a server demands a lower rate (429)."""
    import requests  # only to download: `--help` and a second start do without
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    limited = Retry(
        None, connect=0, read=0, other=0, status=3, status_forcelist=[429], backoff_factor=5,
        raise_on_status=False,
    )  # fmt: skip
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=limited))
    return session


class _Fetch:
    """One download of some jars of a bundle, over several connections."""

    def __init__(
        self, folder: Path, bundle: Bundle, wanted: Sequence[Jar], repositories: Mapping[str, str]
    ) -> None:
        self.folder = folder
        self.bundle = bundle
        self.wanted = wanted
        self.partial = folder / ".partial"
        self.urls = tuple(repositories.values())
        self.received = dict.fromkeys(wanted, 0)
        self.cancelled = threading.Event()
        self._sessions: queue.SimpleQueue[requests.Session] = queue.SimpleQueue()

    def run(self, progress: Progress) -> None:
        """Download all, or raise the first failure; deletes unfinished files only."""
        shutil.rmtree(self.partial, ignore_errors=True)
        make_folder(self.partial)
        pool = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="fetch")
        try:
            pending = {pool.submit(self._fetch, jar) for jar in self.wanted}
            while pending:
                done, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
                self._report(progress)
                for future in done:
                    future.result()
        finally:
            self.cancelled.set()
            pool.shutdown(cancel_futures=True)
            while not self._sessions.empty():
                self._sessions.get().close()
            shutil.rmtree(self.partial, ignore_errors=True)

    def _report(self, progress: Progress) -> None:
        if progress:
            total = sum(jar.size for jar in self.wanted)
            stage = f"downloading Neo4j {self.bundle.version} (MB)"
            progress(min(sum(self.received.values()), total) // _MB, -(-total // _MB), stage)

    def _fetch(self, jar: Jar) -> None:
        part = self.partial / jar.filename
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._download(jar, part)
                if not _is_intact(part, jar):
                    raise OSError(f"{part.stat().st_size} bytes received, with a wrong checksum")
                os.replace(part, self.folder / jar.filename)
                return
            except OSError as error:  # the errors of the HTTP client are OSErrors too
                if self.cancelled.is_set():
                    return
                if attempt == _ATTEMPTS or error.errno == errno.ENOSPC:
                    raise self._failure(jar, error) from error
                self.cancelled.wait(attempt * _PAUSE_S)

    def _download(self, jar: Jar, part: Path) -> None:
        """Write the first copy found in a repository; OSError if there is none or on failure."""
        group, artifact, version, _ = jar.parts
        path = f"{group.replace('.', '/')}/{artifact}/{version}/{jar.filename}"
        answers = []
        with self._session() as session:
            for url in self.urls:
                with session.get(f"{url}/{path}", stream=True, timeout=_TIMEOUT_S) as response:
                    if response.status_code == 200:
                        self._save(response.iter_content(1 << 16), jar, part)
                        return
                    answers.append(f"{response.status_code} {response.reason}")
        raise OSError(", ".join(answers))

    @contextmanager
    def _session(self) -> Iterator[requests.Session]:
        """A session that no other thread uses; it keeps its connection from one jar to the next.

        A new connection reads the certificates again, which took most of a download's processor
        time when each jar had one.
        """
        try:
            session = self._sessions.get_nowait()
        except queue.Empty:
            session = _new_session()
        try:
            yield session
        finally:
            self._sessions.put(session)

    def _save(self, chunks: Iterable[bytes], jar: Jar, part: Path) -> None:
        self.received[jar] = 0  # a second attempt starts from the beginning
        with part.open("wb") as file:
            for chunk in chunks:
                if self.cancelled.is_set():
                    raise InterruptedError("the fetch was cancelled")
                file.write(chunk)
                self.received[jar] += len(chunk)

    def _failure(self, jar: Jar, error: OSError) -> EmbeddedServerError:
        if error.errno == errno.ENOSPC:
            return EmbeddedServerError(
                f"{self.folder}: the disk is full.",
                remedy="Free some space, or choose another disk with THINKEVAL_CACHE.",
            )
        return EmbeddedServerError(
            f"{jar.filename} could not be downloaded from {', '.join(self.urls)}: {error}",
            remedy="Check the network and HTTPS_PROXY, or name a mirror of Maven Central in"
            " THINKEVAL_MAVEN_URL; the next start resumes where this one stopped." + _OTHER_WAYS,
        )
