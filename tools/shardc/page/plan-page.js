// SPDX-License-Identifier: Apache-2.0
"use strict";

// The page of `shardc plan --html`: draws the object in #data, which the compiler writes.

const data = JSON.parse(document.getElementById("data").textContent);
const plan = data.plan;
const timeline = data.timeline;
const ranks = Object.values(plan.mesh).reduce((product, size) => product * size, 1);
const limit = data.memory ? data.memory.budget : plan.memory.capacity;

// Formatting

const locale = d3.formatLocale({
  decimal: ".", thousands: "\u202f", grouping: [3], currency: ["", ""]
});
const formatCount = locale.format(",.0f");

/** Three significant digits, and all digits before the point. */
const significant = value => {
  const size = Math.abs(value);
  return locale.format(size >= 99.95 ? ",.0f" : size >= 9.995 ? ".1f" : ".2f")(value);
};

/** A value in the largest of the units, each `base` times the one before, in which it is >= 1. */
const inUnits = (value, units, base) => {
  const power = units.findIndex((_, i) => Math.abs(value) < base ** (i + 1) * 0.9995);
  const at = power < 0 ? units.length - 1 : power;
  const text = at === 0 && Number.isInteger(value) ? formatCount(value)
    : significant(value / base ** at);
  return `${text}\u00a0${units[at]}`;
};

/** Formats of bytes, rates, nanoseconds, seconds, operations, shares and utilizations. */
const formatBytes = bytes => inUnits(bytes, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const formatRate = rate =>
  rate < 99.95 ? rate.toFixed(rate < 9.995 ? 2 : 1) : formatCount(Math.round(rate));
const formatTime = ns => ns === 0 ? "0" : inUnits(ns, ["ns", "us", "ms", "s"], 1000);
const formatSeconds = seconds => formatTime(seconds * 1e9);
const formatOperations = (operations, unit) =>
  inUnits(operations, ["", "k", "M", "G", "T", "P", "E"].map(prefix => prefix + unit), 1000);
const formatShare = share => share > 0 && share < 0.0005 ? "<\u00a00.1\u00a0%"
  : `${locale.format(",.1f")(share * 100)}\u00a0%`;
const formatUtilization = share => share >= 0.1 || share === 0 ? formatShare(share)
  : `${locale.format(".3r")(share * 100)}\u00a0%`;
/** A count with its noun. */
const plural = (count, noun) => `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

// Colours

const COLORS = {
  "matmuls": "blue", "attention": "pink", "memory-bound kernels": "sky", "convolutions": "wine",
  "optimizer": "yellow", "all-gather": "green", "reduce-scatter": "orange",
  "all-reduce": "indigo", "idle": "idle", "activations": "blue", "gathered": "green",
  "reduced": "orange", "workspace": "pink"
};
const exposedParts = Object.keys(plan.time.parts)
  .filter(name => name.startsWith("exposed ") && plan.time.parts[name] > 0);

/** The colour of a kind of command, of a part of the time, or of a purpose of memory. */
const colorOf = name => `var(--${COLORS[name] || (exposedParts.includes(name)
  ? `exposed-${exposedParts.indexOf(name) % 3}` : "grey")})`;

/** The value of a CSS colour under the present colour scheme, for canvases. */
const resolve = color => {
  const tip = document.getElementById("tip");
  tip.style.outlineColor = color;
  return getComputedStyle(tip).outlineColor;
};

/** The colour of text on a background. */
const inkOn = color => d3.lab(resolve(color)).l > 58 ? "#11161c" : "#ffffff";

// Elements

/** Appends an element with a class, or attributes, and a text. */
const add = (parent, tag, attributes, text) => {
  const element = parent.append(tag);
  const all = typeof attributes === "string" ? { class: attributes } : attributes || {};
  Object.keys(all).forEach(name => element.attr(name, all[name]));
  return text === undefined ? element : element.text(text);
};

/** Hides the tip. */
const hideTip = () => d3.select("#tip").attr("hidden", "");

/** Shows a title and [label, value] lines next to a point of the window. */
const showTip = (x, y, title, lines) => {
  const tip = d3.select("#tip").attr("hidden", null).html("");
  add(tip, "b", null, title);
  const list = add(tip, "dl");
  for (const [label, value] of lines) {
    add(list, "dt", null, label);
    add(list, "dd", null, value);
  }
  const { width, height } = tip.node().getBoundingClientRect();
  const left = x + 14 + width > window.innerWidth ? x - 14 - width : x + 14;
  tip.style("left", `${Math.max(4, left)}px`)
    .style("top", `${Math.max(4, Math.min(y + 14, window.innerHeight - height - 4))}px`);
};

/** Shows the tip that `describe` gives for an element's datum when it is pointed at or focused. */
const tipOn = (selection, describe) => selection
  .on("mousemove", datum => showTip(d3.event.clientX, d3.event.clientY, ...describe(datum)))
  .on("focus", function (datum) {
    const box = this.getBoundingClientRect();
    showTip(box.right, box.top, ...describe(datum));
  })
  .on("mouseleave", hideTip).on("blur", hideTip);

/** Fills a legend with [name, colour] entries. */
const fillLegend = (id, entries) => {
  const items = d3.select(id).html("").selectAll("span").data(entries).join("span");
  items.append("span").attr("class", ([, color]) => color === "limit" ? "swatch line" : "swatch")
    .style("background", ([, color]) => color === "limit" ? null : color);
  items.append("span").text(([name]) => name);
};

/** Draws { name, value, color } parts side by side; the whole width stands for `whole`. */
const drawBar = (id, parts, whole, format, mark) => {
  const bar = d3.select(id).html("").attr("role", "img").attr("aria-label",
    parts.map(({ name, value }) => `${name} ${format(value)}`).join(", "));
  const width = bar.node().clientWidth;
  let begin = 0;
  for (const part of parts) {
    const share = part.value / whole;
    const item = add(bar, "div", "part", width * share > 7 * part.name.length ? part.name : "")
      .datum(part).style("left", `${begin * 100}%`).style("width", `${share * 100}%`)
      .style("background", part.color).style("color", inkOn(part.color));
    tipOn(item, ({ name, value }) => [name, [["", format(value)],
      ["share", formatShare(value / d3.sum(parts, other => other.value))]]]);
    begin += share;
  }
  if (mark) {
    tipOn(add(bar, "div", "limit").style("left", `calc(${mark / whole * 100}% - 1px)`),
      () => ["limit per rank", [["", format(mark)]]]);
  }
};

// Tables

/** Appends a row, and its children, which a button in the first cell shows; returns the row. */
const addRow = (body, columns, row, nested) => {
  const line = add(body, "tr", row.className).classed("nested", nested);
  line.selectAll("td").data(columns).join("td").attr("data-label", column => column.title)
    .classed("number", column => column.number).each(function (column) {
      const cell = d3.select(this);
      if (column.fill) column.fill(cell, row);
      else if (row[column.key] !== undefined) cell.text(column.format(row[column.key]));
    });
  if (!row.children) return line;
  const children = row.children.map(child => addRow(body, columns, child, true).node());
  const button = line.select("td").insert("button", ":first-child").attr("class", "fold")
    .attr("type", "button").attr("aria-label", `Show each of ${row.children.length}`);
  const show = open => {
    button.attr("aria-expanded", String(open)).text(open ? "▾" : "▸");
    d3.selectAll(children).attr("hidden", open ? null : "");
  };
  button.on("click", () => show(button.attr("aria-expanded") !== "true"));
  show(false);
  return line;
};

/** Columns of tables: of texts, of numbers, and of cells that a function fills. */
const textColumn = (title, key) => ({ title, key, format: text => text });
const numberColumn = (title, key, format) => ({ title, key, format, number: true });
const filledColumn = (title, key, fill) => ({ title, key, fill });

/** Appends a table that can be sorted by each column. */
const addTable = (id, label, columns, rows, footer) => {
  const table = add(d3.select(id), "table", { "aria-label": label })
    .classed("wide", columns.length > 4);
  const heads = add(add(table, "thead"), "tr").selectAll("th").data(columns).join("th")
    .attr("scope", "col").classed("number", column => column.number);
  const body = add(table, "tbody");
  const fill = sorted => {
    body.html("");
    sorted.forEach(row => addRow(body, columns, row, false));
  };
  heads.append("button").attr("type", "button").text(column => column.title).on("click", column => {
    const head = heads.filter(other => other === column);
    const order = head.attr("aria-sort") === "descending" ? "ascending" : "descending";
    heads.attr("aria-sort", null);
    head.attr("aria-sort", order);
    fill(rows.slice().sort((a, b) => d3[order](a[column.key], b[column.key])));
  });
  if (footer) addRow(add(table, "tfoot"), columns, footer, false);
  fill(rows);
};

/** Appends the table of the parts of a whole. */
const addPartTable = (id, label, [name, amount], format, parts, whole) => addTable(id, label, [
  filledColumn(name, "name", (cell, part) => {
    if (part.color) add(cell, "span", "swatch").style("background", part.color);
    add(cell, "span", null, part.name);
  }),
  numberColumn(amount, "value", format),
  numberColumn("Share", "value", value => formatShare(value / whole))
], parts, { name: "all", value: whole });

// Header

/**
 * Appends a headline answer, a large line and smaller ones. Lines are of texts and of [path, text]:
 * numbers of the plan, which tests compare with the JSON.
 */
const addAnswer = (parent, name, title, ...lines) => {
  const answer = add(parent, "div", `answer ${name}`);
  add(answer, "div", "title", title);
  lines.forEach((words, i) => {
    const line = add(answer, "div", i ? "detail" : "value");
    words.forEach(word => Array.isArray(word)
      ? add(line, "span", { "data-fact": word[0] }, word[1]) : add(line, "span", null, word));
  });
};

/** Appends the answer whether the plan fits, and by how much or what does. */
const addMemoryAnswer = parent => {
  const { fits, bytes } = plan.memory;
  const need = ["memory.bytes", formatBytes(bytes)];
  const most = ["memory.capacity", formatBytes(limit)];
  const share = ` per rank (${formatShare(bytes / limit)})`;
  if (fits) {
    addAnswer(parent, "good", "Fits in memory", [need],
      ["of ", most, `${share}, ${formatBytes(limit - bytes)} free`]);
    return;
  }
  const [other] = alternatives.filter(({ fits }) => fits).sort((a, b) => a.seconds - b.seconds);
  addAnswer(parent, "bad", "Does not fit in memory",
    [`${formatBytes(bytes - limit)} over`], ["Needs ", need, " of ", most, share],
    other ? [`Fastest alternative that fits: ${other.plan} `
      + `(${formatBytes(other.bytes)}, ${formatSeconds(other.seconds)})`] : []);
};

/** Appends the answers about time and utilization. */
const addTimeAnswers = (parent, time) => {
  addAnswer(parent, "", "Step time", [["time.seconds", formatSeconds(time.seconds)]],
    [["units_per_second_of_rank", formatRate(time.units_per_second / ranks)],
      ` ${time.unit}/s per rank, `,
      ["time.units_per_second", formatRate(time.units_per_second)], " total"]);
  addAnswer(parent, "", "Model FLOPs utilization (MFU)",
    [["time.mfu", formatUtilization(time.mfu)]],
    ["HFU ", ["time.hfu", formatUtilization(time.hfu)],
      ` of ${formatOperations(time.peak_operations_per_second, "FLOP/s")} in ${time.peak_dtype}, `
      + `${formatOperations(time.model_operations, "FLOP")} per rank and step`]);
};

/** The [name, value] options that decide memory and time. */
const optionFacts = () => {
  const { options, optimizer } = plan;
  const { kind, ...settings } = optimizer;
  const scalars = d3.entries(settings)
    .filter(({ value }) => value !== false && typeof value !== "object")
    .map(({ key, value }) => `${key.replace(/_/g, " ")}${value === true ? "" : ` ${value}`}`);
  const exported = dtype => dtype || "as exported";
  const inputs = plan.inputs.map(({ name, dtype, shape }) =>
    `${name} ${dtype} [${shape.join(", ")}]`);
  const facts = [
    ["Micro-batches per step", formatCount(plan.micro_batches)],
    ["Inputs of a micro-batch", inputs.join("; ")],
    ["Optimizer", kind + (scalars.length ? ` (${scalars.join(", ")})` : "")],
    ["Parameter dtype", exported(options.param_dtype)],
    ["Reduce dtype", exported(options.reduce_dtype)],
    ["Master dtype", exported(options.master_dtype)],
    ["Wrap", options.wrap],
    ["Reshard after forward", options.reshard],
    ["Recompute", options.recompute],
    ["Prefetch", options.prefetch],
    ["Per-module rules", plan.auto ? "" : options.module_rules]
  ];
  return facts.filter(([, value]) => value !== "" && value !== undefined);
};

/** Appends the options that auto chose and how far from the bound they are. */
const addAuto = (parent, auto) => {
  const box = add(parent, "div", "chosen");
  add(box, "div", null, "Chosen automatically:");
  add(box, "code", null, auto.flags);
  const gap = auto.forecast_seconds / auto.bound_seconds - 1;
  add(box, "div", "note", `No plan of these groups that fits ${formatBytes(auto.budget)} is more `
    + `than ${formatShare(gap)} faster (${plural(auto.forecasts, "plan")} forecast, `
    + `${plural(auto.compiled, "step")} compiled).`);
};

/** Fills the header: what is planned, the answers, and the options. */
const drawHeader = () => {
  const header = d3.select("#header");
  const mesh = d3.entries(plan.mesh).map(({ key, value }) => `${key} ${value}`).join(" × ");
  document.title = `${plan.model} – shardc plan`;
  add(add(header, "div"), "h1", null, plan.model);
  add(header, "p", "subtitle",
    `Forecast of a training step on ${plural(ranks, "rank")} (${mesh}) of ${plan.machine}`
    + (plan.runtime === "fsdp2" ? " under FSDP2" : ""));
  const answers = add(header, "div", "answers");
  addMemoryAnswer(answers);
  addTimeAnswers(answers, plan.time);
  const facts = add(header, "dl", "facts").selectAll("div").data(optionFacts()).join("div");
  facts.append("dt").text(([name]) => name);
  facts.append("dd").text(([, value]) => value);
  if (plan.auto) addAuto(header, plan.auto);
};

// Memory and time by part

/** The parts of a whole with their colours; parts of less than 0.05 % are children of one. */
const partsOf = (amounts, whole) => {
  const parts = d3.entries(amounts).filter(({ value }) => value > 0)
    .map(({ key, value }) => ({ name: key, value }));
  const [large, small] = [true, false].map(is =>
    parts.filter(({ value }) => value >= 0.0005 * whole === is));
  const states = large.filter(({ name }) => !COLORS[name] && !/^(exposed|fragment)/.test(name));
  for (const part of parts) {
    const state = states.indexOf(part);
    part.color = state < 0 ? colorOf(part.name)
      : `var(--state-${Math.floor(state * 6 / states.length)})`;
  }
  return small.length < 2 ? parts : [...large, { name: `${small.length} smaller parts`,
    value: d3.sum(small, part => part.value), color: "var(--grey)", children: small }];
};
const memoryParts = partsOf(plan.memory.parts, plan.memory.bytes);
const timeParts = partsOf(plan.time.parts, plan.time.seconds);

/** Draws the bars of memory and time. */
const drawBars = () => {
  const { bytes } = plan.memory;
  drawBar("#memory-bar", memoryParts, Math.max(bytes, limit), formatBytes, limit);
  drawBar("#time-bar", timeParts, plan.time.seconds, formatSeconds);
};

/** Fills the tables of memory and time. */
const drawPartTables = () => {
  const { bytes, contributors, peak } = plan.memory;
  addPartTable("#memory-parts", "Parts of memory", ["Part", "Bytes"], formatBytes, memoryParts,
    bytes);
  addTable("#memory-contributors", "Top contributors", [textColumn("Modules", "modules"),
    textColumn("Purpose", "purpose"), numberColumn("Bytes", "bytes", formatBytes)],
  contributors.slice(0, 12));
  add(d3.select("#memory-contributors"), "p", "note",
    `The arena peaks at ${peak.command}${peak.module ? ` in ${peak.module}` : ""}.`);
  addPartTable("#time-parts", "Time by category", ["Category", "Time per step"], formatSeconds,
    timeParts, plan.time.seconds);
};

// Groups

/** Groups as rows, the first and the last of many modules as their name; consecutive groups that
    differ only in digits of the name are one row. */
const foldGroups = groups => {
  const folded = [];
  for (const whole of groups) {
    const group = { ...whole, name: whole.name.replace(/&.*&/, "&…&") };
    const { exposed_seconds, ...same } = group;
    const key = JSON.stringify({ ...same, name: group.name.replace(/\d+/g, "*") });
    const last = folded[folded.length - 1];
    if (last && last.key === key) last.members.push(group);
    else folded.push({ key, members: [group] });
  }
  return folded.map(({ members }) => members.length === 1 ? { ...members[0], count: 1 } : {
    ...members[0],
    name: `${members[0].name} … ${members[members.length - 1].name}`,
    exposed_seconds: d3.sum(members, group => group.exposed_seconds),
    count: members.length,
    children: members
  });
};

/** Fills the table of groups. */
const drawGroups = () => {
  const fillName = (cell, row) => {
    cell.attr("data-groups", row.count || null);
    add(cell, "span", null, row.name);
    if (row.children) add(cell, "span", "count", ` (${row.count})`);
  };
  const other = plan.other_exposed_seconds;
  addTable("#groups-table", "FSDP groups", [
    filledColumn("Group", "name", fillName),
    numberColumn("Parameters", "parameters", formatCount),
    textColumn("Dtypes", "dtypes"),
    textColumn("Reshard", "reshard"),
    textColumn("Recompute", "recompute"),
    numberColumn("All-gathers", "gathers", formatCount),
    numberColumn("Gathered", "gather_bytes", formatBytes),
    numberColumn("Reduce-scatters", "reduces", formatCount),
    numberColumn("Reduced", "reduce_bytes", formatBytes),
    numberColumn("Exposed", "exposed_seconds", formatSeconds)
  ], foldGroups(plan.groups), other ? { name: "other collectives", exposed_seconds: other } : null);
};

// Charts over time: memory and the timeline, which share a horizontal axis

const view = { panels: [], hover: null };

/** Draws the panels with the next frame. */
const schedule = () => {
  if (view.frame) return;
  view.frame = requestAnimationFrame(() => {
    view.frame = 0;
    view.panels.forEach(panel => panel.draw());
  });
};

/** Shows what a transform of the whole step shows, in all panels. */
const applyZoom = transform => {
  view.transform = transform;
  view.x = transform.rescaleX(view.base);
  view.panels.forEach(panel => {
    panel.node.__zoom = transform;
  });
  schedule();
};

/** Whether an event zooms: at the whole step, scrolling down and one finger scroll the page. */
const zooms = () => {
  const { type, deltaY, touches, button } = d3.event;
  const whole = view.transform.k < 1.0001;
  return !(whole && (type === "wheel" && deltaY > 0 || touches && touches.length < 2)) && !button;
};

/** Calls a method of the zoom, which then applies to all panels. */
const zoom = (method, ...values) => view.zoom[method](d3.select(view.panels[0].node), ...values);
/** Shows the whole step. */
const zoomReset = () => zoom("transform", d3.zoomIdentity);

/** Zooms and pans with the keyboard. */
const onKey = () => {
  const step = (view.right - view.left) / 6 / view.transform.k;
  const action = {
    "+": () => zoom("scaleBy", 1.5), "-": () => zoom("scaleBy", 1 / 1.5), "0": zoomReset,
    "ArrowLeft": () => zoom("translateBy", step, 0),
    "ArrowRight": () => zoom("translateBy", -step, 0)
  }[d3.event.key];
  if (!action) return;
  d3.event.preventDefault();
  action();
};

/** Adds a panel: a focusable element that is zoomed with the others and draws itself. */
const addPanel = (id, label, draw, hover, build) => {
  const element = d3.select(id).attr("tabindex", 0).attr("role", "img").attr("aria-label", label);
  view.panels.push({ node: element.node(), draw, build });
  element.call(view.zoom).on("dblclick.zoom", null).on("dblclick", zoomReset).on("keydown", onKey);
  element.on("mousemove", function () {
    const [x, y] = d3.mouse(this);
    view.hover = x >= view.left && x <= view.right ? view.x.invert(x) : null;
    const tip = view.hover === null ? null : hover(view.hover, y);
    if (tip) showTip(d3.event.clientX, d3.event.clientY, ...tip);
    else hideTip();
    schedule();
  }).on("mouseleave", () => {
    view.hover = view.hovered = null;
    hideTip();
    schedule();
  });
};

/** Fits the horizontal axis to the page's width; what is zoomed to stays. */
const layoutView = () => {
  const shown = view.x ? view.x.domain() : [0, view.end];
  view.left = window.innerWidth < 760 ? 62 : 84;
  view.right = view.panels[0].node.clientWidth - 12;
  view.base = d3.scaleLinear().domain([0, view.end]).range([view.left, view.right]);
  view.zoom.extent([[view.left, 0], [view.right, 1]])
    .translateExtent([[view.left, -Infinity], [view.right, Infinity]])
    .scaleExtent([1, Math.max(1, view.end / 50)]);
  const k = view.end / (shown[1] - shown[0]);
  applyZoom(d3.zoomIdentity.translate(view.left - k * view.base(shown[0]), 0).scale(k));
};

const TIME_UNITS = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
const BYTE_UNITS = ["TiB", "GiB", "MiB", "KiB", "B"].map((unit, i) => [unit, 1024 ** (4 - i)]);

/** An axis whose ticks are round numbers of the largest unit that its span holds. */
const unitAxis = (axis, scale, count, units) => {
  const [from, to] = scale.domain();
  const [unit, size] = units.find(([, one]) => Math.abs(to - from) >= one)
    || units[units.length - 1];
  const ticks = d3.ticks(from / size, to / size, count);
  const digits = d3.precisionFixed(ticks.length > 1 ? ticks[1] - ticks[0] : 1);
  const format = locale.format(`,.${digits}f`);
  return axis(scale).tickValues(ticks.map(tick => tick * size))
    .tickFormat(value => `${format(value / size)} ${unit}`).tickSizeOuter(0);
};

/** Draws the shared axis of time into a group. */
const drawTimeAxis = (group, y) => group.attr("transform", `translate(0,${y})`)
  .call(unitAxis(d3.axisBottom, view.x, (view.right - view.left) / 110, TIME_UNITS));

// Memory over time

const USAGE = { height: 240, top: 18, bottom: 216 };

/** Sums of the purposes up to each, for the areas, and the peak of all of them. */
const prepareUsage = ({ times, bytes, purposes }) => {
  let below = new Float64Array(times.length);
  const layers = bytes.map((values, purpose) => {
    const above = Float64Array.from(values, (value, i) => below[i] + value);
    const name = purposes[purpose];
    const layer = { name, color: colorOf(name), below, above, used: d3.max(values) > 0 };
    below = above;
    return layer;
  });
  return { layers, total: below, peak: d3.scan(below, (a, b) => b - a) };
};

/** The shown samples; where a pixel has many, the one with the most bytes in use. */
const shownSamples = (times, total) => {
  const [from, to] = view.x.domain();
  const begin = Math.max(0, d3.bisectRight(times, from) - 1);
  const end = d3.bisectLeft(times, to);
  if (end - begin < 2 * (view.right - view.left)) return d3.range(begin, end);
  const samples = [];
  let pixel = -1;
  for (let i = begin; i < end; ++i) {
    const column = Math.floor(view.x(times[i]));
    const last = samples.length - 1;
    if (column !== pixel) samples.push(i);
    else if (total[i] > total[samples[last]]) samples[last] = i;
    pixel = column;
  }
  return samples;
};

/** Draws the line of the limit and marks the peak, at the other side if that is free. */
const drawMarks = (svg, clipped, peak, [lineY, lineText]) => {
  const right = peak.x > (view.left + view.right) / 2;
  if (lineY > USAGE.top - 8) {
    add(svg, "line", { class: "limit-line", x1: view.left, x2: view.right, y1: lineY, y2: lineY });
    add(svg, "text", { class: "halo", x: right ? view.left + 6 : view.right - 6, y: lineY - 5,
      "text-anchor": right ? "start" : "end" }, lineText);
  }
  add(clipped, "circle", { class: "ring", cx: peak.x, cy: peak.y, r: 4 });
  add(clipped, "text", { class: "strong halo", x: peak.x + (right ? -9 : 9),
    y: Math.max(peak.y - 4, 12), "text-anchor": right ? "end" : "start" }, peak.text);
};

/** Draws memory over time: all of it with the limit, or only the arena. */
const drawUsage = (usage, { persistent, times }) => {
  const all = d3.select("#usage-mode").property("value") === "all";
  const offset = all ? persistent : 0;
  const peak = offset + usage.total[usage.peak];
  const y = d3.scaleLinear().domain([0, (all ? Math.max(limit, peak) : peak) * 1.06])
    .range([USAGE.bottom, USAGE.top]);
  const points = shownSamples(times, usage.total)
    .map(i => ({ x: Math.max(view.left, view.x(times[i])), i }));
  if (points.length) {
    points.push({ x: Math.min(view.right, view.x(view.end)), i: points[points.length - 1].i });
  }
  const svg = add(d3.select("#usage").html(""), "svg", { height: USAGE.height });
  const box = { x: view.left, width: view.right - view.left };
  add(add(svg, "clipPath", { id: "usage-clip" }), "rect", { ...box, height: USAGE.height });
  const clipped = add(svg, "g", { "clip-path": "url(#usage-clip)" });
  add(clipped, "rect", { ...box, y: y(offset), height: USAGE.bottom - y(offset),
    fill: "var(--state-4)" });
  for (const { below, above, color } of usage.layers) {
    add(clipped, "path", { fill: color, d: d3.area().curve(d3.curveStepAfter).x(point => point.x)
      .y0(({ i }) => y(offset + below[i])).y1(({ i }) => y(offset + above[i]))(points) });
  }
  const arena = limit - persistent;
  drawMarks(svg, clipped,
    { x: view.x(times[usage.peak]), y: y(peak), text: `peak ${formatBytes(peak)}` },
    [y(arena + offset), `limit ${all ? "" : "for the arena "}${formatBytes(arena + offset)}`]);
  if (view.hover !== null) {
    const x = view.x(view.hover);
    add(clipped, "line", { class: "cursor", x1: x, x2: x, y1: USAGE.top, y2: USAGE.bottom });
  }
  drawTimeAxis(svg.append("g"), USAGE.bottom);
  add(svg, "g", { transform: `translate(${view.left},0)` })
    .call(unitAxis(d3.axisLeft, y, 5, BYTE_UNITS));
};

/** The tip of memory at a time. */
const describeUsage = (usage, memory, time) => {
  const i = Math.min(memory.times.length, d3.bisectRight(memory.times, time)) - 1;
  if (i < 0) return null;
  const module = memory.modules[i];
  const lines = memory.purposes.map((name, purpose) =>
    [name, formatBytes(memory.bytes[purpose][i])]);
  return [`${formatBytes(memory.persistent + usage.total[i])} at ${formatTime(time)}`, [
    ["module", module >= 0 && timeline.modules[module] || "root"], ...lines.reverse(),
    ["persistent", formatBytes(memory.persistent)]]];
};

/** Adds the panel of memory over time. */
const addUsage = memory => {
  const usage = prepareUsage(memory);
  const small = usage.total[usage.peak] < 0.05 * Math.max(limit, plan.memory.bytes);
  d3.select("#usage-mode").property("value", small ? "arena" : "all").on("change", schedule);
  fillLegend("#usage-legend", [...usage.layers.filter(layer => layer.used).map(({ name, color }) =>
    [name, color]).reverse(), ["persistent", "var(--state-4)"], ["limit", "limit"]]);
  addPanel("#usage", `Memory over time; peak ${formatBytes(plan.memory.bytes)}`,
    () => drawUsage(usage, memory), time => describeUsage(usage, memory, time));
};

// Timeline

const LANE = { first: 24, height: 36, pitch: 44 };

/** The section of an event, and which micro-batch it is of. */
const sectionOf = event => {
  const section = timeline.sections[timeline.section[event]];
  return /micro/.test(section) ? `micro-batch ${timeline.micro_batch[event]}` : section;
};

/** Columns as typed arrays, the events of each stream, and the spans of sections. */
const prepareEvents = () => {
  const begin = Float64Array.from(timeline.begin);
  const end = Float64Array.from(timeline.duration, (duration, i) => begin[i] + duration);
  const lanes = timeline.streams.map(() => []);
  timeline.stream.forEach((stream, i) => lanes[stream].push(i));
  const spans = [];
  for (const i of lanes[0]) {
    const label = sectionOf(i);
    const last = spans[spans.length - 1];
    if (last && last.label === label) last.end = end[i];
    else spans.push({ label, begin: begin[i], end: end[i] });
  }
  return { begin, end, lanes, spans, colors: [], inks: [], matches: null };
};

/** Draws the events of a lane; those narrower than a pixel share one in their commonest colour. */
const drawLane = (context, events, lane, top) => {
  const { begin, end, colors, inks, matches } = events;
  const [from, to] = view.x.domain();
  const scale = (view.right - view.left) / (to - from);
  const dim = timeline.kinds.length;
  const sums = new Float64Array(dim + 1);
  let pixel = -1;
  const paint = (kind, x, width, opacity) => {
    context.globalAlpha = opacity;
    context.fillStyle = colors[kind];
    context.fillRect(view.left + x, top, width, LANE.height);
    context.globalAlpha = 1;
  };
  const flush = () => {
    const busy = d3.sum(sums);
    if (pixel >= 0) paint(d3.scan(sums, (a, b) => b - a), pixel, 1, Math.min(1, 0.3 + busy));
    sums.fill(0);
    pixel = -1;
  };
  for (let at = d3.bisector(i => end[i]).left(lane, from); at < lane.length; ++at) {
    const event = lane[at];
    if (begin[event] >= to) break;
    const kind = !matches || matches(event) ? timeline.kind[event] : dim;
    const left = Math.max(0, (begin[event] - from) * scale);
    const width = Math.min((end[event] - from) * scale, view.right - view.left) - left;
    if (width < 1) {
      if (Math.floor(left) !== pixel) flush();
      pixel = Math.floor(left);
      sums[kind] += width;
      continue;
    }
    flush();
    paint(kind, left, width > 3 ? width - 0.75 : width, 1);
    const label = timeline.names[timeline.name[event]];
    const letters = Math.floor((width - 8) / 6.1);
    if (letters < 4) continue;
    context.fillStyle = inks[kind];
    context.fillText(label.length > letters ? `${label.slice(0, letters - 1)}…` : label,
      view.left + left + 4, top + LANE.height / 2);
  }
  flush();
};

/** Draws the spans of sections above the lanes, with lines where they begin. */
const drawSpans = (context, spans, bottom, color) => {
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = 1;
  for (const span of spans) {
    const left = Math.max(view.left, view.x(span.begin));
    const right = Math.min(view.right, view.x(span.end));
    if (right < left) continue;
    context.globalAlpha = 0.5;
    context.beginPath();
    context.moveTo(Math.round(left) + 0.5, 2);
    context.lineTo(Math.round(left) + 0.5, bottom);
    context.stroke();
    context.globalAlpha = 1;
    if (right - left > 6.5 * span.label.length) context.fillText(span.label, left + 5, 11);
  }
};

/** Lays out the timeline's canvas and axis for the width and the colour scheme. */
const buildLanes = events => {
  const width = view.right + 12;
  const height = LANE.first + LANE.pitch * timeline.streams.length;
  const ratio = window.devicePixelRatio || 1;
  const root = d3.select("#lanes").html("");
  const canvas = root.append("canvas").attr("width", width * ratio).attr("height", height * ratio)
    .style("height", `${height}px`);
  events.axis = root.append("svg").attr("height", 24).append("g");
  events.context = canvas.node().getContext("2d");
  events.context.scale(ratio, ratio);
  events.size = [width, height];
  const colors = [...timeline.kinds.map(colorOf), "var(--raised)"];
  events.colors = colors.map(resolve);
  events.inks = colors.map(inkOn);
  events.muted = resolve("var(--muted)");
  events.text = resolve("var(--text)");
};

/** Draws the timeline: lanes, sections, and what is pointed at. */
const drawLanes = events => {
  const { context, size: [width, height] } = events;
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  context.font = "11px system-ui, sans-serif";
  events.lanes.forEach((lane, stream) => {
    const top = LANE.first + LANE.pitch * stream;
    context.fillStyle = events.muted;
    context.fillText(timeline.streams[stream], 4, top + LANE.height / 2, view.left - 8);
    drawLane(context, events, lane, top);
  });
  drawSpans(context, events.spans, height - 4, events.muted);
  if (view.hover !== null) context.fillRect(view.x(view.hover), LANE.first, 1, height);
  if (view.hovered) {
    const { event, stream } = view.hovered;
    const left = Math.max(view.left, view.x(events.begin[event]));
    const right = Math.min(view.right, view.x(events.end[event]));
    context.strokeStyle = events.text;
    context.lineWidth = 2;
    context.strokeRect(left, LANE.first + LANE.pitch * stream, Math.max(1, right - left),
      LANE.height);
  }
  drawTimeAxis(events.axis, 0);
};

/** The tip of the event at a time and a height in the canvas. */
const describeEvent = (events, time, y) => {
  view.hovered = null;
  const stream = Math.floor((y - LANE.first) / LANE.pitch);
  const lane = events.lanes[stream];
  if (!lane) return null;
  const event = lane[d3.bisector(i => events.end[i]).left(lane, time)];
  const pixel = view.x.invert(1) - view.x.invert(0);
  if (event === undefined || events.begin[event] > time + 2 * pixel) return null;
  view.hovered = { event, stream };
  return [timeline.names[timeline.name[event]], [
    ["module", timeline.modules[timeline.module[event]] || "root"],
    ["kind", timeline.kinds[timeline.kind[event]]],
    ["duration", formatTime(timeline.duration[event])],
    ["start", formatTime(timeline.begin[event])],
    ["stream", timeline.streams[stream]], ["section", sectionOf(event)]]];
};

/** Dims the events in whose command and module the words of #find do not occur. */
const onFind = events => {
  const word = d3.select("#find").property("value").trim().toLowerCase();
  const [names, modules] = [timeline.names, timeline.modules].map(texts =>
    texts.map(text => text.toLowerCase().includes(word)));
  events.matches = word
    ? event => names[timeline.name[event]] || modules[timeline.module[event]] : null;
  const found = d3.range(events.begin.length).filter(event => word && events.matches(event));
  const time = d3.sum(found, event => timeline.duration[event]);
  d3.select("#found").text(word ? `${plural(found.length, "command")}, ${formatTime(time)}` : "");
  schedule();
};

/** Adds the panel of the timeline. */
const addTimeline = () => {
  const events = prepareEvents();
  const count = events.begin.length;
  const order = [...Object.keys(COLORS), ...timeline.kinds];
  fillLegend("#timeline-legend", timeline.kinds.slice().sort((a, b) =>
    order.indexOf(a) - order.indexOf(b)).map(kind => [kind, colorOf(kind)]));
  d3.select("#find").on("input", () => onFind(events));
  d3.select("#zoom-in").on("click", () => zoom("scaleBy", 2));
  d3.select("#zoom-out").on("click", () => zoom("scaleBy", 0.5));
  d3.select("#zoom-reset").on("click", zoomReset);
  addPanel("#lanes", `Timeline of ${plural(count, "command")} on ${timeline.streams.join(", ")}`,
    () => drawLanes(events), (time, y) => describeEvent(events, time, y),
    () => buildLanes(events));
};

// Alternatives

/** The plans that are compared; of each, whether it is this one, and on the Pareto front. */
const findAlternatives = () => {
  const plans = data.alternatives && data.alternatives.length ? data.alternatives
    : plan.auto ? plan.auto.compared : [];
  if (!plans.length) return [];
  const { bytes } = plan.memory;
  const named = name => plans.find(other => other.plan === name);
  const chosen = named("auto") || plans.find(other => other.bytes === bytes
    && Math.abs(other.seconds / plan.time.seconds - 1) < 0.005)
    || named(`${plan.options.reshard}, ${plan.options.recompute}`);
  let least = Infinity;
  const marked = plans.map(other => ({ ...other, chosen: other === chosen }));
  if (!chosen) {
    marked.push({ plan: "this plan", seconds: plan.time.seconds, bytes, fits: plan.memory.fits,
      chosen: true });
  }
  marked.slice().sort((a, b) => a.bytes - b.bytes || a.seconds - b.seconds).forEach(other => {
    other.front = other.seconds < least;
    least = Math.min(least, other.seconds);
  });
  return marked;
};
const alternatives = findAlternatives();

/** Labels of points, those first in the list first, where they cover no point or label. */
const placeLabels = (items, x, y, right) => {
  const boxes = items.map(item => [x(item) - 6, y(item) - 6, x(item) + 6, y(item) + 6]);
  const free = box => box[0] > 75 && box[2] < right && !boxes.some(other => box[0] < other[2]
    && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
  return items.filter(item => item.front || item.chosen).map(item => {
    const text = item.plan.length > 30 ? `${item.plan.slice(0, 29)}…` : item.plan;
    const width = 6.2 * text.length;
    const places = d3.cross([-15, 15, 0], [8, -8 - width, -width / 2]);
    const place = places.map(([dy, dx]) => [x(item) + dx, y(item) + dy])
      .find(([left, middle]) => free([left, middle - 7, left + width, middle + 7]));
    if (!place) return null;
    boxes.push([place[0], place[1] - 7, place[0] + width, place[1] + 7]);
    return { text, x: place[0], y: place[1] + 4, chosen: item.chosen };
  }).filter(label => label);
};

/** The tip of a plan. */
const describePlan = other => [other.plan, [["memory", formatBytes(other.bytes)],
  ["step", formatSeconds(other.seconds)],
  ["fits", other.fits ? "yes" : `no, ${formatBytes(other.bytes - limit)} over the limit`]]];

/** A scale over values with room on both sides. */
const padded = (values, range) => {
  const [low, high] = d3.extent(values);
  const room = (high - low || high * 0.02) * 0.12;
  return d3.scaleLinear().domain([low - room, high + room]).range(range);
};

/** Draws the plans as points of memory and step time, with the Pareto front. */
const drawAlternatives = () => {
  const root = d3.select("#alternatives-chart").html("").attr("role", "img").attr("aria-label",
    `Memory against step time of ${plural(alternatives.length, "plan")}`);
  const [width, height, left] = [root.node().clientWidth, 360, 70];
  const svg = root.append("svg").attr("height", height);
  const [bottom, sizes] = [height - 44, alternatives.map(other => other.bytes)];
  const limitShown = limit < 1.5 * d3.max(sizes);
  const x = padded(limitShown ? [...sizes, limit] : sizes, [left, width - 12]);
  const y = padded(alternatives.map(other => other.seconds * 1e9), [bottom, 18]);
  const [cx, cy] = [other => x(other.bytes), other => y(other.seconds * 1e9)];
  add(svg, "g", { transform: `translate(0,${bottom})` })
    .call(unitAxis(d3.axisBottom, x, width / 130, BYTE_UNITS));
  add(svg, "g", { transform: `translate(${left},0)` })
    .call(unitAxis(d3.axisLeft, y, 6, TIME_UNITS));
  add(svg, "text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" },
    "memory per rank");
  add(svg, "text", { x: 4, y: 10 }, "step time");
  if (limitShown) {
    add(svg, "line", { class: "limit-line", x1: x(limit), x2: x(limit), y1: 18, y2: bottom });
    const right = x(limit) > width / 2;
    add(svg, "text", { x: x(limit) + (right ? -5 : 5), y: 24,
      "text-anchor": right ? "end" : "start" }, `limit ${formatBytes(limit)}`);
  }
  const front = alternatives.filter(other => other.front).sort((a, b) => a.bytes - b.bytes);
  add(svg, "path", { class: "front", d: d3.line().curve(d3.curveStepAfter).x(cx).y(cy)(front) });
  const order = alternatives.slice().sort((a, b) => b.chosen - a.chosen || b.front - a.front);
  add(svg, "circle", { class: "ring", cx: cx(order[0]), cy: cy(order[0]), r: 9 });
  tipOn(svg.append("g").selectAll("circle").data(order).join("circle")
    .attr("class", other => other.fits ? "dot" : "dot over").attr("cx", cx).attr("cy", cy)
    .attr("r", 5), describePlan);
  svg.append("g").selectAll("text").data(placeLabels(order, cx, cy, width)).join("text")
    .attr("class", label => label.chosen ? "strong halo" : "halo").text(label => label.text)
    .attr("x", label => label.x).attr("y", label => label.y);
};

/** Fills the table of plans. */
const tableAlternatives = () => {
  const chosen = alternatives.find(other => other.chosen);
  const rows = alternatives.map(other => ({ ...other,
    name: other === chosen && other.plan !== "this plan" ? `${other.plan} (this plan)` : other.plan,
    className: other === chosen ? "chosen-plan" : "",
    change: other === chosen ? undefined : other.seconds / chosen.seconds - 1 }));
  addTable("#alternatives-table", "Alternatives", [
    textColumn("Plan (reshard, recompute)", "name"),
    numberColumn("Memory", "bytes", formatBytes),
    filledColumn("Fits", "fits", (cell, { fits }) =>
      add(cell, "span", fits ? "yes" : "no", fits ? "yes" : "no")),
    numberColumn("Step", "seconds", formatSeconds),
    numberColumn("Change", "change",
      change => `${locale.format("+,.1f")(change * 100)}\u00a0%`)
  ], rows);
};

// Sweep

/** Why a run of a sweep fails, if it does. */
const reasonOf = (sweep, run) => run.error || (run.fits ? null
  : sweep.axes.some(({ option }) => /machine|budget/.test(option)) ? "does not fit"
    : `does not fit: ${formatBytes(run.bytes - limit)} over the limit`);

/** Fills a cell of the heat map with a run, whose colour is that share of the best. */
const fillCell = (cell, sweep, run, heat) => {
  const reason = reasonOf(sweep, run);
  const title = sweep.axes.map(({ option }, i) => `${option} ${run.values[i]}`).join(", ");
  const lines = run.error ? [] : [
    ["step", formatSeconds(run.seconds)], ["memory", formatBytes(run.bytes)],
    ["MFU", formatUtilization(run.mfu)],
    [`${plan.time.unit}/s per rank`, formatRate(run.units_per_second_of_rank)]];
  cell.attr("class", reason ? "over" : null).attr("tabindex", 0);
  tipOn(cell, () => [title, reason ? [["", reason], ...lines] : lines]);
  add(cell, "span", null, run.error ? "–" : formatRate(run.units_per_second_of_rank));
  add(cell, "small", null, run.error ? run.error.match(/E\d{4}/)?.[0] ?? "error" : `${formatUtilization(run.mfu)} MFU`);
  if (!run.error) add(cell, "small", null, formatBytes(run.bytes));
  if (!reason) cell.style("--heat", `${heat(run.units_per_second_of_rank)}%`);
};

/** Draws a heat map over two axes for each combination of the other axes' values. */
const drawSweep = sweep => {
  const axes = sweep.axes.map(({ option, values }, at) => ({ option, values, at }));
  const [rows, columns] = axes.length > 1
    ? axes.slice(0, 2).sort((a, b) => b.values.length - a.values.length)
    : [axes[0], { option: "", values: [""], at: 1 }];
  const rate = cell => cell.units_per_second_of_rank;
  const fitting = sweep.cells.filter(cell => cell.fits).sort((a, b) => rate(b) - rate(a));
  const best = fitting[0];
  const heat = d3.scaleLinear().domain(d3.extent(fitting, rate)).range([0, 100]);
  const runs = new Map(sweep.cells.map(cell => [cell.values.join("\n"), cell]));
  const choice = best && axes.map(({ option, at }) => `--${option} ${best.values[at]}`).join(" ");
  d3.select("#sweep-note").text(`Throughput (${plan.time.unit}/s per rank), MFU and memory. `
    + `Hatched cells do not fit. ${best ? `Fastest that fits: ${choice}` : "Nothing fits"}.`);
  const others = axes.slice(2).reduce((found, { values }) =>
    d3.merge(found.map(before => values.map(value => [...before, value]))), [[]]);
  for (const other of others) {
    const table = add(d3.select("#sweep-maps"), "table", "heat");
    if (other.length) {
      add(table, "caption", null, other.map((value, i) => `${axes[i + 2].option} ${value}`)
        .join(", "));
    }
    const head = add(add(table, "thead"), "tr");
    add(head, "th", null, columns.option ? `${rows.option} \\ ${columns.option}` : rows.option);
    columns.values.forEach(value => add(head, "th", "number", value).attr("scope", "col"));
    const body = add(table, "tbody");
    for (const row of rows.values) {
      const line = add(body, "tr");
      add(line, "th", null, row).attr("scope", "row");
      for (const column of columns.values) {
        const values = [...(rows.at ? [column, row] : [row, column]), ...other];
        const run = runs.get(values.slice(0, axes.length).join("\n"));
        const cell = add(line, "td");
        if (run) fillCell(cell, sweep, run, heat);
        if (run && run === best) cell.attr("class", "best");
      }
    }
  }
};

// The page

/** Draws what depends on the width or the colour scheme. */
const drawCharts = () => {
  drawBars();
  if (alternatives.length) drawAlternatives();
  if (!view.panels.length) return;
  layoutView();
  view.panels.filter(panel => panel.build).forEach(panel => panel.build());
  view.panels.forEach(panel => panel.draw());
};

/** Draws the page. */
const main = () => {
  const started = performance.now();
  const theme = new URLSearchParams(window.location.search).get("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  const has = {
    usage: data.memory && data.memory.times.length > 0,
    timeline: timeline && timeline.begin.length > 0,
    groups: plan.groups.length > 0,
    alternatives: alternatives.length > 0,
    sweep: data.sweep && data.sweep.cells.length > 0
  };
  d3.entries(has).filter(({ value }) => !value)
    .forEach(({ key }) => d3.selectAll(`#${key}, #${key}-head`).remove());
  drawHeader();
  drawPartTables();
  if (has.groups) drawGroups();
  if (has.alternatives) tableAlternatives();
  if (has.sweep) drawSweep(data.sweep);
  const ends = has.timeline ? timeline.begin.map((begin, i) => begin + timeline.duration[i]) : [];
  view.end = Math.max(plan.time.seconds * 1e9, d3.max(ends) || 0);
  view.zoom = d3.zoom().filter(zooms).on("zoom", () => applyZoom(d3.event.transform));
  if (has.usage) addUsage(data.memory);
  if (has.timeline) addTimeline();
  drawCharts();
  window.addEventListener("resize", drawCharts);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
  Object.assign(document.documentElement.dataset,
    { ready: "true", drawMs: Math.round(performance.now() - started) });
};

main();
