// Copies the text of a command to the clipboard.
document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (!copy) return;
  const code = copy.closest(".command").querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    copy.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    copy.textContent = "Selected: press Ctrl+C"; // no clipboard without https
  }
  setTimeout(() => (copy.textContent = "Copy"), 2500);
});
