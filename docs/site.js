// What is wider than the text and scrolls inside itself can be reached and scrolled by keyboard.
const reachable = () => {
  for (const part of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
};
addEventListener("load", reachable);
addEventListener("resize", reachable);
