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

from playwright.sync_api import Page

from thinkeval.cypher.embedded import artifacts, lock

LOCK_FILE = Path(__file__).with_name("axe.lock")
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
OF_COLOURS = "color-contrast"
"""The rule that depends on the colour scheme; the others see one document in both."""


@cache
def _script(folder: Path) -> str:
    bundle = lock.read(LOCK_FILE)
    jar = bundle.jars[0]
    _, artifact, version, _ = jar.parts
    with zipfile.ZipFile(artifacts.ensure(folder, bundle=bundle) / jar.filename) as archive:
        inside = f"META-INF/resources/webjars/{artifact}/{version}/axe.min.js"
        return archive.read(inside).decode()


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
    """What axe-core's rules refuse on the page, in both colour schemes; one line an element.

    Args:
        folder: where downloads are cached.
        settled: the page asks for nothing more; otherwise half a second of silence is waited for.
        show: shows the page in a scheme.
    """
    if not settled:
        page.wait_for_load_state("networkidle")
    page.evaluate(_script(folder))
    found = []
    for scheme in SCHEMES:
        show(page, scheme)
        rules: dict[str, Any] = {"resultTypes": ["violations"]}
        if scheme != SCHEMES[0]:
            rules["runOnly"] = [OF_COLOURS]
        result = page.evaluate("rules => axe.run(rules)", rules)
        seen = [r["id"] for kind in ("passes", "violations") for r in result[kind]]
        assert OF_COLOURS in seen, f"{page.url}: no colour was looked at: {result['incomplete']}"
        found += [
            f"{page.url} {scheme}: {rule['id']}: {node['target']}: {node['failureSummary']}"
            for rule in result["violations"]
            for node in rule["nodes"]
        ]
    return found
