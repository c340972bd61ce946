"""Registry of file formats: list them, detect the format of a path, and load it.

A format is a module of this package with `SUMMARY`, `recognises(path)` and `load(path, *, name)`;
a new module is discovered automatically.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from thinkeval import loaders

from .errors import LoaderError, UnknownFormatError, UnreadableFileError
from .reading.sources import is_plain
from .reading.tables import SEPARATED, columns_of
from .reading.unrecognised import Tables, why
from .records import LoadedGraph
from .table_roles import EXPECTED, NAME_THEM
from .texts import quoted
from .triple_files import roles_fit

_TABLES = Tables(SEPARATED, lambda path: columns_of(path, roles_fit), EXPECTED, NAME_THEM)

MAPPED = "triples"
"""The format of a file whose columns are named by the option `map`."""


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    Attributes:
        key: the module's name.
        summary: one line on the files it reads.
        recognises: True if a path is probably in this format; reads only a file's beginning.
        load: `load(path, *, name=None, **options) -> LoadedGraph`.
        options: the names of the options `load` takes besides `name`.
    """

    key: str
    summary: str
    recognises: Callable[[Path], bool]
    load: Callable[..., LoadedGraph]
    options: tuple[str, ...]


def formats() -> dict[str, Format]:
    """Every format, by key."""
    found: dict[str, Format] = {}
    for info in pkgutil.iter_modules(loaders.__path__):
        if info.ispkg or info.name == __name__.rpartition(".")[2]:
            continue
        module = importlib.import_module(f"{loaders.__name__}.{info.name}")
        if hasattr(module, "recognises") and hasattr(module, "load"):
            options = [o for o in inspect.signature(module.load).parameters if o != "name"][1:]
            found[info.name] = Format(
                info.name, module.SUMMARY, module.recognises, module.load, tuple(options)
            )
    return found


def detect(path: Path | str) -> str:
    """Detect the format of a path.

    Returns:
        The format's key.

    Raises:
        UnreadableFileError: the path does not exist.
        UnknownFormatError: no format recognises it, or several do.
    """
    path = Path(path)
    if not path.exists():
        raise UnreadableFileError(f"{path}: no such file or folder{_neighbour(path)}")
    try:
        keys = [key for key, format_ in formats().items() if format_.recognises(path)]
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror or error}") from error
    if len(keys) == 1:
        return keys[0]
    if keys:
        raise UnknownFormatError(f"{path}: could be {' or '.join(keys)}")
    if path.is_file() and not path.stat().st_size:
        raise UnreadableFileError(f"{path}: the file is empty")
    try:
        problem, remedy = why(path, _TABLES)
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror or error}") from error
    raise UnknownFormatError(
        f"{path}: {problem}; the formats are {', '.join(formats())}",
        remedy=" ".join(filter(None, (remedy, UnknownFormatError.remedy))),
    )


def in_named_folder(path: Path, format: str | None = None) -> Path:
    """Move an uploaded file with a generic name into a folder that is named after its format.

    The data set of a file such as `chains.json` is named after the folder (`default_name`), and the
    temporary folder of an upload has a random name.

    Args:
        path: the file, alone in a temporary folder.
        format: a key of `formats()`; None to detect it.

    Returns:
        The file's new path; `path` if the file was not moved.

    Raises:
        UnknownFormatError: no format recognises the file, or several do.
    """
    key = detect(path) if format is None else format
    if not is_plain(path) or key not in formats():
        return path
    folder = path.parent / key
    folder.mkdir()
    return path.rename(folder / path.name)


def load(
    path: Path | str, *, format: str | None = None, name: str | None = None, **options: object
) -> LoadedGraph:
    """Read a path in the given or the detected format.

    Args:
        path: a file or folder.
        format: a key of `formats()`; None to detect it.
        name: the data set's name; None for the name in the file, or else the file name.
        options: further options of the format (`aliases`, `target_new`, ...); None means not given.

    Raises:
        LoaderError: a subclass, with the problem, its place and a remedy.
    """
    known = formats()
    if format is None and options.get("map"):
        format = MAPPED
    key = detect(path) if format is None else format
    if key not in known:
        remedy = f"{_meant(key, known)}There are: {', '.join(known)}."
        raise UnknownFormatError(f"no format {quoted(key)}", remedy=remedy)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in known[key].options:
            takes = ", ".join(known[key].options) or "none"
            raise LoaderError(
                f"the format {quoted(key)} has no option {quoted(option)}",
                remedy=f"{_meant(option, known[key].options)}Its options: {takes}.",
            )
    return known[key].load(Path(path), name=name, **given)


def _meant(word: str, words: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(words), n=1)
    return f"Did you mean {quoted(near[0])}? " if near else ""


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    near = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1)
    return f"; did you mean '{path.parent / near[0]}'?" if near else ""
