"""The lock files of the embedded Neo4j: names, sizes and SHA-256 sums of its files.

Resolving Neo4j's dependency tree reads about 400 project files over the network, unverified. The
tree is therefore resolved once for each release, by a maintainer, and stored beside this module as
``neo4j-RELEASE.lock``; a user's machine downloads exactly those files and verifies each sum.

To change the version of a release, or add one (server, Browser):
``python -m thinkeval.cypher.embedded.lock 5.26.31 5.24.0``, then run the tests in ``tests/graph``
with THINKEVAL_NEO4J_RELEASE. A new release is named in the settings, an old one's file deleted.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from ..errors import EmbeddedServerError

LTS = "5.26"
"""The long-term release, which is started unless another is asked for."""
_HEADER = "# {name} {version}\n# sha256  bytes  group:artifact:version[:classifier]\n"


@dataclass(frozen=True, slots=True)
class Jar:
    """One file of a bundle.

    Attributes:
        coordinate: ``group:artifact:version`` or ``group:artifact:version:classifier``.
        sha256: its checksum, 64 hexadecimal digits.
        size: its length in bytes.
    """

    coordinate: str
    sha256: str
    size: int

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """Group, artifact, version and classifier ('' without one)."""
        group, artifact, version, *rest = self.coordinate.split(":")
        return group, artifact, version, rest[0] if rest else ""

    @property
    def filename(self) -> str:
        """The file's name in a Maven repository, for example ``neo4j-5.26.30.jar``."""
        _, artifact, version, classifier = self.parts
        return f"{artifact}-{version}{'-' + classifier if classifier else ''}.jar"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A named set of files that belong together.

    Attributes:
        name: name of the bundle ('neo4j').
        version: the version shown to users.
        jars: its files.
        digest: of the lock file's text; part of the cache folder's name, so that a changed bundle
            never mixes with an older one.
    """

    name: str
    version: str
    jars: tuple[Jar, ...]
    digest: str

    @property
    def total_bytes(self) -> int:
        """Size of a complete download."""
        return sum(jar.size for jar in self.jars)

    @property
    def folder(self) -> str:
        """The name of its folder in a cache."""
        return f"{self.name}-{self.version}-{self.digest[:8]}"


def lock_file(release: str = LTS) -> Path:
    """The lock file of a release of Neo4j, such as '5.26' or '2026.08'."""
    return Path(__file__).with_name(f"neo4j-{release}.lock")


def of_release(release: str = LTS) -> Bundle:
    """The files of a release of Neo4j.

    Raises:
        EmbeddedServerError: there is no lock file of it; names those that there are.
    """
    path = lock_file(release)
    if not path.is_file():
        known = sorted(file.stem.partition("-")[2] for file in path.parent.glob("neo4j-*.lock"))
        raise EmbeddedServerError(
            f"Neo4j {release!r} is no release that is started here.",
            remedy=f"Set THINKEVAL_NEO4J_RELEASE to one of: {', '.join(known)}.",
        )
    return read(path)


def read(path: Path) -> Bundle:
    """Read a lock file.

    Raises:
        EmbeddedServerError: if it is missing or a line is not ``sha256 bytes coordinate``.
    """
    remedy = "Reinstall ThinkEval: a file of the package is damaged."
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise EmbeddedServerError(f"{path}: {error.strerror}", remedy=remedy) from error
    try:
        header, *lines = text.splitlines()
        name, version = header.removeprefix("# ").split()
        jars = tuple(_jar(line) for line in lines if line and not line.startswith("#"))
    except ValueError as error:
        raise EmbeddedServerError(f"{path}: not a lock file ({error})", remedy=remedy) from error
    return Bundle(name, version, jars, hashlib.sha256(text.encode()).hexdigest())


def _jar(line: str) -> Jar:
    sha256, size, coordinate = line.split()
    if len(sha256) != 64 or coordinate.count(":") not in (2, 3):
        raise ValueError(line)
    return Jar(coordinate, sha256, int(size))


def resolve(version: str, browser: str) -> str:
    """Resolve Neo4j's dependency tree over the network; returns the text of a lock file.

    Args:
        version: of Neo4j Community, for example '5.26.30'.
        browser: of Neo4j Browser, for example '5.24.0'.
    """
    import jgo

    wanted = (
        f"org.neo4j:neo4j:{version}",
        f"org.neo4j.app:neo4j-server:{version}",
        f"org.neo4j.client:neo4j-browser:{browser}",
    )
    lines = set[str]()
    for artifact in jgo.resolve("+".join(wanted)):
        content = artifact.resolve().read_bytes()
        coordinate = f"{artifact.groupId}:{artifact.artifactId}:{artifact.version}"
        if artifact.classifier:
            coordinate += f":{artifact.classifier}"
        lines.add(f"{hashlib.sha256(content).hexdigest()} {len(content)} {coordinate}")
    by_coordinate = sorted(lines, key=lambda line: line.split()[2])
    return _HEADER.format(name="neo4j", version=version) + "\n".join(by_coordinate) + "\n"


if __name__ == "__main__":
    version, browser = sys.argv[1:]
    lock_file(version.rpartition(".")[0]).write_text(resolve(version, browser), encoding="utf-8")
