"""Texts of a covariance: streamed, never all in memory.

Any sized collection of texts that can be iterated repeatedly works, a list included. A `TextFile`
reads lines; a data set of the `datasets` package is first written to such a file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock

from ...loaders.reading.sources import require_no_pipe
from ...loaders.records import digest
from ..atomic_write import whole_file
from ..errors import CovarianceError

Progress = Callable[[int, int, str], None]


class Texts(Protocol):
    """A sized collection of texts that can be iterated repeatedly."""

    def __iter__(self) -> Iterator[str]: ...

    def __len__(self) -> int: ...


class TextFile:
    """The texts of a UTF-8 file: one per line, blank lines omitted; in `.jsonl`, one JSON string.

    The file must not change while it is used.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __iter__(self) -> Iterator[str]:
        quoted = self.path.suffix == ".jsonl"
        require_no_pipe(self.path)
        try:
            with self.path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    text = self._unquoted(line, number) if quoted else line.strip()
                    if text:
                        yield text
        except (OSError, UnicodeDecodeError) as error:
            raise CovarianceError(
                f"the covariance corpus {self.path} cannot be read: {error}",
                remedy="Give a UTF-8 text file with one text per line.",
            ) from error

    def __len__(self) -> int:
        return self._counted[1]

    @property
    def corpus_digest(self) -> str:
        """Digest of the texts, in order; computed once."""
        return self._counted[0]

    @cached_property
    def _counted(self) -> tuple[str, int]:
        return counted(self)

    def _unquoted(self, line: str, number: int) -> str:
        try:
            text = json.loads(line) if line.strip() else ""
        except (ValueError, RecursionError):
            text = None
        if not isinstance(text, str):
            raise CovarianceError(
                f"line {number} of {self.path} is not a JSON string",
                remedy="Write each text as a JSON string, or rename a plain text file to .txt.",
            )
        return text


@dataclass(frozen=True)
class DatasetSpec:
    """Texts of a data set: the arguments of `datasets.load_dataset`, and their number.

    Attributes:
        limit: number of texts, from the first; the published statistics are of 100,000.
    """

    name: str
    config: str | None = None
    split: str = "train"
    column: str = "text"
    limit: int = 100_000
    revision: str | None = None


def counted(texts: Iterable[str]) -> tuple[str, int]:
    """SHA-256 (hex) over the texts with their lengths, in order; and their number."""
    corpus, n_texts = hashlib.sha256(), 0
    for text in texts:
        data = text.encode()
        corpus.update(len(data).to_bytes(8, "little") + data)
        n_texts += 1
    return corpus.hexdigest(), n_texts


def tokens_of(texts: Iterable[str], tokenizer: Any, max_length: int, enough: int) -> int:
    """Number of tokens of the texts as a covariance reads them; `enough` stops the count."""
    found, left = 0, iter(texts)
    while found < enough and (chunk := list(islice(left, 64))):
        rows = tokenizer(chunk, truncation=True, max_length=max_length)["input_ids"]
        found += sum(map(len, rows))
    return found


def dataset_file(
    spec: DatasetSpec, folder: str | Path, progress: Progress | None = None
) -> TextFile:
    """The texts of a data set as a file in a folder, downloaded on first use.

    Concurrent processes download it once. A data set without a revision is not updated later.

    Raises:
        CovarianceError: the package, the data set or its column is missing, or it has no text.
    """
    path = Path(folder) / f"{digest(vars(spec))}.jsonl"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock")):
            if not path.is_file():
                _fetch(spec, path, progress or (lambda done, total, stage: None))
    return TextFile(path)


def _fetch(spec: DatasetSpec, path: Path, progress: Progress) -> None:
    done = 0
    with whole_file(path) as out, out.open("w", encoding="utf-8") as lines:
        for row in islice(_rows(spec), spec.limit):
            text = row.get(spec.column)
            if not isinstance(text, str):
                raise CovarianceError(
                    f"the data set {spec.name} has no text in the column '{spec.column}'; "
                    f"it has {', '.join(row)}",
                    remedy="Name the column of the texts with --column.",
                )
            lines.write(json.dumps(text, ensure_ascii=False) + "\n")
            done += 1
            if done % 100 == 0:
                progress(done, spec.limit, f"reading {spec.name}")
        if not done:
            raise CovarianceError(f"the data set {spec.name} has no rows in '{spec.split}'")


def _rows(spec: DatasetSpec) -> Iterator[dict[str, Any]]:
    try:
        import datasets  # type: ignore[import-not-found]
    except ImportError as error:
        raise CovarianceError(
            f"reading {spec.name} needs the package 'datasets', which is not installed",
            remedy="Run `pip install datasets`, or give a text file with one text per line.",
        ) from error
    # Releases below 4 ask on standard input whether to run the code of a data set.
    vars(getattr(datasets, "config", None) or datasets)["HF_DATASETS_TRUST_REMOTE_CODE"] = False
    try:
        yield from datasets.load_dataset(
            spec.name, spec.config, split=spec.split, streaming=True, revision=spec.revision
        )
    except Exception as error:
        # The package raises its own errors and those of hub, network and file formats.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CovarianceError(
            f"the data set {spec.name} could not be read: {reason}",
            remedy="Check --dataset, --config, --split and the connection.",
        ) from error
