// Page of data sets: preview of an upload, then its import.
import { act, busy } from "./api.js";
import { go } from "./root.js";

const form = document.getElementById("import");
const store = document.getElementById("store");
const preview = document.getElementById("preview");
let shown = null;

const chosen = () => [...form.elements.files.files, ...form.elements.folder.files].filter((file) => !file.name.startsWith("."));

/** The upload as a form: each file under the path it has in its folder. */
function upload(more = {}) {
  const data = new FormData();
  for (const file of chosen()) data.append("file", file, file.webkitRelativePath || file.name);
  if (form.elements.format.value) data.set("format", form.elements.format.value);
  for (const item of form.elements.map.value.split(/[;\n]/)) if (item.trim()) data.append("map", item.trim());
  for (const [name, value] of Object.entries(more)) data.set(name, value);
  return data;
}

form.addEventListener("change", (event) => {
  // One source at a time: choosing a folder forgets the files, and the other way round.
  if (event.target.type === "file" && event.target.files.length) {
    for (const other of ["files", "folder"]) if (other !== event.target.name) form.elements[other].value = "";
  }
  const files = chosen();
  const size = files.reduce((sum, file) => sum + file.size, 0);
  document.getElementById("chosen").textContent = files.length
    ? `${files.length} file${files.length > 1 ? "s" : ""}, ${(size / 1e6).toFixed(size < 1e5 ? 3 : 1)} MB`
    : "No file is chosen.";
  preview.hidden = true;
});

/** A row of a table, as text. */
const row = (...cells) => {
  const made = document.createElement("tr");
  for (const text of cells) made.insertCell().textContent = text;
  return made;
};

function counted(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

function show(found) {
  shown = found;
  preview.hidden = false;
  const already = { same: " The same data set is stored already: an import changes nothing.", other: " A data set of this name with other content is stored." };
  document.getElementById("found").textContent =
    `${found.format}: ${counted(found.n_facts, "fact")}, ${found.n_entities.toLocaleString("en")} ${found.n_entities === 1 ? "entity" : "entities"}, ${counted(found.n_rewrites, "rewrite request")} from ${counted(found.files.length, "file")}.${already[found.stored] ?? ""}`;
  document.getElementById("layouts").replaceChildren(...found.layouts.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  const kinds = Object.entries(found.counts);
  document.getElementById("counts").replaceChildren(
    ...(kinds.length ? kinds : [["nothing to merge, repair or refuse", null]]).map(([kind, n]) => {
      const item = document.createElement("li");
      item.className = kind.split(" ")[0];
      item.textContent = n === null ? kind : `${kind}: ${n.toLocaleString("en")}`;
      return item;
    }),
  );
  const notes = document.getElementById("notes");
  notes.hidden = !found.notes.length;
  notes.querySelector("tbody").replaceChildren(...found.notes.map((note) => row(note.code ? `${note.kind}: ${note.code}` : note.kind, note.where, note.reason)));
  document.getElementById("facts").replaceChildren(...found.facts.map((fact) => row(fact.subject, fact.relation, fact.object, fact.prompt)));
  document.getElementById("rewrites-title").textContent = found.n_rewrites ? `Rewrite requests (${Math.min(10, found.n_rewrites)} of ${found.n_rewrites}):` : "No rewrite request: state one when you score.";
  document.getElementById("rewrites").replaceChildren(...found.rewrites.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  if (store) store.elements.name.value = found.name;
  if (store) offerReplace();
  preview.focus();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const box = document.getElementById("import-problem");
  const found = await busy(document.getElementById("ask"), box, () => act(form, { form: upload() }));
  if (found) show(found);
});

store?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = { name: store.elements.name.value };
  if (store.elements.replace?.checked) given.replace = "true";
  const box = document.getElementById("store-problem");
  const done = await busy(store.querySelector("button"), box, () => act(store, { form: upload(given) }));
  if (done !== undefined) go(`/?graph=${encodeURIComponent(done?.graph ?? shown.name)}`);
});

/** Of another name than the previewed one it is not known here what is stored. */
function offerReplace() {
  const replace = document.getElementById("replace");
  if (replace) replace.hidden = shown.stored !== "other" && store.elements.name.value === shown.name;
}
store?.elements.name.addEventListener("input", offerReplace);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-ships]");
  if (!button) return;
  const box = document.getElementById("ships-problem");
  const done = await busy(button, box, () => act(button, { json: { source: button.dataset.ships } }));
  if (done !== undefined) location.reload();
});
