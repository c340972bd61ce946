// Page of a scored edit: filters and the chosen fact. The drawing is graph.js, copying copy.js.
import { detail } from "/static/detail.js";
import { draw } from "/static/graph.js";

const graph = JSON.parse(document.getElementById("graph").textContent);
const filter = document.getElementById("filter");
const path = new URL(document.querySelector("link[rel=canonical]").href).pathname;
const facts = new Map(graph.edges.map((edge) => [edge.id, edge]));
let drawing = null;
let pending = null;

const passing = () => JSON.parse(document.getElementById("passing").textContent);

/** The filter as a query; defaults are left out. */
function query(more) {
  const chosen = new URLSearchParams(new FormData(filter));
  if (chosen.getAll("steps").length === 5) chosen.delete("steps");
  if (Number(chosen.get("min_ratio")) === 0) chosen.delete("min_ratio");
  if (!chosen.get("fact")) chosen.delete("fact");
  if (more) chosen.set("show", more);
  return chosen.toString();
}

async function apply(more) {
  pending?.abort();
  pending = new AbortController();
  const { signal } = pending;
  const chosen = query(more);
  const response = await fetch(`${path}/chains?${chosen}`, { signal }).catch(() => null);
  if (!response?.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  if (signal.aborted) return;
  document.getElementById("chains").replaceWith(document.adoptNode(fresh.getElementById("chains")));
  history.replaceState(null, "", chosen ? `${path}?${chosen}` : path);
  drawing?.show(passing());
}

let timer;
filter.addEventListener("input", (event) => {
  if (event.target.name === "min_ratio") {
    document.getElementById("strength").value = Number(event.target.value).toFixed(2);
  }
  if (event.target.name === "measure") {
    filter.requestSubmit();
    return;
  }
  clearTimeout(timer);
  timer = setTimeout(apply, 120);
});
filter.addEventListener("submit", (event) => {
  if (event.submitter?.id !== "apply") return; // another measure reloads everything
  event.preventDefault();
  apply();
});
document.getElementById("apply").hidden = true; // filters apply automatically

const reset = document.getElementById("reset");
reset.hidden = false;
reset.addEventListener("click", () => {
  for (const box of filter.querySelectorAll("[name=steps]")) box.checked = true;
  filter.elements.min_ratio.value = 0;
  filter.elements.fact.value = "";
  filter.elements.surviving.checked = false;
  document.getElementById("strength").value = "0.00";
  apply();
});

/** Show what the model answered about a fact; the drawing and the chains mark it. */
export function choose(id, { scroll = false } = {}) {
  const fact = facts.get(id);
  if (!fact) return;
  const aside = document.getElementById("detail");
  aside.replaceChildren(...detail(fact, () => through(id)));
  for (const other of document.querySelectorAll(".chosen")) other.classList.remove("chosen");
  for (const button of document.querySelectorAll(`button[data-fact="${CSS.escape(id)}"]`)) button.classList.add("chosen");
  drawing?.mark(id);
  if (scroll) aside.scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function through(id) {
  filter.elements.fact.value = id;
  apply();
}

document.addEventListener("click", async (event) => {
  const more = event.target.closest("#more");
  if (more) {
    event.preventDefault();
    const before = document.querySelectorAll(".chain").length;
    await apply(new URL(more.href).searchParams.get("show"));
    document.querySelectorAll(".chain")[before]?.querySelector("a, button")?.focus();
    return;
  }
  const fact = event.target.closest("button[data-fact]");
  if (fact) choose(fact.dataset.fact, { scroll: true });
});

draw(graph, choose).then((result) => {
  drawing = result;
  drawing?.show(passing());
});
