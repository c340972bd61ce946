// Pages of sweeps: the form that starts one, and the progress of one that is under way.
import { act, busy } from "./api.js";
import { go } from "./root.js";

const AGAIN_MS = 2000;
const form = document.getElementById("sweep-form");
const box = document.getElementById("sweep-problem");

const ticked = (name) => [...form.querySelectorAll(`[name=${name}]:checked`)].map((input) => input.value);
const listed = (name) => form.elements[name].value.split(",").map((part) => part.trim()).filter(Boolean);

/** Number of edits that the form asks for. */
function count() {
  const facts = ticked("rewrites").length;
  const all = form.querySelectorAll("[name=rewrites]").length;
  const rows = facts || all;
  document.getElementById("chosen-facts").textContent = facts ? `${facts} of ${all}` : `all ${all}`;
  const cells = rows * ticked("methods").length * listed("models").length * listed("seeds").length;
  document.getElementById("cells").textContent = `${cells} edit${cells === 1 ? "" : "s"}; those that are scored already are not repeated.`;
}

async function start(event) {
  event.preventDefault();
  const json = {
    graph: form.elements.graph.value,
    rewrites: ticked("rewrites"),
    methods: ticked("methods"),
    models: listed("models"),
    seeds: listed("seeds").map(Number),
    samples: form.elements.samples.valueAsNumber,
  };
  const sweep = await busy(form.querySelector(".primary"), box, () => act(form, { json }));
  if (sweep) go(`/sweeps/${encodeURIComponent(sweep.id)}`);
}

if (form) {
  form.addEventListener("submit", start);
  form.addEventListener("input", (event) => {
    if (event.target.id === "fact-search") {
      const words = event.target.value.toLowerCase().split(/\s+/);
      for (const label of form.querySelectorAll(".picklist label")) {
        label.hidden = !words.every((word) => label.textContent.toLowerCase().includes(word));
      }
    } else if (event.target.name === "graph") {
      go(`/sweeps?graph=${encodeURIComponent(event.target.value)}`);
    } else count();
  });
  count();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-again]");
  if (!button) return;
  const sweep = await busy(button, document.getElementById("sweep-problem"), () =>
    act(button, { json: JSON.parse(button.dataset.again) }),
  );
  if (sweep) location.reload();
});

/** Replace the part that changes while a sweep is under way. */
async function refresh() {
  const id = document.getElementById("live-part") ? "live-part" : "sweeps";
  const part = document.getElementById(id);
  if (!part || !(part.matches("[data-open]") || part.querySelector("[data-open]"))) return;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(id);
    // What has the focus, or holds a choice that is not sent yet, is not replaced.
    if (response.ok && fresh && !part.contains(document.activeElement)) part.replaceWith(document.adoptNode(fresh));
  } catch {
    // the service is not available: ask again
  }
  setTimeout(refresh, AGAIN_MS);
}
setTimeout(refresh, AGAIN_MS);
