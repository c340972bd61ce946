// DepEdit's page: the form that starts runs, and the button that builds the first sets.
import { act, busy, call, key, Problem } from "./api.js";
import { go } from "./root.js";

const form = document.getElementById("run");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = form.elements;
  const chosen = [...fields.sets.selectedOptions].filter((option) => !option.hidden).map((option) => option.value);
  const strategies = [...form.querySelectorAll("[name=strategy]:checked")].map((input) => input.value);
  const job = await busy(form.querySelector("button.primary"), document.getElementById("run-problem"), () => {
    if (!strategies.length) throw new Problem(422, "No strategy is chosen.", "Tick at least one.");
    const json = {
      sets: chosen.length ? chosen : null,
      graph: fields.graph.value,
      strategies,
      model: fields.model.value.trim(),
      seed: fields.seed.valueAsNumber,
    };
    return act(form, { json, headers: { "Idempotency-Key": key() } });
  });
  if (job) go(`/protocols/${encodeURIComponent(job.id)}`);
});

/** Only the sets of the chosen graph can be chosen. */
function narrow() {
  for (const option of form.elements.sets.options) {
    option.hidden = option.dataset.graph !== form.elements.graph.value;
    if (option.hidden) option.selected = false;
  }
}

if (form) {
  form.elements.graph.addEventListener("change", narrow);
  narrow();
  call("GET", "/v1/models")
    .then(({ names, folders }) => {
      const models = [...names, ...folders].map((name) => new Option("", name));
      document.getElementById("models").replaceChildren(...models);
    })
    .catch(() => {}); // a convenience; any name can be typed
}

document.querySelector("[data-build]")?.addEventListener("click", async (event) => {
  const graph = event.target.dataset.build;
  const built = await busy(event.target, document.getElementById("build-problem"), async () => {
    await act(event.target, { json: { source: graph } });
    return act(event.target, { of: "then", json: { graph, init: "shuffled" } });
  });
  if (built) go("/depedit");
});
