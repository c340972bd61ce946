// The table editor's comforts: new rows while writing, Enter goes down, cells pasted from a spreadsheet.
const form = document.getElementById("editor");
for (const hint of document.querySelectorAll("[data-keys]")) hint.hidden = false;

const cells = (row) => [...row.querySelectorAll("input, textarea")];
const rows = (table) => [...table.tBodies[0].rows];

/** An empty row at the end of a table. */
function add(table) {
  const last = rows(table).at(-1);
  const row = last.cloneNode(true);
  const number = rows(table).length + 1;
  row.classList.remove("flawed");
  for (const flaw of row.querySelectorAll(".flaw")) flaw.remove();
  row.querySelector("[data-row]").textContent = number;
  for (const cell of cells(row)) {
    cell.value = "";
    cell.removeAttribute("id");
    cell.removeAttribute("aria-invalid");
    cell.removeAttribute("aria-describedby");
    cell.setAttribute("aria-label", cell.getAttribute("aria-label").replace(/\d+$/, number));
  }
  last.after(row);
  return row;
}

form.addEventListener("input", (event) => {
  const row = event.target.closest("tr");
  const table = event.target.closest("table");
  if (table && row === rows(table).at(-1) && event.target.value) add(table);
});

form.addEventListener("keydown", (event) => {
  const table = event.target.closest("table");
  if (!table || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    form.requestSubmit();
  } else if (event.target.tagName === "INPUT") {
    event.preventDefault(); // Enter in a field would send the form
    const row = event.target.closest("tr");
    const below = row.nextElementSibling ?? add(table);
    cells(below)[cells(row).indexOf(event.target)].focus();
  }
});

form.addEventListener("paste", (event) => {
  const table = event.target.closest("table");
  const text = event.clipboardData.getData("text/plain").replace(/\r\n?/g, "\n").replace(/\n$/, "");
  const several = text.includes("\t") || (event.target.tagName === "INPUT" && text.includes("\n"));
  if (!table || !several) return;
  event.preventDefault();
  const column = cells(event.target.closest("tr")).indexOf(event.target);
  let row = event.target.closest("tr");
  for (const line of text.split("\n")) {
    const into = cells(row).slice(column);
    line.split("\t").slice(0, into.length).forEach((value, i) => { into[i].value = value.trim(); });
    row = row.nextElementSibling ?? add(table);
  }
});
