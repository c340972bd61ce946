// Page of rules: load those that ship, mine the graph, and review candidates by keyboard.
import { act, busy } from "./api.js";
import { reviewQueue } from "./review.js";

const get = document.getElementById("get-rules");
const review = document.getElementById("review");
const GOT = "thinkeval-got-rules"; // a message to show after a reload

if (get) document.getElementById("got").textContent = sessionStorage.getItem(GOT);
sessionStorage.removeItem(GOT);

get?.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-load], [data-mine]");
  if (!button) return;
  const done = await busy(button, document.getElementById("get-problem"), () =>
    act(button, { json: "load" in button.dataset ? JSON.parse(document.getElementById("shipped").textContent) : {} }),
  );
  if (!done) return;
  if (done.links) {
    location.assign(done.links.page); // a large graph: a worker mines it
    return;
  }
  sessionStorage.setItem(GOT, "load" in button.dataset ? `Rules kept: ${done.total}.` : `${done.total} found, ${done.created} of them new.`);
  location.reload();
});

if (review) {
  const graph = review.dataset.graph;
  const queue = reviewQueue({
    path: "/rules/review",
    keys: { a: "a", b: "b", c: "c", d: "d", e: "e" },
    query: (by) => ({ graph, by }),
    personal: true,
    press: (label) =>
      queue.decide(
        label,
        (annotator, rule) => act(queue.button(label), { ids: { rule }, json: { annotator, label } }),
        (done) => `${label}: ${done.text} (${done.status}).`,
      ),
  });
}
