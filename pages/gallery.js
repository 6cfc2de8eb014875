const size = rule => Math.max(rule.sizes[0], rule.sizes[1]);
const operators = [...new Set(data.rules.flatMap(rule => rule.ops))].sort();
const saved = rule => Math.abs(rule.gain ?? 0);

function figures() {
  const count = test => data.rules.filter(test).length;
  return element("div", {class: "figures"}, ...[
    [count(rule => rule.tier === "core"), "core rules, proved from the definitions", "core"],
    [count(rule => rule.tier === "derived"), "derived rules, implied by the core", "derived"],
    [count(rule => rule.any_rank), "hold for any rank", ""],
    [count(rule => rule.parameters.length), "hold for any value of a parameter", ""],
    [count(rule => rule.conditions), "have a condition on sizes", ""],
    [operators.length, "operators used", ""]
  ].map(([value, name, kind]) => element("div", {class: kind}, element("b", {}, number(value)), element("span", {}, name))));
}

function gainText({gain}) {
  if (gain === null) return "";
  return gain === 0 ? "same cost" : gain > 0 ? `saves ${gain}%` : `reversed: saves ${-gain}%`;
}

function card(rule) {
  const proof = rule.proof === "definitions" ? "from the definitions" : `by ${counted(rule.instances, "instance")} of core rules`;
  const facts = [proof, `${rule.sizes[0]} ⇒ ${rule.sizes[1]} operators`, gainText(rule), rule.any_rank && "any rank",
                 rule.parameters.length && `any ${rule.parameters.join(", ")}`, rule.reversible && "reversible"];
  const head = element("div", {class: "head"}, element("a", {class: "id", href: "#" + rule.id}, rule.id),
                       element("span", {class: "badge " + rule.tier}, rule.tier),
                       element("span", {class: "soft"}, facts.filter(Boolean).join(" · ")));
  if (rule.condition) head.append(element("span", {class: "mark"}, "when " + rule.condition));
  return element("article", {class: "card rule", id: rule.id}, head,
    element("div", {class: "sides"}, element("div", {class: "side"}, graph(rule.left, "source of " + rule.id)),
            element("div", {class: "arrow", "aria-hidden": "true"}, rule.text.includes("\n  -> ") ? "→" : "⇒"), element("div", {class: "side"}, graph(rule.right, "target of " + rule.id))),
    element("details", {}, element("summary", {}, `Text and certificate, ${number(rule.certificate.length)} bytes`),
            element("pre", {}, rule.text), element("pre", {}, rule.certificate)));
}

function select(name, options) {
  return element("select", {name, "aria-label": name}, ...options.map(([value, text]) => element("option", {value}, text)));
}
const choices = {
  tier: [["", "all tiers"], ["core", "core"], ["derived", "derived"]],
  operator: [["", "all operators"], ...operators.map(name => [name, name])],
  gain: [["", "any gain"], ["1", "saves something"], ["25", "saves 25% or more"], ["50", "saves 50% or more"], ["90", "saves 90% or more"]],
  generality: [["", "general or not"], ["rank", "any rank"], ["parameter", "any parameter"], ["fixed", "fixed rank, parameters"]],
  condition: [["", "any condition"], ["yes", "conditional"], ["no", "unconditional"]],
  size: [["", "all sizes"], ...[...new Set(data.rules.map(size))].sort((a, b) => a - b).map(n => [n, counted(n, "operator")])],
  order: [["", "by number"], ["use", "most useful first"], ["gain", "by gain"], ["generality", "by generality"], ["size", "by size"]]
};
const accepts = {
  tier: (rule, value) => rule.tier === value,
  operator: (rule, value) => rule.ops.includes(value),
  gain: (rule, value) => saved(rule) >= +value,
  generality: (rule, value) => value === "rank" ? rule.any_rank : value === "parameter" ? rule.parameters.length > 0
                                                                : !rule.any_rank && rule.parameters.length === 0,
  condition: (rule, value) => (value === "yes") === (rule.conditions > 0),
  size: (rule, value) => size(rule) === +value
};
const use = rule => (rule.gain ? 1e6 : 0) + 1e3 * rule.generality + saved(rule);
const orders = {use: rule => -use(rule), gain: rule => -saved(rule), generality: rule => -rule.generality, size};

const search = element("input", {type: "search", placeholder: "Search: r12, matmul concat, axis=1 …", "aria-label": "Search the rules' text", autocomplete: "off"});
const fields = Object.entries(choices).map(([name, options]) => select(name, options));
const count = element("span", {role: "status"});
const list = element("div", {id: "rules"}), end = element("p", {class: "soft"});

const ids = new Set(data.rules.map(rule => rule.id));
const words = new Map(data.rules.map(rule => [rule, [rule.id, rule.text, rule.tier, rule.proof, ...rule.ops].join(" ").toLowerCase()]));
let found = [], drawn = 0;

/// Rules are drawn when the end of the list comes into view.
function draw(more) {
  list.append(...found.slice(drawn, drawn + more).map(card));
  drawn = Math.min(found.length, drawn + more);
  end.textContent = found.length === 0 ? "No rule matches." : drawn < found.length ? "Scroll on for more rules." : "";
}

/// One pass over the rules.
function filter() {
  const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const id = terms.length === 1 && ids.has(terms[0]);
  const chosen = fields.filter(field => field.name in accepts && field.value);
  const order = orders[fields.find(field => field.name === "order").value];
  found = data.rules.filter(rule => (id ? rule.id === terms[0] : terms.every(word => words.get(rule).includes(word))) &&
                                    chosen.every(field => accepts[field.name](rule, field.value)));
  if (order) found.sort((a, b) => order(a) - order(b));
  list.replaceChildren();
  drawn = 0;
  draw(20);
  count.textContent = `${number(found.length)} of ${number(data.rules.length)} rules`;
  list.removeAttribute("aria-busy");
}

/// Filters when typing pauses.
let pending = 0;
function filterSoon() {
  list.setAttribute("aria-busy", "true");
  clearTimeout(pending);
  pending = setTimeout(filter, 120);
}

heading(`Rule gallery: ${data.name}`, [data.profile && `profile ${data.profile}`, data.max_operators && `up to ${data.max_operators} operators`,
  data.build && `rulemill ${data.build}`, data.solver && `Z3 ${data.solver.replace(/^z3 /i, "")}`].filter(Boolean).join(" · "));
show(section("Contents", figures(),
             element("details", {}, element("summary", {}, "From graphs to rules: counts after each step, logarithmic scale"),
                     bars(data.funnel.filter(step => step[1] > 0))),
             element("details", {}, element("summary", {}, "What the words mean"),
                     element("p", {}, "Saves 50%: at the sizes of the rule's example, the target needs half of the multiply-adds and " +
                       "written elements of the source; reversed: the source needs less. It is a count, not a measurement."),
                     element("p", {}, "Any rank: a name with dots (d...) stands for any number of dimensions. Any stride: the parameter is open, " +
                       "and the rule holds for each value. A condition restricts sizes. By generality: any rank first, then open parameters, then few conditions. " +
                       "Most useful first: rules that save something, the most general of them first, then by gain."))),
     element("div", {class: "bar", role: "search"}, search, ...fields, count), list, end);
search.addEventListener("input", filterSoon);
for (const field of fields) field.addEventListener("input", filter);
new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && draw(20), {rootMargin: "900px"}).observe(end);
beforePrint.push(() => draw(found.length));
if (ids.has(location.hash.slice(1))) search.value = location.hash.slice(1);
filter();
