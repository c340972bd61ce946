// Calls of the REST API, and its errors (application/problem+json) in the boxes of a page.

import { at, go } from "./root.js";

export class Problem extends Error {
  constructor(status, detail, remedy) {
    super(detail);
    this.status = status;
    this.remedy = remedy;
  }
}

/** Call the API; returns the JSON of the response (null without any). Throws a Problem. */
export async function call(method, url, { json, form, headers = {} } = {}) {
  const body = form ?? (json === undefined ? undefined : JSON.stringify(json));
  if (json !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(at(url), { method, body, headers: { Accept: "application/json", ...headers } });
  } catch {
    throw new Problem(0, "The service does not answer.", "Is it still running? Try again.");
  }
  const text = await response.text();
  const data = text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : null;
  if (response.status === 401) {
    go(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  if (!response.ok) {
    throw new Problem(response.status, data?.detail ?? `The service answered ${response.status}.`, data?.remedy ?? "");
  }
  return data;
}

/** Do what an element says by its data-act, or by another of its data: METHOD ADDRESS, with `ids` in place of {names}. */
export function act(element, { of = "act", ids = {}, ...sent } = {}) {
  const [method, url] = element.dataset[of].split(" ");
  return call(method, url.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(ids[name])), sent);
}

/** The items of all pages of a list. */
export async function all(url) {
  const items = [];
  for (let cursor = ""; cursor !== null; ) {
    const page = await call("GET", cursor ? `${url}&cursor=${cursor}` : url);
    items.push(...page.items);
    cursor = page.next;
  }
  return items;
}

/** Show an error in a box made by the macro `problem_box`, or hide it (error null). */
export function show(box, error) {
  box.hidden = !error;
  box.querySelector("[data-detail]").textContent = error?.message ?? "";
  box.querySelector("[data-remedy]").textContent = error?.remedy ?? "";
}

/** Run a task while its button is busy; its error goes into the box. */
export async function busy(button, box, task) {
  button.setAttribute("aria-busy", "true");
  button.disabled = true;
  show(box, null);
  try {
    return await task();
  } catch (error) {
    show(box, error);
    return undefined;
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}

/** A key that the same click sends again, whatever happens to the connection. */
export function key() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
