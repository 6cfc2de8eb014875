const size = rule => Math.max(rule.sizes[0], rule.sizes[1]);
const operators = [...new Set(data.rules.flatMap(rule => rule.ops))].sort();

function figures() {
  const count = test => data.rules.filter(test).length;
  const bytes = data.rules.reduce((sum, rule) => sum + rule.certificate.length, 0) / Math.max(1, data.rules.length);
  return element("div", {class: "figures"}, ...[
    [count(rule => rule.tier === "core"), "core rules, proved from the definitions", "core"],
    [count(rule => rule.tier === "derived"), "derived rules, implied by the core", "derived"],
    [count(rule => rule.condition), "conditional rules", ""],
    [count(rule => rule.left.n.filter(node => node[0] === 2).length > 1), "rules with several outputs", ""],
    [operators.length, "operators used", ""],
    [Math.round(bytes), "bytes per certificate, average", ""]
  ].map(([value, name, kind]) => element("div", {class: kind}, element("b", {}, number(value)), element("span", {}, name))));
}

function card(rule) {
  const proof = rule.proof === "definitions" ? `proved from the definitions, ${rule.queries} queries`
                                             : `derived, by ${rule.instances} instances of core rules`;
  const head = element("div", {class: "head"}, element("a", {class: "id", href: "#" + rule.id}, rule.id),
                       element("span", {class: "badge " + rule.tier}, rule.tier),
                       element("span", {class: "soft"}, `${proof} · ${rule.sizes[0]} ⇒ ${rule.sizes[1]} operators${rule.reversible ? " · reversible" : ""}`));
  if (rule.condition) head.append(element("span", {class: "mark"}, "when " + rule.condition));
  return element("article", {class: "card rule", id: rule.id}, head,
    element("div", {class: "sides"}, element("div", {class: "side"}, graph(rule.left, "source of " + rule.id)),
            element("div", {class: "arrow", "aria-hidden": "true"}, "⇒"), element("div", {class: "side"}, graph(rule.right, "target of " + rule.id))),
    element("details", {}, element("summary", {}, `Text and certificate, ${number(rule.certificate.length)} bytes`),
            element("pre", {}, rule.text), element("pre", {}, rule.certificate)));
}

function select(label, options) {
  return element("select", {"aria-label": label}, ...options.map(([value, text]) => element("option", {value}, text)));
}
const search = element("input", {type: "search", placeholder: "Search: r12, matmul concat, axis=1 …", "aria-label": "Search the rules' text", autocomplete: "off"});
const tier = select("Tier", [["", "all tiers"], ["core", "core"], ["derived", "derived"]]);
const operator = select("Operator", [["", "all operators"], ...operators.map(name => [name, name])]);
const maxSize = select("Size", [["", "all sizes"], ...[...new Set(data.rules.map(size))].sort((a, b) => a - b).map(n => [n, n === 1 ? "1 operator" : `${n} operators`])]);
const condition = select("Condition", [["", "all conditions"], ["yes", "conditional"], ["no", "unconditional"]]);
const count = element("span", {role: "status"});
const list = element("div"), end = element("p", {class: "soft"});

const ids = new Set(data.rules.map(rule => rule.id));
const words = data.rules.map(rule => [rule.id, rule.text, rule.tier, rule.proof, ...rule.ops].join(" ").toLowerCase());
let found = [], drawn = 0;

/// Rules are drawn when the end of the list comes into view.
function draw(more) {
  list.append(...found.slice(drawn, drawn + more).map(card));
  drawn = Math.min(found.length, drawn + more);
  end.textContent = found.length === 0 ? "No rule matches." : drawn < found.length ? "Scroll on for more rules." : "";
}

function filter() {
  const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const id = terms.length === 1 && ids.has(terms[0]);
  found = data.rules.filter((rule, index) =>
    (id ? rule.id === terms[0] : terms.every(word => words[index].includes(word))) &&
    (!tier.value || rule.tier === tier.value) && (!operator.value || rule.ops.includes(operator.value)) &&
    (!maxSize.value || size(rule) === +maxSize.value) && (!condition.value || (condition.value === "yes") === Boolean(rule.condition)));
  list.replaceChildren();
  drawn = 0;
  draw(30);
  count.textContent = `${number(found.length)} of ${number(data.rules.length)} rules`;
}

heading(`Rule gallery: ${data.name}`, [data.profile && `profile ${data.profile}`, data.max_operators && `up to ${data.max_operators} operators`,
  data.build && `rulemill ${data.build}`, data.solver && `Z3 ${data.solver.replace(/^z3 /i, "")}`].filter(Boolean).join(" · "));
show(element("div", {class: "columns"}, section("Funnel, logarithmic scale", bars(data.funnel.filter(step => step[1] > 0))), section("Contents", figures())),
     element("div", {class: "bar", role: "search"}, search, tier, operator, maxSize, condition, count), list, end);
for (const field of [search, tier, operator, maxSize, condition]) field.addEventListener("input", filter);
new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && draw(30), {rootMargin: "900px"}).observe(end);
filter();
if (ids.has(location.hash.slice(1))) {
  draw(data.rules.findIndex(rule => rule.id === location.hash.slice(1)));
  document.getElementById(location.hash.slice(1)).scrollIntoView();
}
