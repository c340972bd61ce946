// The review queue of a page: one after another, by keyboard, decided by a named person.
//
// The page has #decide (a form with the name `by`, a button [data-verb] for each verb), #decide-problem,
// #decided and #review-part, which the server renders anew at `path`: the list .waiting and [data-chosen].
import { busy, Problem } from "./api.js";
import { at } from "./root.js";

const NAME = "thinkeval-annotator";

/**
 * Start the queue.
 *
 * keys: verb of each key. press(verb) is called for a verb, and calls decide(verb, request, describe):
 * request(by, id) sends it, describe(answer) says it in words. query(name) gives further parameters of the
 * path; personal: each person has another queue.
 */
export function reviewQueue({ path, keys, press, query = () => ({}), personal = false }) {
  const form = document.getElementById("decide");
  const box = document.getElementById("decide-problem");
  const part = () => document.getElementById("review-part");
  const links = () => [...document.querySelectorAll(".waiting a")];
  const chosen = () => document.querySelector("[data-chosen]")?.dataset ?? {};
  const name = () => form.elements.by.value.trim();
  const button = (verb) => form.querySelector(`[data-verb=${verb}]`);
  let sending = false;
  let asks = 0;
  let cursor = new URLSearchParams(location.search).get("cursor") ?? "";
  form.elements.by.value = localStorage.getItem(NAME) ?? "";

  /** Show another one beside what it rests on; "" for the first that waits. */
  async function choose(id) {
    const mine = ++asks;
    const asked = new URLSearchParams({ candidate: id, cursor, ...query(name()) });
    const response = await fetch(at(`${path}?${asked}`), { headers: { Accept: "text/html" } });
    if (!response.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    if (mine !== asks) return; // an answer to an earlier question must not replace a later one
    part().replaceWith(fresh.getElementById("review-part"));
    document.querySelector(".waiting a[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  const beside = (by) => {
    const all = links();
    const place = all.findIndex((link) => link.dataset.candidate === chosen().chosen);
    return all[place + by]?.dataset.candidate ?? "";
  };

  async function decide(verb, request, describe, { stay = false } = {}) {
    if (sending) return undefined;
    sending = true;
    const id = chosen().chosen ?? "";
    const done = await busy(button(verb), box, async () => {
      if (!name()) throw new Problem(422, "A decision needs your name.", "Write it above; it tells annotators apart.");
      if (!stay && !id) throw new Problem(422, "Nothing waits for a decision.", "Add something, or wait.");
      localStorage.setItem(NAME, name());
      return request(name(), id);
    });
    if (done) await choose(stay ? id : beside(1) || beside(-1)).catch(() => {});
    // Only now, so that no key decides about the one that is being replaced.
    sending = false;
    if (done) document.getElementById("decided").textContent = describe(done);
    else if (!name()) form.elements.by.focus();
    return done;
  }

  const take = (verb) => {
    if (!sending && button(verb)) press(verb);
  };

  form.elements.by.addEventListener("change", () => personal && choose(""));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("click", (event) => {
    const verb = event.target.closest("[data-verb]")?.dataset.verb;
    if (verb) take(verb);
  });
  document.addEventListener("click", async (event) => {
    const link = event.target.closest(".waiting a, [data-cursor]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.dataset.cursor) cursor = link.dataset.cursor;
    await choose(link.dataset.candidate ?? "");
  });
  document.addEventListener("keydown", async (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, .growing, .scroll")) return;
    const verb = keys[event.key];
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (verb) {
      event.preventDefault();
      take(verb);
    } else if (by && links().length) {
      const next = beside(by);
      event.preventDefault();
      if (next) await choose(next);
    }
  });
  if (personal && name()) choose("");
  return { button, choose, chosen, decide };
}
