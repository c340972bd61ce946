// Drawing of the leakage graph with Cytoscape.js; without the script the web UI shows a table.
import { short, words } from "/static/detail.js";

/** Maximum number of facts that are all labelled; above it only a chosen fact has its label. */
const LABELLED = 30;

const canvas = document.getElementById("canvas");
const status = document.getElementById("drawing-status");

const load = () =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/assets/cytoscape.min.js";
    script.addEventListener("load", () => resolve(globalThis.cytoscape));
    script.addEventListener("error", reject);
    document.head.append(script);
  });

/** Draw the graph; resolves to {show, mark}, or to null without the script. */
export async function draw(graph, choose) {
  let cytoscape;
  try {
    cytoscape = await load();
  } catch {
    status.textContent = "The drawing needs Cytoscape.js, which could not be downloaded. The graph is in the table below.";
    document.getElementById("facts").open = true;
    return null;
  }
  status.hidden = true;
  canvas.hidden = false;
  document.getElementById("tools").hidden = false;
  return new Drawing(cytoscape, graph, choose);
}

class Drawing {
  constructor(cytoscape, graph, choose) {
    this.choose = choose;
    this.upright = canvas.clientWidth < 600;
    this.graph = graph;
    this.roles = new Map(graph.nodes.map(({ id, role }) => [id, role]));
    this.cy = cytoscape({
      container: canvas,
      elements: [...graph.nodes.map(node), ...graph.edges.map(edge)],
      layout: { name: "preset" },
      style: style(this.upright),
      minZoom: 0.1,
      maxZoom: 4,
      autoungrabify: false,
    });
    this.cy.on("tap", "edge", (event) => choose(event.target.id()));
    this.cy.on("tap", "node", (event) => event.target.connectedEdges().flashClass("near", 1500));
    document.addEventListener("theme", () => this.cy.style(style(this.upright)));
    this.tools();
    this.keys();
  }

  /** {entity: position}: a column for each distance from the subject, rows near their sources. */
  places(nodes, edges) {
    const columns = [];
    for (const { id, column } of nodes) (columns[column] ??= []).push(id);
    const layers = columns.filter(Boolean);
    const [along, across] = this.upright ? [canvas.clientHeight, canvas.clientWidth] : [canvas.clientWidth, canvas.clientHeight];
    const far = (along - 110) / Math.max(1, layers.length - 1);
    const apart = Math.max(this.upright ? 66 : 50, Math.min(110, (across - 80) / Math.max(...layers.map((ids) => ids.length))));
    const rank = new Map();
    const placed = {};
    for (const [x, ids] of layers.entries()) {
      const wish = (id) => {
        if (this.roles.get(id) === "target_new") return Infinity; // beside the chains, not among them
        const from = edges.filter((e) => e.target === id && rank.has(e.source)).map((e) => rank.get(e.source));
        return from.length ? from.reduce((sum, y) => sum + y, 0) / from.length : 0;
      };
      const sorted = ids.map((id) => [wish(id), id]).sort((a, b) => (a[0] === b[0] ? (a[1] < b[1] ? -1 : 1) : a[0] - b[0]));
      sorted.forEach(([, id], row) => {
        const y = row - (sorted.length - 1) / 2 + (this.roles.get(id) === "target_new" ? 0.4 : 0);
        rank.set(id, y);
        // Every second node is shifted, so that long names do not overlap and lines avoid nodes.
        const aside = sorted.length > 4 ? (row % 2 ? 0.13 : -0.13) * far : 0;
        placed[id] = this.upright ? { x: y * apart, y: x * far + aside } : { x: x * far + aside, y: y * apart };
      });
    }
    // The edited fact itself is an arc around all others.
    const widest = Math.max(...layers.map((ids) => ids.length));
    this.cy.edges("[role = 'target_true']").style("control-point-distances", (this.upright ? 1 : -1) * (widest * apart * 0.8 + 40));
    return placed;
  }

  /** Show the facts of the chains found ({few, all}: {fact: whether it survives}) and the edit. */
  show(drawn) {
    this.drawn = drawn;
    const passing = drawn[document.getElementById("how-many").value];
    const edges = this.graph.edges.filter((fact) => fact.id in passing || fact.role !== "fact");
    const ends = new Set(edges.flatMap((fact) => [fact.source, fact.target]));
    const nodes = this.graph.nodes.filter(({ id }) => ends.has(id));
    const places = this.places(nodes, edges);
    const few = edges.length <= LABELLED && !this.upright;
    this.cy.batch(() => {
      for (const each of this.cy.nodes()) {
        each.toggleClass("away", !ends.has(each.id()));
        if (places[each.id()]) each.position(places[each.id()]);
      }
      for (const each of this.cy.edges()) {
        const drawn = each.id() in passing;
        each.toggleClass("away", !drawn && each.data("role") === "fact");
        each.toggleClass("cut", !passing[each.id()] && each.data("role") !== "target_new");
        each.toggleClass("labelled", few || document.getElementById("labels").checked);
      }
    });
    this.fit();
  }

  mark(id) {
    this.cy.elements().removeClass("marked");
    const marked = this.cy.getElementById(id);
    marked.addClass("marked");
    marked.connectedNodes().addClass("marked");
  }

  fit() {
    this.cy.fit(this.cy.elements().not(".away"), 24);
  }

  zoom(factor) {
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: { x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 } });
  }

  tools() {
    const does = { in: () => this.zoom(1.4), out: () => this.zoom(1 / 1.4), fit: () => this.fit() };
    document.getElementById("tools").addEventListener("click", (event) => does[event.target.dataset.tool]?.());
    for (const id of ["labels", "how-many"]) {
      document.getElementById(id).addEventListener("change", () => this.drawn && this.show(this.drawn));
    }
  }

  /** Arrow keys go from one drawn fact to the next; plus, minus and 0 zoom. */
  keys() {
    let at = -1;
    const step = (by) => {
      const drawn = this.cy.edges().not(".away").sort((a, b) => b.data("surviving") - a.data("surviving"));
      if (!drawn.length) return;
      at = (at + by + drawn.length) % drawn.length;
      this.choose(drawn[at].id());
    };
    const does = {
      ArrowRight: () => step(1),
      ArrowDown: () => step(1),
      ArrowLeft: () => step(-1),
      ArrowUp: () => step(-1),
      "+": () => this.zoom(1.4),
      "-": () => this.zoom(1 / 1.4),
      0: () => this.fit(),
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !does[event.key]) return;
      event.preventDefault();
      does[event.key]();
    });
  }
}

const node = ({ id, name, role }) => ({ data: { id, name, role } });

const edge = (fact) => ({
  data: {
    id: fact.id,
    source: fact.source,
    target: fact.target,
    role: fact.role,
    surviving: fact.surviving,
    next: fact.next ? 1 : 0,
    width: 1 + 3.5 * (fact.post ?? 0),
    label: `${fact.next ? "✂ " : ""}${words(fact.relation)}\n${short(fact.pre)} → ${short(fact.post)}${fact.role === "target_new" ? "" : ` (× ${short(fact.ratio)})`}`,
  },
});

/** Colours come from the style sheet, so that the drawing follows the theme. */
function style(upright) {
  const css = getComputedStyle(document.documentElement);
  const colour = (name) => css.getPropertyValue(`--${name}`).trim();
  const text = { color: colour("text"), "text-outline-color": colour("card"), "text-outline-width": 2 };
  return [
    {
      selector: "node",
      style: {
        ...text, label: "data(name)", "font-size": upright ? 10 : 12, "text-wrap": "wrap", "text-max-width": upright ? 64 : 130, "text-valign": "bottom",
        "text-margin-y": 3, width: 16, height: 16, "background-color": colour("node"), "border-width": 1.5, "border-color": colour("line-strong"),
      },
    },
    { selector: "node[role = 'subject']", style: { "background-color": colour("subject"), shape: "ellipse", width: 30, height: 30, "font-weight": "bold", "font-size": upright ? 11 : 14 } },
    { selector: "node[role = 'target_true']", style: { "background-color": colour("object"), shape: "diamond", width: 34, height: 34, "font-weight": "bold", "font-size": upright ? 11 : 14 } },
    { selector: "node[role = 'target_new']", style: { "background-color": colour("new"), shape: "star", width: 32, height: 32, "font-weight": "bold", "font-size": upright ? 11 : 13 } },
    {
      selector: "edge",
      style: {
        ...text, width: "data(width)", "curve-style": "bezier", "target-arrow-shape": "triangle", "line-color": colour("edge"),
        "target-arrow-color": colour("edge"), "font-size": 10.5, "text-wrap": "wrap", "line-height": 1.05, "min-zoomed-font-size": 7,
        "text-background-color": colour("card"), "text-background-opacity": 0.8, "text-background-padding": 1, "text-rotation": "autorotate", "arrow-scale": 0.9,
      },
    },
    { selector: "edge.cut", style: { "line-style": "dashed", "line-color": colour("edge-cut"), "target-arrow-color": colour("edge-cut"), "target-arrow-fill": "hollow" } },
    { selector: "edge[role = 'target_true']", style: { "curve-style": "unbundled-bezier", "control-point-weights": 0.5 } },
    { selector: "edge[role = 'target_new']", style: { "line-color": colour("new"), "target-arrow-color": colour("new"), "target-arrow-shape": "vee", "line-style": "dotted" } },
    {
      // A fact of the leak cut: its colour, dashes, a bar across its start, and scissors.
      selector: "edge[next = 1]",
      style: {
        label: "✂", "font-size": 15, color: colour("next"), "line-style": "dashed", "line-dash-pattern": [10, 5], "line-color": colour("next"), "target-arrow-color": colour("next"),
        "source-arrow-shape": "tee", "source-arrow-color": colour("next"), "arrow-scale": 1.2,
      },
    },
    { selector: "edge.labelled", style: { label: "data(label)", "font-size": 10.5 } },
    { selector: "edge.marked, edge.near", style: { label: "data(label)", "line-color": colour("accent"), "target-arrow-color": colour("accent"), "font-size": 13, "z-index": 9 } },
    { selector: "edge.marked", style: { "overlay-color": colour("accent"), "overlay-opacity": 0.15, "overlay-padding": 4 } },
    { selector: "node.marked", style: { "border-color": colour("accent"), "border-width": 4 } },
    { selector: ".away", style: { display: "none" } },
  ];
}
