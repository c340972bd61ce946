"""A page of the documentation site in a browser: its width, and a copy that axe-core sees at once.

A page of the reference has thirty thousand elements, all of some hundred kinds. axe-core takes a
minute for them, and says of the second element of a kind what it says of the first.
"""

from __future__ import annotations

from playwright.sync_api import Page

from support.axe import SCHEMES, Scheme

WIDTHS = (1280, 390)
HEIGHT = 844

STILL = """addEventListener("DOMContentLoaded", () => {
    const still = document.createElement("style");
    still.textContent = "* { transition: none !important }";
    document.head.append(still);
});"""
"""For a page before it is opened: the theme fades colours when the scheme is changed."""

ONE_OF_A_KIND = """() => {
  const content = new Set(["aria-label", "aria-labelledby", "aria-controls", "title", "alt"]);
  const whole = new Set(["main", "h1", "h2", "h3", "h4", "h5", "h6", "script", "style"]);
  const kinds = new Map();
  const kind = element => {
    if (!element) return "";
    if (!kinds.has(element)) {
      const attributes = element.getAttributeNames()
        .filter(name => !["id", "class", "href", "for", "name", "value"].includes(name))
        .map(name => content.has(name) ? name : `${name}=${element.getAttribute(name)}`);
      const text = element.textContent.trim() ? "with text" : "empty";
      kinds.set(element, [kind(element.parentElement), element.localName,
        [...element.classList].sort().join("."), attributes.sort().join(), text].join(" "));
    }
    return kinds.get(element);
  };
  const all = [...document.body.querySelectorAll("*")].filter(each => !each.closest("svg"));
  const seen = new Set(), kept = new Set();
  for (const element of all) {
    if (!whole.has(element.localName) && seen.has(kind(element))) continue;
    seen.add(kind(element));
    for (let each = element; each && !kept.has(each); each = each.parentElement) kept.add(each);
  }
  for (const element of all) if (!kept.has(element)) element.remove();
  return [all.length, kept.size];
}"""
"""Remove all but the first element of each kind: tag, classes and attributes, its own and those of
what it is in, and whether it has a text. Headings stay, as their order is a rule of its own."""


def show(page: Page, scheme: Scheme) -> None:
    """Show the open page in a scheme, as the theme does where a reader chooses one."""
    shown = {"light": "default", "dark": "slate"}[scheme]
    page.evaluate("name => document.body.setAttribute('data-md-color-scheme', name)", shown)


def too_wide(page: Page) -> list[str]:
    """Return the widths and schemes at which the open page is wider than the window.

    It ends at the narrowest width; a page of the reference takes a second for another one.
    """
    found = []
    schemes = list(SCHEMES)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for scheme in schemes:
            show(page, scheme)
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found.append(f"{page.url}: wider than {width} px, {scheme}")
        schemes.reverse()  # the next width begins with the scheme that is shown
    return found


def scrolled_by_mouse_only(page: Page) -> list[str]:
    """Return tables of the open page that scroll at this width and cannot be reached by Tab."""
    found = page.evaluate(
        """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(
        [...document.querySelectorAll(".md-typeset__scrollwrap")].filter(
            each => each.scrollWidth > each.clientWidth && each.tabIndex < 0).length))))"""
    )
    return [f"{page.url}: {found} tables that scroll by mouse only"] if found else []


def one_of_a_kind(page: Page) -> tuple[int, int]:
    """Leave one element of each kind; the number of elements before, and those kept."""
    before, kept = page.evaluate(ONE_OF_A_KIND)
    return before, kept
