// The chosen fact: the prompt, the probabilities, and the answers the model gave before and after.

const element = (name, text = "", attributes = {}) => {
  const node = document.createElement(name);
  node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

const figure = (p) => (p === null ? "–" : p.toFixed(3));

export const short = (p) => {
  if (p === null || p === undefined) return "–";
  if (p === 0) return "0";
  if (p < 0.001) return "<.001";
  if (p >= 100) return p.toFixed(0);
  return p.toFixed(p < 0.1 ? 3 : 2).replace(/^0/, "");
};

export const words = (relation) => relation.replace(/[-_]/g, " ");

const ROLES = { target_true: "the edited fact", target_new: "the edited fact in its new form" };

function answers(title, given, p) {
  const part = element("div", "", { class: "answers" });
  part.append(element("h4", `${title}: p ${figure(p)}`));
  const counts = new Map();
  for (const answer of given) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  if (!counts.size) {
    part.append(element("p", "No answers were sampled: likelihoods only.", { class: "hint" }));
    return part;
  }
  const list = element("ul");
  for (const [answer, n] of [...counts].sort((a, b) => b[1] - a[1])) {
    const item = element("li", answer || "(nothing)");
    if (given.length > 1) item.append(" ", element("small", `${n} of ${given.length}`));
    list.append(item);
  }
  part.append(list);
  return part;
}

/** The elements that describe a fact; `through`, if given, is called to show only the chains through it. */
export function detail(fact, through) {
  const parts = [
    element("h3", `${fact.source} ${words(fact.relation)} ${fact.target}`),
    element("p", `Retention ${short(fact.ratio)}${fact.change ? ` (${fact.change})` : ""}. On ${fact.chains} chain${fact.chains === 1 ? "" : "s"}; surviving: ${fact.surviving}.`),
  ];
  if (ROLES[fact.role]) parts.push(element("p", ROLES[fact.role], { class: "tag" }));
  const asked = element("p", "Asked: ");
  asked.append(element("q", `${fact.asked} …`));
  parts.push(asked);
  if (fact.question) parts.push(element("p", `As a question: ${fact.question}`, { class: "hint" }));
  parts.push(answers("Before", fact.answers_pre, fact.pre), answers("After", fact.answers_post, fact.post));
  if (fact.chains && through) {
    const button = element("button", "Only chains through this fact", { type: "button", class: "quiet" });
    button.addEventListener("click", through);
    parts.push(button);
  }
  return parts;
}
