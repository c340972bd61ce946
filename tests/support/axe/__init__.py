"""axe-core, from its pinned webjar: what its rules find on a page, in light and dark.

The jar is downloaded once into the cache and compared with `axe.lock`, as the embedded server's
files are; the web UI never loads it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import BrowserContext, Page

from thinkeval.cypher.embedded import artifacts, lock

LOCK_FILE = Path(__file__).with_name("axe.lock")
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules that read colours: axe-core's `cat.color`, without the one of level AAA, which it runs for
nobody by itself. The others see one document in both schemes, and run in the first."""
HERE = "typeof axe !== 'undefined'"
RUN = """async ([rules, contrast]) => {
  const { violations, passes, incomplete } = await axe.run(rules);
  const looked = [...violations, ...passes].some(rule => rule.id === contrast);
  const lines = violations.flatMap(rule => rule.nodes.map(
    node => ({ rule: rule.id, target: node.target, summary: node.failureSummary })));
  return { looked, lines, incomplete: looked ? [] : incomplete };
}"""
"""Only what is asked of the answer leaves the page: all of it takes as long as a few rules do."""


@cache
def _script(folder: Path) -> str:
    bundle = lock.read(LOCK_FILE)
    jar = bundle.jars[0]
    _, artifact, version, _ = jar.parts
    with zipfile.ZipFile(artifacts.ensure(folder, bundle=bundle) / jar.filename) as archive:
        inside = f"META-INF/resources/webjars/{artifact}/{version}/axe.min.js"
        script = archive.read(inside).decode()
    # Messages name elements by their selectors, so their HTML need not be written out.
    return f"{script};axe.configure({{ noHtml: true }});"


def in_each_document(window: BrowserContext | Page, folder: Path) -> None:
    """Put axe-core into every document that a window opens from now on, its frames aside.

    Half a megabyte of script is then sent and compiled once, and not for each document.
    """
    window.add_init_script(f"if (self === top) {{ {_script(folder)} }}")


def emulate(page: Page, scheme: Scheme) -> None:
    """Show a page whose style sheet follows the reader's scheme."""
    page.emulate_media(color_scheme=scheme)


def violations(
    page: Page,
    folder: Path,
    *,
    settled: bool = False,
    show: Callable[[Page, Scheme], None] = emulate,
) -> list[str]:
    """Return violations of axe-core's rules on the page, in both colour schemes; one line each.

    Args:
        folder: where downloads are cached.
        settled: the page asks for nothing more; otherwise half a second of silence is waited for.
        show: shows the page in a scheme.
    """
    if not settled:
        page.wait_for_load_state("networkidle")
    if not page.evaluate(HERE):
        page.evaluate(_script(folder))
    found = []
    for scheme in SCHEMES:
        show(page, scheme)
        rules: dict[str, Any] = {"resultTypes": ["violations"]}
        if scheme != SCHEMES[0]:
            rules["runOnly"] = OF_COLOURS
        result = page.evaluate(RUN, [rules, OF_COLOURS[0]])
        assert result["looked"], f"{page.url}: no colour was looked at: {result['incomplete']}"
        found += [
            f"{page.url} {scheme}: {line['rule']}: {line['target']}: {line['summary']}"
            for line in result["lines"]
        ]
    return found
