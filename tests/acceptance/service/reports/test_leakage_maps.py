"""Leakage maps of KnowGIC's 26 rewrites in a browser: its letters stay within boxes and labels."""

from __future__ import annotations

from playwright.sync_api import Browser
from tests.unit.service.reports.leakage_map.test_knowgic_maps import rewrites

from thinkeval.service.reports.leakage_map import draw, page_svg
from thinkeval.service.web.pages.render import STATIC

__all__ = ["rewrites"]

OUTSIDE = """() => [...document.querySelectorAll('#map-svg > g')].filter((each) => {
  const box = each.querySelector('rect').getBBox(), text = each.querySelector('text').getBBox();
  return text.x < box.x - 0.5 || text.x + text.width > box.x + box.width + 0.5
    || text.y < box.y - 1.5 || text.y + text.height > box.y + box.height + 1.5;
}).map((each) => each.getAttribute('aria-label'))"""


def test_every_text_is_within_its_box(chromium: Browser, rewrites) -> None:
    page = chromium.new_page()
    style = "".join((STATIC / name).read_text() for name in ("page.css", "edit.css"))
    for rewrite, (case, new, found) in rewrites.items():
        drawing = draw(list(enumerate(found, 1)), case.subject, case.object, new, limit=1000)
        cut = [line.link.id for line in drawing.lines]  # each label with the mark beside it
        svg = page_svg(drawing, rewrite, (), cut)
        page.set_content(f"<style>{style}</style><section class='map'>{svg}</section>")
        assert page.locator("#map-svg > g").count() == len(drawing.boxes) + len(drawing.lines)
        assert page.evaluate(OUTSIDE) == [], rewrite
    page.close()
