// The buttons of an edit's pages that edit facts of the leak cut too.
import { act, busy, key } from "./api.js";
import { go } from "./root.js";

document.addEventListener("click", async (event) => {
  const start = event.target.closest("[data-request]");
  if (!start) return;
  const run = await busy(start, document.getElementById("co-edit-problem"), () =>
    act(start, { json: JSON.parse(start.dataset.request), headers: { "Idempotency-Key": key() } }),
  );
  if (run) go(`/coedits/${encodeURIComponent(run.id)}`);
});
