// Page of rules: load those that ship, mine the graph, and review candidates by keyboard.
import { busy, call, Problem } from "./api.js";

const NAME = "thinkeval.annotator";
const get = document.getElementById("get-rules");
const review = document.getElementById("review");

get?.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-load], [data-mine]");
  if (!button) return;
  const rules = `/v1/graphs/${encodeURIComponent(get.dataset.graph)}/rules`;
  const done = await busy(button, document.getElementById("get-problem"), () =>
    "load" in button.dataset
      ? call("POST", rules, { json: JSON.parse(document.getElementById("shipped").textContent) })
      : call("POST", `${rules}/mine`, { json: {} }),
  );
  if (!done) return;
  document.getElementById("got").textContent = "load" in button.dataset ? `${done.total} rules are kept.` : `${done.total} found, ${done.created} of them new.`;
  location.reload();
});

if (review) {
  const rules = `/v1/graphs/${encodeURIComponent(review.dataset.graph)}/rules`;
  const form = document.getElementById("label");
  const box = document.getElementById("label-problem");
  let waiting = JSON.parse(document.getElementById("waiting").textContent);
  let sending = false;
  form.elements.annotator.value = localStorage.getItem(NAME) ?? "";

  const name = () => form.elements.annotator.value.trim();
  const mine = () => waiting.filter((rule) => !rule.labels.includes(name()));

  async function show() {
    const [rule] = mine();
    document.getElementById("left").textContent = mine().length;
    document.getElementById("rule-text").textContent = rule ? rule.text : "No rule waits for a label of yours.";
    const list = document.getElementById("examples");
    list.replaceChildren();
    if (!rule) return;
    const found = await call("GET", `${rules}/${encodeURIComponent(rule.id)}/groundings?limit=2`).catch(() => ({ items: [] }));
    if (rule !== mine()[0]) return;
    const triple = (part) => `${part.subject} ${part.relation} ${part.object}`;
    list.replaceChildren(
      ...found.items.map((item) =>
        Object.assign(document.createElement("li"), {
          textContent: `For instance: ${item.premises.map(triple).join(", ")}; so ${triple(item.conclusion)}${item.known ? " (in the graph)" : " (not in the graph)"}.`,
        }),
      ),
    );
  }

  async function label(value) {
    const [rule] = mine();
    if (sending || !rule) return;
    sending = true;
    const done = await busy(form.querySelector(`[data-label=${value}]`), box, () => {
      if (!name()) throw new Problem(422, "A label needs your name.", "Write it above; it tells annotators apart.");
      localStorage.setItem(NAME, name());
      return call("POST", `${rules}/${encodeURIComponent(rule.id)}/labels`, { json: { annotator: name(), label: value } });
    });
    sending = false;
    if (!done) {
      form.elements.annotator.focus();
      return;
    }
    waiting = waiting.filter((each) => each !== rule);
    document.getElementById("labelled").textContent = `${value}: ${done.text} (${done.status}).`;
    show();
  }

  function skip() {
    const [rule] = mine();
    if (!rule || sending) return;
    waiting = [...waiting.filter((each) => each !== rule), rule];
    show();
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.label) label(button.dataset.label);
    else if (button && "skip" in button.dataset) skip();
  });
  form.elements.annotator.addEventListener("change", show);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if ("abcde".includes(event.key)) label(event.key);
    else if (event.key === "s") skip();
    else return;
    event.preventDefault();
  });
  show();
}
