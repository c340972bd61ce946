// Page of a queued or running edit or job: its progress, and its result as soon as there is one.
import { act, busy } from "./api.js";
import { follow } from "./live.js";

const live = document.querySelector("[data-live]");
if (live) follow(document, () => location.reload());

for (const button of document.querySelectorAll("[data-cancel]")) {
  button.addEventListener("click", () =>
    busy(button, document.getElementById("cancel-problem"), async () => {
      await act(button);
      document.querySelector("[data-message]").textContent = "Cancelling …";
    }),
  );
}
