const names = (data.stages || []).map(stage => stage.name);
const color = name => `var(--s${names.indexOf(name)})`;
const bytes = b => {
  const unit = b < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(b) / 10));
  return b === undefined ? "" : (b / 1024 ** unit).toFixed(unit ? 1 : 0) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
};

/// The scale of time. Pauses between runs are drawn as 5% of the total.
function scale(rows) {
  const spans = [];
  for (const row of [...rows].sort((a, b) => a.begin - b.begin)) {
    const last = spans[spans.length - 1], end = row.begin + row.seconds;
    if (last && row.begin <= last[1] + .5) last[1] = Math.max(last[1], end); else spans.push([row.begin, end]);
  }
  const total = spans.reduce((sum, [a, b]) => sum + b - a, 0) || 1, gap = total / 20;
  return {length: total + gap * (spans.length - 1), at: time => {
    let x = 0;
    for (const [a, b] of spans) {
      if (time <= b) return x + Math.max(0, time - a);
      x += b - a + gap;
    }
    return x;
  }};
}

function timeline(rows) {
  if (!rows.length) return element("p", {}, "no events");
  const ranks = [...new Set(rows.map(row => row.rank))].sort((a, b) => a - b), height = Math.max(6, Math.min(22, 600 / ranks.length));
  const {length, at} = scale(rows), x = time => 60 + 990 * at(time) / length;
  const svg = shape("svg", {class: "chart", viewBox: `0 0 1060 ${ranks.length * height + 20}`, role: "img", "aria-label": "Timeline"});
  if (ranks.length <= 60) svg.append(...ranks.map((rank, i) => shape("text", {class: "soft", x: 0, y: i * height + height * .7}, `rank ${rank}`)));
  for (const row of rows) {
    const y = ranks.indexOf(row.rank) * height, width = Math.max(1, x(row.begin + row.seconds) - x(row.begin));
    const workers = (row.busy_seconds || 0) + (row.idle_seconds || 0);
    const waits = workers > 0 ? width * row.idle_seconds / workers : row.seconds > 0 ? width * Math.min(1, (row.waiting || 0) / row.seconds) : 0;
    const line = row.finished ? {} : {stroke: color(row.stage), "fill-opacity": .45, "stroke-dasharray": "3 3"};
    svg.append(shape("rect", {x: x(row.begin), y: y + 1, width, height: height - 2, rx: 2, fill: color(row.stage), ...line},
                     shape("title", {}, `rank ${row.rank}: ${row.stage}, ${seconds(row.seconds)}`)));
    if (waits > 1) svg.append(shape("rect", {x: x(row.begin) + width - waits, y: y + 1, width: waits, height: height - 2, fill: "var(--wait)"}));
  }
  return svg;
}

function showRun() {
  const funnel = Object.entries(data.funnel || {});
  show(section("Stages", table(["stage", "state", "time"], data.stages.map(stage => [stage.name, stage.state, seconds(stage.seconds)]))),
    section("Timeline, one line per rank; pale: waiting for other ranks, or idle workers; dotted: interrupted; pauses are shortened",
            element("div", {class: "key"}, ...names.map(name => element("span", {}, element("i", {style: `background: ${color(name)}`}), name))), timeline(data.ranks)),
    section("Funnel, logarithmic scale", funnel.length ? bars(funnel) : element("p", {}, "written when the run ends")),
    section("Balance", table(["stage", "rank", "time", "waiting", "workers busy", "idle", "sent", "peak memory"], data.ranks.map(row =>
      [row.stage, row.rank, seconds(row.seconds), seconds(row.waiting), seconds(row.busy_seconds), seconds(row.idle_seconds),
       bytes(row.bytes_sent), bytes(row.memory)]))));
}

function showModels() {
  show(section("Models", element("p", {class: "soft"}, "Measured: how many times as fast the result is. Cost and gain are estimates of the cost model."),
               table(data.columns, data.models)));
}

heading(data.profile || data.folder, data.state || "");
if (data.models) showModels(); else showRun();
