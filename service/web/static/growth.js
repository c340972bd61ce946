// The page of a growth run: its state, the review queue, decisions by file.
import { act, busy, call } from "./api.js";
import { follow } from "./live.js";
import { reviewQueue } from "./review.js";

const POLL_MS = 3000;
const decide = document.getElementById("decide");

const run = encodeURIComponent(document.getElementById("state").dataset.run);
const place = `/v1/growth/${run}`;
const fieldset = document.getElementById("triplet");
const upload = document.getElementById("upload");
let stop = () => {};
let timer;
let mode = null;
const queue = decide && reviewQueue({
  path: `/growth/${run}/review`,
  keys: { k: "keep", p: "prune", c: "correct", a: "add" },
  press: (verb) => (verb === "correct" || verb === "add" ? open(verb) : send(verb)),
});

/** Replace all but the review by their current state. */
async function refresh() {
  clearTimeout(timer);
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.ok) {
      for (const old of document.querySelectorAll("[data-part]")) {
        if (old.contains(document.activeElement) && document.activeElement.matches("input")) continue;
        const now = fresh.getElementById(old.id);
        if (now) old.replaceWith(now);
      }
      if (!document.querySelector("[data-chosen]")) await queue?.choose("");
    }
  } catch {
    // the service is not available: poll again
  }
  watch();
}

function watch() {
  stop();
  if (!document.querySelector("[data-live]")) return;
  stop = follow(document.getElementById("state"), refresh);
  timer = setTimeout(refresh, POLL_MS);
}

/** The same request again continues the run. */
async function again(button) {
  const { request } = await call("GET", place);
  return act(button, { json: request });
}

function open(verb) {
  mode = verb;
  fieldset.hidden = false;
  fieldset.querySelector("[data-title]").textContent = verb === "add" ? "Add a triplet" : "The corrected triplet";
  for (const name of ["subject", "relation", "object"]) decide.elements[name].value = verb === "correct" ? (queue.chosen()[name] ?? "") : "";
  decide.elements.subject.focus();
}

async function send(verb, triplet) {
  const reason = decide.elements.reason.value.trim() || null;
  const request = (by, id) =>
    verb === "add"
      ? act(queue.button(verb), { json: { triplet, by, reason } })
      : act(queue.button(verb), { ids: { candidate: id }, json: { verb, by, reason, after: triplet ?? null } });
  const describe = (done) => `Decision ${done.number}: ${verb}. ${waits(done)}`;
  if (!(await queue.decide(verb, request, describe, { stay: verb === "add" }))) return;
  fieldset.hidden = true;
  decide.elements.reason.value = "";
  await refresh();
}

const waits = (done) => `${done.waiting} wait${done.resumed ? "; the run continues" : ""}.`;

decide?.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) fieldset.hidden = true;
});
decide?.addEventListener("submit", () => {
  if (fieldset.hidden) return;
  const { subject, relation, object } = decide.elements;
  send(mode, { subject: subject.value, relation: relation.value, object: object.value });
});
upload?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = new FormData(upload);
  const by = decide?.elements.by.value.trim();
  if (by) form.set("by", by);
  const done = await busy(upload.querySelector("button"), document.getElementById("upload-problem"), () => act(upload, { form }));
  if (!done) return;
  upload.reset();
  document.getElementById("decided").textContent = `${done.recorded} decision${done.recorded === 1 ? "" : "s"} recorded, ${done.undecided} row${done.undecided === 1 ? "" : "s"} without a verb. ${waits(done)}`;
  await queue.choose("");
  await refresh();
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  const done = await busy(button, document.getElementById("do-problem"), () => (button.dataset.do === "cancel" ? act(button) : again(button)));
  if (done) refresh();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && fieldset) fieldset.hidden = true;
});
watch();
