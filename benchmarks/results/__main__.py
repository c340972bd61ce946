"""Measure the tables of docs/results again, and write them into their pages.

    python benchmarks/results                     # the pages there are, and how long each takes
    python benchmarks/results knowgic matched     # measure these, write their numbers and pages
    python benchmarks/results --all
    python benchmarks/results measured --only solves   # the steps with that in their command
    python benchmarks/results --from-stored       # write tables from stored numbers alone
    python benchmarks/results --check             # compare only; exit 1 where a page differs

A page is measured by steps, each a command of ThinkEval or a benchmark. The output of a step is
kept in build/results/ and is not made again at the same commit (`--again` does), and the commands
themselves resume: a run that was stopped continues. Progress is shown on standard error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tables


def main() -> int:
    """Do what the arguments say; the exit code."""
    options = _parser().parse_args()
    folder = Path(options.docs)
    try:
        if options.check or options.from_stored:
            return _from_stored(options.pages or tables.pages(folder), folder, options.check)
        import measure
        from pages import PAGES

        wanted = list(PAGES) if options.all else options.pages
        if not wanted:
            for name, page in PAGES.items():
                print(f"{name:10} about {page.minutes} min on two quiet cores: {page.about}")
            return 0
        measure.run(wanted, folder, again=options.again, only=options.only)
        return _from_stored(wanted, folder, check=False)
    except tables.ResultsError as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--all", action="store_true", help="measure all pages")
    parser.add_argument("--again", action="store_true", help="repeat steps of this commit, too")
    parser.add_argument("--only", default="", metavar="WORD", help="steps with WORD in them alone")
    parser.add_argument("--from-stored", action="store_true", help="measure nothing")
    parser.add_argument("--check", action="store_true", help="write nothing either")
    parser.add_argument("--docs", default=tables.RESULTS, help="folder of the pages")
    return parser


def _from_stored(names: list[str], folder: Path, check: bool) -> int:
    """Write, or compare, the tables of some pages; 1 where one differs from its numbers."""
    stale = 0
    for name in names:
        path = folder / f"{name}.md"
        text = tables.rendered(name, folder)
        if text == path.read_text(encoding="utf-8"):
            continue
        if check:
            stale = 1
            print(f"{path}: differs from data/{name}.json; run `python benchmarks/results"
                  f" --from-stored {name}`.", file=sys.stderr)  # fmt: skip
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path}: written", file=sys.stderr)
    return stale


if __name__ == "__main__":
    sys.exit(main())
