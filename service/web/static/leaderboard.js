// Highlights a method in both charts while it is pointed at, or after its name was pressed.

const all = () => document.querySelectorAll(".chart [data-series]");
let pressed = null;

function highlight(index) {
  for (const part of all()) part.classList.toggle("dim", index !== null && part.dataset.series !== index);
}

for (const part of document.querySelectorAll("button[data-series], tr[data-series]")) {
  part.addEventListener("pointerenter", () => highlight(part.dataset.series));
  part.addEventListener("pointerleave", () => highlight(pressed));
}
for (const button of document.querySelectorAll("button[data-series]")) {
  button.addEventListener("click", () => {
    pressed = pressed === button.dataset.series ? null : button.dataset.series;
    for (const other of document.querySelectorAll("button[data-series]")) {
      other.setAttribute("aria-pressed", String(other.dataset.series === pressed));
    }
    highlight(pressed);
  });
}
