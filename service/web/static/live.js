// Progress of queued and running jobs: their records are read once a second, a few at a time.

import { at } from "./root.js";

const MOST = 6;
const PAUSE_MS = 1000;

/** Follow the elements with data-live (address of their record) inside root; `changed` is called when one has another status than the one shown. */
export function follow(root, changed) {
  const elements = [...root.querySelectorAll("[data-live]")];
  // Running jobs first, then those queued longest (the list is newest first).
  elements.sort((a, b) => value(b) - value(a)).splice(MOST);
  let stopped = false;
  const stop = () => (stopped = true);
  addEventListener("pagehide", stop, { once: true });
  const poll = async (element) => {
    const now = await read(element.dataset.live);
    if (stopped) return;
    if (now) {
      if (typeof now.progress === "number") element.querySelector("progress").value = now.progress;
      element.querySelector("[data-stage]").textContent = now.stage ?? now.status;
      if (now.status !== element.dataset.status) return changed(now);
    }
    setTimeout(() => poll(element), PAUSE_MS);
  };
  elements.forEach(poll);
  return stop;
}

const value = (element) => element.querySelector("progress").value;

/** The record; null while the service does not answer, and an unknown status where there is none. */
async function read(address) {
  try {
    const answer = await fetch(at(address), { headers: { Accept: "application/json" } });
    if (answer.ok) return await answer.json();
    return answer.status < 500 ? { status: "unknown" } : null;
  } catch {
    return null;
  }
}
