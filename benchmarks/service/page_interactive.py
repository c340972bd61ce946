"""The edit page of the KnowGIC rewrite with most chains (206): how soon it can be used.

`thinkeval serve` and headless Chromium as a user has them, a database in a temporary folder. Each
round opens it in a window of its own, with nothing cached in it, and draws all chains. Loaded: the
leakage map is drawn, before any script. Interactive: pointing at an entity lights a chain; counted
from then on. The median of the rounds.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import service_reads
from playwright.sync_api import Browser, sync_playwright


def main() -> None:
    """Measure, print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("No Chromium on this machine: apt-get install chromium.")
    with tempfile.TemporaryDirectory(prefix="thinkeval-bench-") as folder:
        home = Path(folder)
        try:
            with service_reads.service(home) as (client, _), sync_playwright() as playwright:
                edit, _ = service_reads.scored(client)
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox"]
                )
                url = f"{client.base_url}/edits/{edit}?draw=1000"
                opened(browser, url)  # the server's plans are there then
                rounds = [opened(browser, url) for _ in range(options.rounds)]
                browser.close()
        finally:
            env = service_reads.own_database(home)
            program = str(service_reads.PROGRAM)
            subprocess.run([program, "db", "stop"], env=env, capture_output=True, check=False)
    lines = [
        bench.Line(
            "loaded",
            "s",
            statistics.median(r[0] for r in rounds),
            goal=bench.Goal("ours", "<=", 2.0),
        ),
        bench.Line(
            "interactive after that",
            "s",
            statistics.median(r[1] for r in rounds),
            goal=bench.Goal("ours", "<=", 1.0),
        ),
        bench.Line("a filter applied", "s", statistics.median(r[2] for r in rounds)),
    ]
    slowest = max(r[1] for r in rounds)
    notes = [f"{options.rounds} rounds; the slowest was interactive after {slowest:.2f} s."]
    sys.exit(bench.show("page_interactive", lines, notes, as_json=options.json))


def opened(browser: Browser, url: str) -> tuple[float, float, float]:
    """Seconds until it is loaded, from then until it is interactive, and that one filter takes."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    began = time.perf_counter()
    page.goto(url, wait_until="load")
    loaded = time.perf_counter()
    page.locator("#map-svg .subject").hover()
    page.locator("#map-svg.dimmed").wait_for(state="visible")
    interactive = time.perf_counter()
    page.locator("#map-svg .entity:not(.subject, .target_true, .target_new)").first.click()
    page.locator("#map-svg .entity.chosen").wait_for(state="visible")
    filtered = time.perf_counter()
    page.close()
    return loaded - began, interactive - loaded, filtered - interactive


if __name__ == "__main__":
    main()
