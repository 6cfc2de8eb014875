// Runs the script of a page in a small document object model and prints the drawn page as HTML:
// draw_page.js PAGE [SEARCH]. With SEARCH, types it first, and prints the milliseconds that the page needs on stderr.
"use strict";
const fs = require("fs"), vm = require("vm");
const escaped = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);

class Element {
  constructor(name) {
    Object.assign(this, {name, attributes: {}, children: [], listeners: {}, value: ""});
  }
  setAttribute(key, value) { this.attributes[key] = String(value); }
  append(...nodes) { this.children.push(...nodes.map(node => node instanceof Element ? node : String(node))); }
  replaceChildren(...nodes) { this.children = []; this.append(...nodes); }
  addEventListener(event, action) { this.listeners[event] = action; }
  scrollIntoView() {}
  set textContent(text) { this.replaceChildren(text); }
  all() { return [this, ...this.children.flatMap(child => child instanceof Element ? child.all() : [])]; }
  html() {
    const attributes = Object.entries(this.attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`).join("");
    const inner = this.children.map(child => child instanceof Element ? child.html() : escaped(child)).join("");
    return `<${this.name}${attributes}>${inner}</${this.name}>`;
  }
}

const [page, search] = process.argv.slice(2);
const [, body, script] = fs.readFileSync(page, "utf8").match(/<body>(.*)<script>(.*)<\/script>/s);
const root = new Element("body");
for (const [, name, id] of body.matchAll(/<(\w+) id="(\w+)">/g)) {
  const node = new Element(name);
  node.setAttribute("id", id);
  root.append(node);
}
const find = test => root.all().find(test) || null;
const document = {createElement: name => new Element(name), createElementNS: (_, name) => new Element(name),
                  getElementById: id => find(node => node.attributes.id === id)};
vm.runInNewContext(script, {document, location: {hash: ""}, IntersectionObserver: class { observe() {} }});
if (search !== undefined) {
  const field = find(node => node.attributes.type === "search"), begin = Date.now();
  field.value = search;
  field.listeners.input();
  console.error(Date.now() - begin);
}
console.log(root.html());
