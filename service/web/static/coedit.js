// The button of an edit's page that co-edits what the leak cut names.
import { busy, call, key } from "./api.js";
import { go } from "./root.js";

const start = document.getElementById("co-edit");

start?.addEventListener("click", async () => {
  const run = await busy(start, document.getElementById("co-edit-problem"), () =>
    call("POST", "/v1/coedits", { json: JSON.parse(start.dataset.request), headers: { "Idempotency-Key": key() } }),
  );
  if (run) go(`/coedits/${encodeURIComponent(run.id)}`);
});
