// The drawing of the leakage graph, by Cytoscape.js where it is there; the page works without it.
import { short, words } from "/static/detail.js";

const canvas = document.getElementById("canvas");
const said = document.getElementById("drawing-said");

const load = () =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/assets/cytoscape.min.js";
    script.addEventListener("load", () => resolve(globalThis.cytoscape));
    script.addEventListener("error", reject);
    document.head.append(script);
  });

/** Draw the graph; resolves to {show, mark}, or to null where the script cannot be had. */
export async function draw(graph, choose) {
  let cytoscape;
  try {
    cytoscape = await load();
  } catch {
    said.textContent = "The drawing needs Cytoscape.js, which is fetched once over the network and could not be. The graph is in the table below.";
    document.getElementById("facts").open = true;
    return null;
  }
  said.hidden = true;
  canvas.hidden = false;
  document.getElementById("tools").hidden = false;
  return new Drawing(cytoscape, graph, choose);
}

class Drawing {
  constructor(cytoscape, graph, choose) {
    this.choose = choose;
    this.upright = canvas.clientWidth < 600;
    this.graph = graph;
    this.cy = cytoscape({
      container: canvas,
      elements: [...graph.nodes.map(node), ...graph.edges.map(edge)],
      layout: { name: "preset", positions: (each) => this.places()[each.id()] },
      style: style(),
      minZoom: 0.1,
      maxZoom: 4,
      autoungrabify: false,
    });
    this.cy.on("tap", "edge", (event) => choose(event.target.id()));
    this.cy.on("tap", "node", (event) => event.target.connectedEdges().flashClass("near", 1500));
    document.addEventListener("theme", () => this.cy.style(style()));
    this.tools();
    this.keys();
  }

  /** {entity: position}: a column for each distance from the subject, rows near their sources. */
  places() {
    if (this.placed) return this.placed;
    const columns = [];
    for (const { id, column } of this.graph.nodes) (columns[column] ??= []).push(id);
    const rank = new Map();
    this.placed = {};
    for (const [x, ids] of columns.entries()) {
      const wish = (id) => {
        const from = this.graph.edges.filter((e) => e.target === id && rank.has(e.source)).map((e) => rank.get(e.source));
        return from.length ? from.reduce((sum, y) => sum + y, 0) / from.length : 0;
      };
      const sorted = (ids ?? []).map((id) => [wish(id), id]).sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
      sorted.forEach(([, id], row) => {
        const y = row - (sorted.length - 1) / 2;
        rank.set(id, y);
        // Every other node steps aside, so that long names do not meet.
        const aside = sorted.length > 6 && row % 2 ? 46 : 0;
        this.placed[id] = this.upright ? { x: y * 84, y: x * 200 + aside } : { x: x * 300 + aside, y: y * 58 };
      });
    }
    return this.placed;
  }

  /** Show the facts that the chains found pass ({id: whether one of them survives}) and the edit. */
  show(passing) {
    this.cy.batch(() => {
      for (const each of this.cy.edges()) {
        const passed = each.id() in passing;
        const kept = passed || each.data("role") !== "fact";
        each.toggleClass("away", !kept);
        each.toggleClass("cut", !passing[each.id()] && each.data("role") !== "target_new");
      }
      for (const each of this.cy.nodes()) {
        const near = each.connectedEdges().some((e) => !e.hasClass("away"));
        each.toggleClass("away", !near && each.data("role") === "entity");
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
    document.getElementById("labels").addEventListener("change", (event) =>
      this.cy.edges().toggleClass("labelled", event.target.checked),
    );
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
    width: 1 + 5 * (fact.post ?? 0),
    label: `${words(fact.relation)} ${short(fact.pre)} → ${short(fact.post)} (× ${short(fact.ratio)})`,
  },
});

/** Colours are those of the page, so that the drawing follows its theme. */
function style() {
  const css = getComputedStyle(document.documentElement);
  const colour = (name) => css.getPropertyValue(`--${name}`).trim();
  const text = { color: colour("text"), "text-outline-color": colour("card"), "text-outline-width": 2 };
  return [
    {
      selector: "node",
      style: {
        ...text, label: "data(name)", "font-size": 13, "text-wrap": "wrap", "text-max-width": 150, "text-valign": "bottom",
        "text-margin-y": 3, width: 16, height: 16, "background-color": colour("node"), "border-width": 1.5, "border-color": colour("line-strong"),
      },
    },
    { selector: "node[role = 'subject']", style: { "background-color": colour("subject"), shape: "ellipse", width: 30, height: 30, "font-weight": "bold", "font-size": 16 } },
    { selector: "node[role = 'target_true']", style: { "background-color": colour("object"), shape: "diamond", width: 34, height: 34, "font-weight": "bold", "font-size": 16 } },
    { selector: "node[role = 'target_new']", style: { "background-color": colour("new"), shape: "star", width: 32, height: 32, "font-weight": "bold", "font-size": 15 } },
    {
      selector: "edge",
      style: {
        ...text, width: "data(width)", "curve-style": "bezier", "target-arrow-shape": "triangle", "line-color": colour("edge"),
        "target-arrow-color": colour("edge"), "font-size": 11, "text-rotation": "autorotate", "arrow-scale": 0.9,
      },
    },
    { selector: "edge.cut", style: { "line-style": "dashed", "line-color": colour("edge-cut"), "target-arrow-color": colour("edge-cut"), "target-arrow-fill": "hollow" } },
    { selector: "edge[role = 'target_new']", style: { "line-color": colour("new"), "target-arrow-color": colour("new"), "target-arrow-shape": "vee", "line-style": "dotted" } },
    { selector: "edge.labelled", style: { label: "data(label)" } },
    { selector: "edge.marked, edge.near", style: { label: "data(label)", "line-color": colour("accent"), "target-arrow-color": colour("accent"), "font-size": 15, "z-index": 9 } },
    { selector: "edge.marked", style: { "overlay-color": colour("accent"), "overlay-opacity": 0.15, "overlay-padding": 4 } },
    { selector: "node.marked", style: { "border-color": colour("accent"), "border-width": 4 } },
    { selector: ".away", style: { display: "none" } },
  ];
}
