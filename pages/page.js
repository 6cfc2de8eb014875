const number = n => n.toLocaleString("en-US");
const seconds = s => s === undefined ? "" : s < 1 ? (1e3 * s).toFixed(0) + " ms" : s < 120 ? s.toFixed(1) + " s" : (s / 60).toFixed(1) + " min";

const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
const element = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);
const shape = (name, attributes = {}, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
const section = (title, ...children) => element("section", {class: "card"}, element("h2", {}, title), ...children);
const show = (...nodes) => document.getElementById("main").append(...nodes);

/// Paper shows everything: unfolds all details for printing, after the functions in `beforePrint`.
const beforePrint = [], unfolded = [];
addEventListener("beforeprint", () => {
  for (const prepare of beforePrint) prepare();
  for (const details of document.querySelectorAll("details:not([open])")) {
    details.open = true;
    unfolded.push(details);
  }
});
addEventListener("afterprint", () => unfolded.splice(0).forEach(details => { details.open = false; }));

function heading(title, about) {
  document.title = title;
  document.getElementById("title").append(...title.split(/(?<=[/_.-])/).flatMap(part => [part, element("wbr")]));
  document.getElementById("about").append(about);
}

function table(head, rows, kind = "") {
  const line = (cell, texts) => element("tr", {}, ...texts.map(text => element(cell, {}, String(text))));
  return element("table", {class: kind}, element("thead", {}, line("th", head)), element("tbody", {}, ...rows.map(row => line("td", row))));
}

/// Counts as bars of logarithmic length.
function bars(counts) {
  const line = 21, left = 262, width = 780, right = 96, colors = {core: "var(--core)", "derived rules": "var(--derived)"};
  const top = Math.log10(1 + Math.max(1, ...counts.map(([, count]) => count)));
  const svg = shape("svg", {class: "chart", viewBox: `0 0 ${width} ${Math.max(1, counts.length) * line + 4}`, role: "img", "aria-label": "Counts after each step"});
  counts.forEach(([name, count], i) => {
    const length = Math.max(3, (width - left - right) * Math.log10(1 + count) / top), y = 2 + i * line;
    svg.append(shape("text", {x: left - 10, y: y + 14, "text-anchor": "end"}, name),
               shape("rect", {x: left, y: y + 2, width: length, height: line - 6, rx: 4, fill: colors[name] || "var(--accent)", opacity: .8}),
               shape("text", {x: left + length + 8, y: y + 14, class: "soft"}, number(count)));
  });
  return svg;
}

/// An edge is vertical within rows and bends between them only, so that it does not run behind a node.
function edgePath(half, from, bends, to, begin, end) {
  let {x, y} = from, path = `M${x} ${begin}`;
  for (const next of [...bends, to]) {
    const top = y + half, bottom = next.y - half, middle = (top + bottom) / 2;
    path += `V${top}C${x} ${middle} ${next.x} ${middle} ${next.x} ${bottom}`;
    ({x, y} = next);
  }
  return path + `V${end - 3}`;
}

/// A graph of nodes [kind, label, detail, type, name] and edges [from, to, label]. The types of results are titles, or texts
/// below the boxes.
function graph(drawing, title, typesBelow = false) {
  if (!drawing.n.length) return element("p", {class: "soft"}, "nothing");
  const {nodes, edges, half, width, height} = layout(drawing, typesBelow ? 74 : 64);
  // A narrow screen shows it smaller, down to what can be read.
  const svg = shape("svg", {viewBox: `0 0 ${width} ${height + (typesBelow ? 16 : 0)}`, width, role: "img", "aria-label": title,
                            style: `min-width: ${.65 * width}px`});
  for (const edge of edges) {
    const {from, to, label, bends} = edge;
    // Arguments enter side by side, in order.
    const beside = edges.filter(other => other.to === to), place = beside.indexOf(edge);
    const spread = beside.length > 1 ? (place - (beside.length - 1) / 2) * Math.min(16, to.width / beside.length) : 0;
    // Outputs leave side by side, in order.
    const which = [...new Set(edges.filter(other => other.from === from).map(other => other.label))].sort();
    const leave = from.x + (which.length > 1 ? (which.indexOf(label) - (which.length - 1) / 2) * outputSpacing : 0);
    const a = from.y + from.height / 2, b = to.y - to.height / 2, x = to.x + spread;
    svg.append(shape("path", {class: "edge", d: edgePath(half, {x: leave, y: from.y}, bends, {x, y: to.y}, a, b)}),
               shape("path", {class: "tip", d: `M${x} ${b}l-3.4 -6h6.8z`}));
    if (label) svg.append(shape("text", {class: "outside", x: leave + (leave < from.x ? -14 : 14), y: a + 11}, label));
  }
  drawing.n.forEach(([kind, label, detail, type, name], i) => {
    const {x, y, width, height} = nodes[i];
    const group = shape("g", {}, shape("title", {}, name || (type ? `${label}: ${type}` : label)),
      shape("rect", {class: "k" + kind, x: x - width / 2, y: y - height / 2, width, height, rx: kind === 0 ? height / 2 : 7}),
      shape("text", {class: kind === 2 ? "detail" : "label", x, y: y + (detail ? -2 : 4.5)}, label));
    if (detail) group.append(shape("text", {class: "detail", x, y: y + 12.5}, detail));
    if (type && typesBelow) group.append(shape("text", {class: "outside", x, y: y + height / 2 + 14}, type));
    svg.append(group);
  });
  return svg;
}
