// Progress of queued and running edits by server-sent events, for a few at a time: a browser opens at
// most six connections to a host, and every stream uses one.

import { at } from "./root.js";

const STREAMS = 3;
const AGAIN_MS = 3000;

/** Follow the elements with data-live (address of their events) inside root; `ended` is called when one of them is finished. */
export function follow(root, ended) {
  const elements = [...root.querySelectorAll("[data-live]")];
  // Running edits first, then those queued longest (the list is newest first).
  elements.sort((a, b) => value(b) - value(a)).splice(STREAMS);
  const open = elements.map((element) => stream(element, ended));
  const close = () => open.forEach((stop) => stop());
  addEventListener("pagehide", close, { once: true });
  return close;
}

const value = (element) => element.querySelector("progress").value;

function stream(element, ended) {
  const source = new EventSource(at(element.dataset.live));
  let timer;
  const update = (event) => {
    const now = JSON.parse(event.data);
    if (typeof now.progress === "number") element.querySelector("progress").value = now.progress;
    element.querySelector("[data-stage]").textContent = now.stage ?? now.status;
  };
  source.addEventListener("stage", update);
  source.addEventListener("progress", update);
  source.addEventListener("end", (event) => {
    source.close();
    ended(JSON.parse(event.data));
  });
  source.addEventListener("error", () => {
    // The browser does not retry a stream that was refused (it retries one that broke).
    if (source.readyState === EventSource.CLOSED) timer = setTimeout(() => ended({ status: "unknown" }), AGAIN_MS);
  });
  return () => {
    source.close();
    clearTimeout(timer);
  };
}
