// Tab of chains: filters apply at once, and more rows are added in place; both stay in the address.
const filter = document.getElementById("filter");
const path = new URL(filter.action).pathname;
let pending = null;

function query() {
  const chosen = new URLSearchParams();
  for (const [key, value] of new FormData(filter)) {
    if (value && !(key === "min_ratio" && Number(value) === 0)) chosen.append(key, value);
  }
  return chosen.toString();
}

async function show(address) {
  pending?.abort();
  pending = new AbortController();
  const { signal } = pending;
  const response = await fetch(address, { signal }).catch(() => null);
  if (!response?.ok || signal.aborted) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("chains");
  if (signal.aborted) return;
  document.getElementById("chains").replaceWith(document.adoptNode(fresh));
  history.replaceState(null, "", address);
}

document.getElementById("apply").hidden = true;
let timer;
filter.addEventListener("input", (event) => {
  if (event.target.name === "min_ratio") document.getElementById("strength").value = Number(event.target.value).toFixed(2);
  clearTimeout(timer);
  timer = setTimeout(() => show(`${path}?${query()}`), 150);
});
filter.addEventListener("submit", (event) => {
  event.preventDefault();
  show(`${path}?${query()}`);
});
document.addEventListener("click", async (event) => {
  const more = event.target.closest("#more");
  if (!more) return;
  event.preventDefault();
  const before = document.querySelectorAll(".chain").length;
  await show(more.href);
  document.querySelectorAll(".chain")[before]?.querySelector("a")?.focus();
});
