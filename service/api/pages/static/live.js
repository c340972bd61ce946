// Progress of what is under way: server-sent events, for a few at a time, since a browser holds
// six connections to a host and every stream takes one.

const STREAMS = 3;
const AGAIN_MS = 3000;

/** Follow the elements with data-live (where their events are) inside root; `ended` is called when one of them ends. */
export function follow(root, ended) {
  const elements = [...root.querySelectorAll("[data-live]")];
  // What runs first, then what waits longest (the list is newest first).
  elements.sort((a, b) => value(b) - value(a)).splice(STREAMS);
  const open = elements.map((element) => stream(element, ended));
  const close = () => open.forEach((stop) => stop());
  addEventListener("pagehide", close, { once: true });
  return close;
}

const value = (element) => element.querySelector("progress").value;

function stream(element, ended) {
  const source = new EventSource(element.dataset.live);
  let timer;
  const told = (event) => {
    const now = JSON.parse(event.data);
    if (typeof now.progress === "number") element.querySelector("progress").value = now.progress;
    element.querySelector("[data-stage]").textContent = now.stage ?? now.status;
  };
  source.addEventListener("stage", told);
  source.addEventListener("progress", told);
  source.addEventListener("end", (event) => {
    source.close();
    ended(JSON.parse(event.data));
  });
  source.addEventListener("error", () => {
    // A stream that is refused for good (not: that broke off) is not tried again by the browser.
    if (source.readyState === EventSource.CLOSED) timer = setTimeout(() => ended({ status: "unknown" }), AGAIN_MS);
  });
  return () => {
    source.close();
    clearTimeout(timer);
  };
}
