// Point at a method, or press its name, and it stands out in both charts.

const all = () => document.querySelectorAll(".chart [data-series]");
let held = null;

function stand(index) {
  for (const part of all()) part.classList.toggle("dim", index !== null && part.dataset.series !== index);
}

for (const part of document.querySelectorAll("button[data-series], tr[data-series]")) {
  part.addEventListener("pointerenter", () => stand(part.dataset.series));
  part.addEventListener("pointerleave", () => stand(held));
}
for (const button of document.querySelectorAll("button[data-series]")) {
  button.addEventListener("click", () => {
    held = held === button.dataset.series ? null : button.dataset.series;
    for (const other of document.querySelectorAll("button[data-series]")) {
      other.setAttribute("aria-pressed", String(other.dataset.series === held));
    }
    stand(held);
  });
}
