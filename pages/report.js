// A, B, … Z, AA, AB, …
const letters = n => (n < 26 ? "" : letters(Math.floor(n / 26) - 1)) + String.fromCharCode(65 + n % 26);

function change({times, before, after, nodes}, index) {
  const names = nodes.map(row => row.map(list => list.replaceAll("), ", "),\n")));
  return element("div", {id: "change-" + letters(index)},
    element("h3", {}, letters(index) + (times > 1 ? `, ${times} times: the first` : "")),
    element("div", {class: "sides"}, element("div", {class: "side gone"}, graph(before, "before", true)),
            element("div", {class: "arrow", "aria-hidden": "true"}, "⇒"), element("div", {class: "side new"}, graph(after, "after", true))),
    element("details", {}, element("summary", {}, "Names of the nodes"), table(["before", "after"], names, "text names")));
}

function stretch({times, items}) {
  const parts = items.flatMap(({text, group}, i) => [i === 0 ? "" : ", ", group < 0 ? element("span", {class: "soft"}, text) :
    element("a", {class: "badge core", href: "#change-" + letters(group)}, text + letters(group))]);
  return element("li", {}, times > 1 ? element("b", {}, `${times} × `) : "", ...parts);
}

function rule({times, title, proof, text, certificate}) {
  const parts = [element("p", {}, `${times} × ${title}; ${proof}`), element("pre", {}, text)];
  if (certificate) parts.push(element("details", {}, element("summary", {}, "Certificate"), element("pre", {}, certificate)));
  return parts;
}

heading(data.model, "Report of rulemill optimize");
show(element("section", {class: "card headline"}, element("b", {}, data.headline.text), element("p", {}, data.headline.detail),
             element("p", {class: "soft"}, data.estimate)));
if (data.warning) show(element("p", {class: "warning"}, data.warning));
if (data.changes.length) {
  show(section("What changed", element("p", {class: "soft"}, "Solid boxes changed, dashed boxes are their neighbors. The shapes of constants are below " +
    "an operator, the shape of its result is below the box."), ...data.changes.map(change)));
}
show(section("Operators; costs are estimates of the model", table(["operator", "nodes", "cost", "weights", "nodes after", "cost", "weights"], data.operators, "total")));
if (data.verification.length) show(section("Verification", table(["verifier", "result"], data.verification, "text")));
if (data.times) show(section("Measured times", element("pre", {}, data.times)));
show(section("The model from top to bottom", element("ol", {class: "outline"}, ...data.outline.map(stretch))));
if (data.rules.length) show(section("Rules that fired", ...data.rules.flatMap(rule)));
if (data.opaque.length) show(section("Opaque nodes, which no definition matches", table(["nodes", "operator", "reason"], data.opaque, "text")));
show(section("Figures of the run", table([], data.figures, "text")));
