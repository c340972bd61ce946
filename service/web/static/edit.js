// First screen of a scored edit: the leakage map's filters, zoom, highlights and keys.
import { detail } from "./detail.js";
import { at } from "./root.js";

let map = document.getElementById("map");
const path = at(map.dataset.path);
let data = read();
let pending = null;
let scale = 1;

/** Below this scale letters are smaller than 12 px: the first view is then larger than its frame, which scrolls. */
const READABLE = 1;

function read() {
  return JSON.parse(document.getElementById("map-data").textContent);
}

/** The selection as a query; defaults and empty fields are left out. */
function query(form) {
  const chosen = new URLSearchParams();
  for (const [key, value] of new FormData(form)) {
    if (!value || (key === "min_ratio" && Number(value) === 0) || (key === "draw" && value === "8")) continue;
    if (!chosen.getAll(key).includes(value)) chosen.append(key, value);
  }
  return chosen.toString();
}

/** Fetch the map of another selection; the address follows. */
async function show(chosen, { history: keep = true } = {}) {
  pending?.abort();
  pending = new AbortController();
  const { signal } = pending;
  const response = await fetch(`${path}/map?${chosen}`, { signal }).catch(() => null);
  if (!response?.ok || signal.aborted) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("map");
  if (!fresh || signal.aborted) return;
  const focused = found(document.activeElement?.closest?.("#map *"));
  const open = map.querySelector(".more-filters")?.open;
  map.replaceWith(document.adoptNode(fresh));
  map = fresh;
  data = read();
  if (open) map.querySelector(".more-filters").open = true;
  if (keep) history.replaceState(null, "", chosen ? `${path}?${chosen}` : path);
  bind();
  if (focused) (map.querySelector(focused) ?? document.getElementById("canvas"))?.focus({ preventScroll: true });
}

/** How the same element is found in another map; "" for none. */
function found(element) {
  if (!element) return "";
  for (const key of ["fact", "entity"]) {
    if (element.dataset[key]) return `#map-svg [data-${key}="${CSS.escape(element.dataset[key])}"]`;
  }
  return element.id ? `#${element.id}` : element.name ? `[name="${element.name}"]` : "#canvas";
}

function bind() {
  const form = document.getElementById("filter");
  document.getElementById("apply").hidden = true; // filters apply automatically
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show(query(form));
  });
  let timer;
  form.addEventListener("input", (event) => {
    if (event.target.name === "min_ratio") document.getElementById("strength").value = Number(event.target.value).toFixed(2);
    if (event.target.type === "search" && ![...form.querySelectorAll("datalist option")].some((o) => o.value === event.target.value)) return;
    clearTimeout(timer);
    timer = setTimeout(() => show(query(form)), 150);
  });
  document.getElementById("reset").addEventListener("click", (event) => {
    event.preventDefault();
    show(new URL(event.target.href).searchParams.toString());
  });
  const chosen = form.querySelector("[name=fact]")?.value;
  if (chosen) tell(chosen);
  const svg = document.getElementById("map-svg");
  if (!svg) return;
  for (const tool of map.querySelectorAll("[data-tool]")) {
    tool.hidden = false;
    tool.addEventListener("click", () => ({ in: () => zoom(1.25), out: () => zoom(0.8), fit: () => fit(0), end })[tool.dataset.tool]());
  }
  svg.addEventListener("pointerover", (event) => light(event.target.closest("[data-chains]")));
  svg.addEventListener("pointerleave", () => light(null));
  svg.addEventListener("focusin", (event) => light(event.target.closest("[data-chains]")));
  drag(document.getElementById("canvas"), svg);
  keys(document.getElementById("canvas"), svg);
  fit();
}

/** Size the drawing so that the whole is in view, but at `least` this scale; then it is scrolled. */
function fit(least = READABLE) {
  const canvas = document.getElementById("canvas");
  const { width, height } = document.getElementById("map-svg").viewBox.baseVal;
  const whole = Math.min((canvas.clientWidth - 2) / width, (canvas.clientHeight - 2) / height);
  size(Math.min(1.25, Math.max(whole, least)));
  const subject = document.querySelector("#map-svg .subject")?.getBoundingClientRect();
  const frame = canvas.getBoundingClientRect();
  canvas.scrollLeft = 0;
  if (subject) canvas.scrollTop += subject.top + subject.height / 2 - frame.top - frame.height / 2;
  if (wider()) document.getElementById("map-status").textContent = "Scroll sideways to the old object, or press Fit.";
}

function wider() {
  const canvas = document.getElementById("canvas");
  return document.getElementById("map-svg").getBoundingClientRect().width > canvas.clientWidth + 1;
}

/** Scroll to the old object. */
function end() {
  document.querySelector("#map-svg .target_true rect")?.scrollIntoView({ block: "nearest", inline: "center" });
}

function size(next) {
  const svg = document.getElementById("map-svg");
  scale = Math.max(0.25, Math.min(3, next));
  svg.setAttribute("width", svg.viewBox.baseVal.width * scale);
  svg.setAttribute("height", svg.viewBox.baseVal.height * scale);
  const there = map.querySelector("[data-tool=end]");
  if (there) there.hidden = !wider();
}

function zoom(factor) {
  const canvas = document.getElementById("canvas");
  const x = (canvas.scrollLeft + canvas.clientWidth / 2) / scale;
  const y = (canvas.scrollTop + canvas.clientHeight / 2) / scale;
  size(scale * factor);
  canvas.scrollLeft = x * scale - canvas.clientWidth / 2;
  canvas.scrollTop = y * scale - canvas.clientHeight / 2;
}

/** Light the strongest chain through an element, and say which it is. */
function light(element) {
  const svg = document.getElementById("map-svg");
  const number = element?.dataset.chains?.split(" ")[0];
  svg.classList.toggle("dimmed", Boolean(number));
  for (const each of svg.querySelectorAll("[data-chains]")) {
    each.classList.toggle("lit", Boolean(number) && each.dataset.chains.split(" ").includes(number));
  }
  if (number) document.getElementById("map-status").textContent = `Chain ${number}: ${data.chains[number]}`;
  else if (element) document.getElementById("map-status").textContent = element.getAttribute("aria-label");
}

/** Only the chains through an entity or a fact. */
function choose(element) {
  const form = document.getElementById("filter");
  const chosen = new URLSearchParams(query(form));
  if (element.dataset.entity) {
    const names = chosen.getAll("through");
    chosen.delete("through");
    const name = element.dataset.entity;
    for (const other of names) if (other !== name) chosen.append("through", other);
    if (!names.includes(name)) chosen.append("through", name);
  } else if (chosen.get("fact") === element.dataset.fact) {
    chosen.delete("fact");
  } else {
    chosen.set("fact", element.dataset.fact);
  }
  show(chosen.toString());
}

/** Show what the model answered about a fact, before and after. */
function tell(id) {
  const aside = document.getElementById("detail");
  const fact = data.facts[id];
  if (!fact) return;
  aside.hidden = false;
  aside.replaceChildren(...detail(fact, null));
}

function drag(canvas, svg) {
  let from = null;
  let moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button) return; // touch scrolls by itself
    from = { x: event.clientX, y: event.clientY, left: canvas.scrollLeft, top: canvas.scrollTop };
    moved = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    moved ||= Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4;
    canvas.scrollLeft = from.left - (event.clientX - from.x);
    canvas.scrollTop = from.top - (event.clientY - from.y);
  });
  svg.addEventListener("click", (event) => {
    const element = event.target.closest("[data-fact], [data-entity]");
    from = null;
    if (element && !moved) choose(element);
  });
}

function keys(canvas, svg) {
  canvas.addEventListener("keydown", (event) => {
    const [x, y] = { ArrowRight: [1, 0], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowUp: [0, -1] }[event.key] ?? [0, 0];
    const here = document.activeElement.closest("#map-svg [data-fact], #map-svg [data-entity]");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (x || y) {
      const next = here ? nearest(svg, here, x, y) : svg.querySelector(".subject");
      next?.focus({ preventScroll: true });
      next?.querySelector("rect").scrollIntoView({ block: "nearest", inline: "nearest" });
      if (next?.dataset.fact) tell(next.dataset.fact);
    } else if (event.key === "Enter" || event.key === " ") {
      if (!here) return;
      choose(here);
    } else if (event.key === "Escape") document.getElementById("reset").click();
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit(0);
    else return;
    event.preventDefault();
  });
}

/** The nearest entity or label in a direction; what lies aside counts as farther away. */
function nearest(svg, here, x, y) {
  const middle = (element) => {
    const box = element.querySelector("rect").getBBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const from = middle(here);
  let best = null;
  let least = Infinity;
  for (const each of svg.querySelectorAll("[data-fact], [data-entity]")) {
    const to = middle(each);
    const [right, down] = [to[0] - from[0], to[1] - from[1]];
    const ahead = right * x + down * y;
    const cost = ahead + 2 * Math.abs(right * y + down * x);
    if (ahead > 1 && cost < least) [best, least] = [each, cost];
  }
  return best;
}

bind();
