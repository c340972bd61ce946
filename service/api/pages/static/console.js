// The console's keys: Ctrl + Enter (or Command + Enter) runs the query, in the query or its parameters.
const form = document.getElementById("ask");
document.getElementById("keys").hidden = false;
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit();
});
