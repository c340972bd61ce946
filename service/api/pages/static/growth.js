// Growth runs: the form that starts one; on a run's page its state, and the review queue by keyboard.
import { busy, call, key, Problem } from "./api.js";
import { follow } from "./live.js";
import { at, go } from "./root.js";

const POLL_MS = 3000;
const NAME = "thinkeval-annotator";
const grow = document.getElementById("grow");
const decide = document.getElementById("decide");

grow?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = grow.elements;
  const run = await busy(grow.querySelector("button.primary"), document.getElementById("grow-problem"), () => {
    const json = {
      seed: fields.seed.value.trim(),
      elicit: fields.elicit.value,
      base: fields.base.value || null,
      answers: { model: fields.model.value.trim(), url: fields.url.value.trim() || null },
      judge: fields.judge.value,
      chains: fields.chains.valueAsNumber,
    };
    return call("POST", "/v1/growth", { json, headers: { "Idempotency-Key": key() } });
  });
  if (run) go(`/growth/${encodeURIComponent(run.id)}`);
});

if (decide) reviewing();

function reviewing() {
  const part = () => document.getElementById("review-part");
  const run = encodeURIComponent(part().dataset.run);
  const box = document.getElementById("decide-problem");
  const fieldset = document.getElementById("triplet");
  let stop = () => {};
  let timer;
  let mode = null;
  let sending = false;
  let cursor = new URLSearchParams(location.search).get("cursor") ?? "";
  decide.elements.by.value = localStorage.getItem(NAME) ?? "";

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
        if (!document.querySelector("[data-chosen]")) await choose("");
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

  /** Show another candidate beside its answers. */
  async function choose(candidate) {
    const query = new URLSearchParams({ candidate, cursor });
    const response = await fetch(at(`/growth/${run}/review?${query}`), { headers: { Accept: "text/html" } });
    if (!response.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    part().replaceWith(fresh.getElementById("review-part"));
    document.querySelector(".waiting a[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  const links = () => [...document.querySelectorAll(".waiting a")];
  const chosen = () => document.querySelector("[data-chosen]")?.dataset.chosen ?? "";
  const beside = (by) => {
    const all = links();
    const at = all.findIndex((link) => link.dataset.candidate === chosen());
    return all[at + by]?.dataset.candidate ?? "";
  };

  function open(verb) {
    mode = verb;
    fieldset.hidden = false;
    fieldset.querySelector("[data-title]").textContent = verb === "add" ? "Add a triplet" : "The corrected triplet";
    const found = document.querySelector("[data-chosen]")?.dataset ?? {};
    for (const name of ["subject", "relation", "object"]) decide.elements[name].value = verb === "correct" ? (found[name] ?? "") : "";
    decide.elements.subject.focus();
  }

  async function send(verb, triplet) {
    const by = decide.elements.by.value.trim();
    const candidate = chosen();
    if (sending) return;
    sending = true;
    const done = await busy(decide.querySelector(`[data-verb=${verb}]`), box, async () => {
      if (!by) throw new Problem(422, "A decision needs your name.", "Write it above; it tells annotators apart.");
      if (verb !== "add" && !candidate) throw new Problem(422, "Nothing waits for a decision.", "Add a triplet, or wait.");
      localStorage.setItem(NAME, by);
      const reason = decide.elements.reason.value.trim() || null;
      return verb === "add"
        ? call("POST", `/v1/growth/${run}/candidates`, { json: { triplet, by, reason } })
        : call("POST", `/v1/growth/${run}/candidates/${encodeURIComponent(candidate)}/decision`, { json: { verb, by, reason, after: triplet ?? null } });
    });
    if (done) {
      fieldset.hidden = true;
      decide.elements.reason.value = "";
      await choose(verb === "add" ? candidate : beside(1) || beside(-1)).catch(() => {});
    }
    // Only now, so that no key decides about the candidate that is being replaced.
    sending = false;
    if (!done) return;
    document.getElementById("decided").textContent = `Record ${done.number}: ${verb}. ${done.waiting} wait${done.resumed ? "; the run continues" : ""}.`;
    await refresh();
  }

  const press = (verb) => {
    if (sending) return;
    if (verb === "correct" || verb === "add") open(verb);
    else send(verb);
  };

  decide.addEventListener("click", (event) => {
    const verb = event.target.closest("[data-verb]")?.dataset.verb;
    if (verb) press(verb);
    if (event.target.closest("[data-close]")) fieldset.hidden = true;
  });
  decide.addEventListener("submit", (event) => {
    event.preventDefault();
    if (fieldset.hidden) return;
    const { subject, relation, object } = decide.elements;
    send(mode, { subject: subject.value, relation: relation.value, object: object.value });
  });
  document.addEventListener("click", async (event) => {
    const link = event.target.closest(".waiting a, [data-cursor]");
    const button = event.target.closest("[data-do]");
    if (link && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      if (link.dataset.cursor) cursor = link.dataset.cursor;
      await choose(link.dataset.candidate ?? "");
    }
    if (button) {
      const problem = document.getElementById("do-problem");
      const done = await busy(button, problem, () => call("POST", `/v1/growth/${run}/${button.dataset.do}`));
      if (done) refresh();
    }
  });
  document.addEventListener("keydown", async (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") fieldset.hidden = true;
    if (event.target.closest("input, select, textarea, .growing, .scroll")) return;
    const verb = { k: "keep", p: "prune", c: "correct", a: "add" }[event.key];
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (verb) {
      event.preventDefault();
      press(verb);
    } else if (by && links().length) {
      const next = beside(by);
      event.preventDefault();
      if (next) await choose(next);
    }
  });
  watch();
}
