// Theme: light, dark or that of the system; stored in the browser. Runs before painting, so no module.
// The menu of further pages closes by Escape, and where something else is pressed.
"use strict";
(() => {
  const KEY = "thinkeval-theme";
  const NEXT = { system: "light", light: "dark", dark: "system" };
  const read = () => {
    try {
      return localStorage.getItem(KEY) || "system";
    } catch {
      return "system"; // storage may be forbidden; the theme is not stored then
    }
  };
  const apply = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${theme}`;
    document.dispatchEvent(new Event("theme"));
  };
  let theme = NEXT[read()] ? read() : "system";
  apply(theme);
  document.addEventListener("DOMContentLoaded", () => {
    apply(theme);
    const menu = document.getElementById("more-pages");
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    document.addEventListener("click", (event) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
    document.getElementById("theme").addEventListener("click", () => {
      theme = NEXT[theme];
      try {
        localStorage.setItem(KEY, theme);
      } catch {
        // not stored then
      }
      apply(theme);
    });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(theme));
})();
