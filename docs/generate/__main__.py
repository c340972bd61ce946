"""Write the reference pages from the code, or check that they are current.

python docs/generate             writes every page of docs/reference
python docs/generate cli rest    writes these
python docs/generate --check     writes nothing; exit 1 and the names of pages that are not current
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reference_pages import NAMES, written

FOLDER = Path(__file__).resolve().parents[1] / "reference"


def main() -> int:
    """Write or compare the pages that the command line names; every page without a name."""
    parser = argparse.ArgumentParser(
        prog="python docs/generate", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--check", action="store_true", help="Compare, and write nothing.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"Of {', '.join(NAMES)}.")
    given = parser.parse_args()
    unknown = sorted(set(given.pages) - set(NAMES))
    if unknown:
        parser.error(f"there is no page {', '.join(unknown)}; there are {', '.join(NAMES)}")
    old = []
    for name in given.pages or NAMES:
        path, text = FOLDER / f"{name}.md", written(name)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        old.append(name)
        if not given.check:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if old:
        what = "Not current" if given.check else "Wrote"
        sys.stdout.write(f"{what}: {', '.join(f'docs/reference/{name}.md' for name in old)}\n")
    return 1 if old and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
