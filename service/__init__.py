"""The composer: CLI, REST and page over `loaders`, `cypher` and `editing`.

The four packages have generic names, so another distribution may own one of them in the same
environment; that would break us silently. The check below turns it into one clear sentence.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

__version__ = "0.1.0"


def _check_siblings() -> None:
    home = Path(__file__).resolve().parent.parent
    for name in ("cypher", "editing", "loaders"):
        spec = find_spec(name)
        where = Path(spec.origin).resolve().parent.parent if spec and spec.origin else None
        if where != home:
            found = f"{where / name} provides it" if where else "it is not installed"
            raise ImportError(
                f"ThinkEval's package {name!r} is not the one beside {home / 'service'}: {found}."
                " Install thinkeval in a virtual environment of its own."
            )


_check_siblings()
