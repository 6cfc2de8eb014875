// Layered graph layout, every node below its arguments (after Sugiyama, Tagawa and Toda, 1981). Equal graphs have equal layouts.

const outputSpacing = 34;  // of edges from different outputs of a node

/// Sets each node's arguments and users; the arguments are in the order of the edges.
function connect(nodes, edges) {
  for (const node of nodes) Object.assign(node, {above: [], below: []});
  for (const {from, to} of edges) {
    to.above.push(from);
    from.below.push(to);
  }
}

/// A node is one row below its lowest argument; one without arguments is just above its first user; outputs are in the last row.
function assignRows(nodes, edges) {
  for (let changed = true; changed;) {
    changed = false;
    for (const {from, to} of edges) {
      if (to.row > from.row) continue;
      to.row = from.row + 1;
      changed = true;
    }
  }
  const last = Math.max(...nodes.map(node => node.row));
  for (const node of nodes) {
    if (node.isOutput) node.row = last;
    else if (!node.above.length) node.row = Math.max(0, Math.min(last, ...node.below.map(user => user.row)) - 1);
  }
}

/// Replaces an edge over several rows by a chain through narrow nodes, its bends, one in each row between its ends, so that it
/// does not run behind a node. The last part of the chain takes the place of the edge, which keeps the order of arguments.
function splitEdges(nodes, edges) {
  const lastParts = [], otherParts = [];
  for (const {from, to, bends} of edges) {
    let above = from;
    for (let row = from.row + 1; row < to.row; ++row) {
      const bend = {width: 2, row};
      nodes.push(bend);
      bends.push(bend);
      otherParts.push({from: above, to: bend});
      above = bend;
    }
    lastParts.push({from: above, to});
  }
  return [...lastParts, ...otherParts];
}

/// Sorts rows by the mean position of neighbours, alternating upward and downward sweeps, to reduce crossings of edges.
function orderRows(rows) {
  const sweeps = 7;         // odd: the last sweep goes up, where the order of arguments counts
  const argumentPull = .4;  // in positions; small: keeps arguments in order if all else is equal
  const number = row => row.forEach((node, i) => { node.position = i - (row.length - 1) / 2; });
  const offset = (node, {above}) => above.indexOf(node) - (above.length - 1) / 2;
  rows.forEach(number);
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    const down = sweep % 2 === 1;
    for (const row of down ? rows : [...rows].reverse()) {
      for (const node of row) {
        const neighbours = down ? node.above : node.below;
        const sum = neighbours.reduce((total, other) => total + other.position + (down ? 0 : argumentPull * offset(node, other)), 0);
        node.wanted = neighbours.length ? sum / neighbours.length : node.position;
      }
      row.sort((a, b) => a.wanted - b.wanted);
      number(row);
    }
  }
}

/// Packs the rows, then moves each node towards its neighbours as far as adjacent nodes allow.
function placeNodes(rows) {
  const sweeps = 28, gap = 14, distance = (a, b) => Math.trunc((a.width + b.width) / 2) + gap;
  for (const row of rows) {
    let end = 0;
    for (const node of row) {
      node.x = end + Math.trunc(node.width / 2);
      end += node.width + gap;
    }
    for (const node of row) node.x -= Math.trunc(end / 2);
  }
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    for (const row of rows) {
      for (let i = 0; i < row.length; ++i) {
        const at = sweep % 2 === 0 ? i : row.length - 1 - i, node = row[at], left = row[at - 1], right = row[at + 1];
        const neighbours = [...node.above, ...node.below];
        if (!neighbours.length) continue;
        const least = left ? left.x + distance(left, node) : -Infinity, most = right ? right.x - distance(node, right) : Infinity;
        const wanted = Math.trunc(neighbours.reduce((sum, {x}) => sum + x, 0) / neighbours.length);
        const x = Math.min(Math.max(wanted, least), most);
        if (x >= least) node.x = x;
      }
    }
  }
}

/// Returns the nodes with the sizes of their boxes and the positions of their centres, the edges with their bends, and the size
/// of the whole. `half`: no box reaches further up or down from the middle of its row. Units are pixels; rows are `rowHeight` apart.
function layout(drawing, rowHeight) {
  const margin = 6, half = 19, columns = text => [...text].length;
  const given = drawing.n.map(([kind, label, detail], i) => {
    if (kind === 2) return {isOutput: true, row: 0, width: 14 + 6 * columns(label), height: 18};
    const outputs = new Set(drawing.e.filter(([from]) => from === i).map(edge => edge[2])).size;
    const width = Math.max(20 + 8 * columns(label), 20 + Math.trunc(6.5 * columns(detail)), outputSpacing * (outputs - 1) + 2);
    return {row: 0, width, height: detail ? 2 * half : 26};
  });
  const edges = drawing.e.map(([from, to, label]) => ({from: given[from], to: given[to], label, bends: []}));
  connect(given, edges);
  assignRows(given, edges);
  const nodes = [...given];
  connect(nodes, splitEdges(nodes, edges));
  const rows = Array.from({length: 1 + Math.max(...nodes.map(node => node.row))}, (_, row) => nodes.filter(node => node.row === row));
  orderRows(rows);
  placeNodes(rows);
  const reach = side => nodes.map(node => node.x + side * Math.trunc(node.width / 2)), left = Math.min(...reach(-1)) - margin;
  for (const node of nodes) Object.assign(node, {x: node.x - left, y: margin + half + node.row * rowHeight});
  return {nodes: given, edges, half, width: Math.max(...reach(1)) + margin, height: (rows.length - 1) * rowHeight + 2 * (half + margin)};
}
