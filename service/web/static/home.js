// The front page: the form that scores, and the list of edits, which stays up to date.
import { act, all, busy, call, key, Problem, show } from "./api.js";
import { follow } from "./live.js";
import { at, go } from "./root.js";

const score = document.getElementById("score");
const message = document.getElementById("score-status");
let stop = () => {};
let timer;

// Ticked edits, kept over the pages of the list until they are compared.
const TICKED = "thinkeval-ticked";
const ticked = new Set(JSON.parse(sessionStorage.getItem(TICKED) ?? "[]"));

/** Tick what is ticked, and send with the form what is on other pages of the list. */
function restore() {
  const form = document.getElementById("compare-form");
  if (!form) return;
  for (const input of form.querySelectorAll("input[type=hidden]")) input.remove();
  const elsewhere = new Set(ticked);
  for (const box of document.querySelectorAll("#edits input[name=edit][type=checkbox]")) {
    box.checked = ticked.has(box.value);
    elsewhere.delete(box.value);
  }
  for (const edit of elsewhere) {
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "edit", value: edit }));
  }
  const here = elsewhere.size ? `, ${elsewhere.size} on other pages of the list` : "";
  if (ticked.size) document.getElementById("ticked").textContent = `${ticked.size} ticked${here}.`;
}

document.addEventListener("change", (event) => {
  if (!event.target.matches("#edits input[name=edit]")) return;
  if (event.target.checked) ticked.add(event.target.value);
  else ticked.delete(event.target.value);
  sessionStorage.setItem(TICKED, JSON.stringify([...ticked]));
  restore();
});
document.addEventListener("submit", (event) => {
  if (event.target.id === "compare-form") sessionStorage.removeItem(TICKED);
});
addEventListener("pageshow", restore);

/** Replace the list of edits by its current state. */
async function refresh() {
  clearTimeout(timer);
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    const list = fresh.getElementById("edits");
    if (response.ok && list) {
      const focused = document.activeElement?.dataset?.cancel;
      document.querySelector("#edits tbody")?.closest("table").replaceWith(...list.querySelectorAll("table"));
      if (!document.querySelector("#edits table")) document.getElementById("edits").replaceWith(list);
      restore();
      if (focused) document.querySelector(`[data-cancel="${CSS.escape(focused)}"]`)?.focus();
    }
  } catch {
    // the service is not available: poll again
  }
  watch();
}

function watch() {
  stop();
  const edits = document.getElementById("edits");
  if (!edits.querySelector("[data-live]")) return;
  stop = follow(edits, refresh);
  timer = setTimeout(refresh, 10_000); // edits without a stream change too
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-cancel], [data-import]");
  if (!button) return;
  if (button.dataset.cancel) {
    button.disabled = true;
    await act(button).catch(() => {});
    refresh();
    return;
  }
  const box = document.getElementById("start-problem");
  const done = await busy(button, box, () => act(button, { json: { source: button.dataset.import } }));
  if (done !== undefined) go(`/?graph=${encodeURIComponent(done?.graph ?? done?.id ?? button.dataset.import)}`);
});

function kind() {
  const own = score.elements.kind.value === "own";
  for (const part of score.querySelectorAll("[data-kind]")) part.hidden = (part.dataset.kind === "own") !== own;
  for (const name of ["subject", "prompt", "target_true", "target_new"]) score.elements[name].required = own;
}

async function rewrites() {
  const graph = score.elements.graph.value;
  const items = await all(`/v1/rewrites?graph=${encodeURIComponent(graph)}&limit=1000`);
  const chosen = score.elements.rewrite.value; // the same fact again, where the other graph has it
  score.elements.rewrite.replaceChildren(
    ...items.map((item) => {
      const fact = item.prompt.replace("{}", item.subject);
      const chains = Object.values(item.chains).reduce((sum, n) => sum + n, 0);
      const objects = item.target_new ? `${item.target_true} → ${item.target_new}` : `${item.target_true} forgotten`;
      const text = `${fact}: ${objects} (${chains} chain${chains === 1 ? "" : "s"})`;
      return new Option(text, item.id, false, item.id === chosen);
    }),
  );
  score.elements.kind.value = items.length ? "stored" : "own";
  kind();
}

/** Replace the line on rules by the server's line for the chosen graph. */
async function rules() {
  const response = await fetch(at(`/rules-choice/${encodeURIComponent(score.elements.graph.value)}`), { headers: { Accept: "text/html" } });
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("rules-choice");
  document.getElementById("rules-choice").replaceWith(document.adoptNode(fresh));
}

/** Add the numbers of chains to the facts of the form, where they had to be counted first. */
async function count() {
  const graph = document.querySelector("[data-count]")?.dataset.count;
  const counts = graph && (await call("GET", `/chain-counts/${encodeURIComponent(graph)}`).catch(() => null));
  if (!counts || graph !== score?.elements.graph.value) return;
  for (const option of score.elements.rewrite.options) {
    if (option.value in counts && !/ chains?\)$/.test(option.text)) {
      option.text += ` (${counts[option.value]} chain${counts[option.value] === 1 ? "" : "s"})`;
    }
  }
}

/** The request of the form, without its method. */
function wanted(form) {
  const rewrite =
    form.kind.value === "own"
      ? Object.fromEntries(["subject", "prompt", "target_true", "target_new"].map((name) => [name, form[name].value.trim()]))
      : form.rewrite.value;
  return {
    graph: form.graph.value,
    rewrite,
    model: form.model.value.trim(),
    samples: form.samples.valueAsNumber,
    max_steps: form.max_steps.valueAsNumber,
    seed: form.seed.valueAsNumber,
    strength: form.strength.valueAsNumber,
    bare: form.bare.value,
    implications: form.implications.checked,
    force: form.force.checked,
  };
}

async function submit(event) {
  event.preventDefault();
  const form = score.elements;
  const box = document.getElementById("score-problem");
  const methods = [...score.querySelectorAll("[name=method]:checked")].map((input) => input.value);
  if (!methods.length) {
    show(box, new Problem(422, "No method is chosen.", "Tick at least one."));
    return;
  }
  const accepted = await busy(score.querySelector("button.primary"), box, async () => {
    const edits = [];
    for (const method of methods) {
      message.textContent = `Submitting ${method} …`;
      edits.push(await act(score, { json: { ...wanted(form), method }, headers: { "Idempotency-Key": key() } }));
    }
    return edits;
  });
  message.textContent = accepted ? `${accepted.length} accepted.` : "";
  if (accepted?.length === 1) go(`/edits/${encodeURIComponent(accepted[0].id)}`);
  else if (accepted) go("/#edits");
  if (accepted?.length > 1) location.reload();
}

if (score) {
  score.addEventListener("submit", submit);
  score.addEventListener("change", (event) => {
    if (event.target.name === "kind") kind();
    if (event.target.name !== "graph") return;
    rewrites().catch((error) => show(document.getElementById("score-problem"), error));
    rules().catch(() => {}); // the choice is unchanged; the service refuses an invalid request
  });
  kind();
  call("GET", "/v1/models")
    .then(({ names, folders }) => {
      const models = [...names, ...folders].map((name) => new Option("", name));
      document.getElementById("models").replaceChildren(...models);
    })
    .catch(() => {}); // a convenience; any name can be typed
}
watch();
count();
