// Sheets for drivers, one page each, below one with the customers that are not served; made when the page is printed.

import { byId, make, makeSvg } from "./dom.js";
import { boundsOf, capacityOf, nodesOf, placedNodes, placeOf } from "./instance.js";
import { distancesSoFar, formatLength } from "./lengths.js";
import { projectionOf } from "./map.js";
import { countOf, formatAmount, formatClock } from "./numbers.js";
import { findRun } from "./state.js";
import { countUnserved, unservedOf } from "./unserved.js";
import { View } from "./view.js";

const WIDTH = 640;
const HEIGHT = 380;

export function wirePrinting(store) {
  const prepare = () => byId("sheets").replaceChildren(...makeSheets(findRun(store.state, store.state.shownRun)));
  window.addEventListener("beforeprint", prepare);
  byId("print").addEventListener("click", () => window.print());
}

function makeSheets(run) {
  if (run === null) return [make("p", { text: "There are no routes yet: solve the problem first." })];
  return [...makeWarnings(run), ...run.routes.map((stops, route) => makeSheet(run, stops, route))];
}

/** The first sheet: customers that are not served, with the reasons, and what is wrong with the routes. */
function makeWarnings(run) {
  const [unserved, faults] = [unservedOf(run), run.violations ?? []];
  if (unserved.length + faults.length === 0) return [];
  const text = unserved.length > 0 ? countUnserved(unserved.length) : "Faults of this plan";
  const lines = faults.map(({ message }) => make("p", { text: message }));
  const name = run.instance.name ? make("p", { text: run.instance.name }) : null;
  const list = unserved.length > 0 ? makeUnservedList(run.instance, unserved) : null;
  return [make("section", { class: "sheet warning" }, make("h2", { text }), name, list, ...lines)];
}

function makeUnservedList(instance, unserved) {
  const columns = detailColumns(instance);
  const windows = windowColumns(instance);
  const rows = unserved.map(({ customer, id, reason }) => {
    const { demand, details, window } = instance.customers[customer - 1];
    const cells = [id, ...columns.map((column) => details?.[column] ?? ""), ...windows.map(() => describeWindow(window))];
    return make("tr", {}, ...[...cells, formatAmount(demand), reason].map((text) => make("td", { text })));
  });
  return makeTable(["Customer", ...columns, ...windows, "Demand", "Why it is not served"], rows);
}

function makeSheet(run, stops, route) {
  const { instance } = run;
  const load = `load ${formatAmount(run.loads[route])} of ${formatAmount(capacityOf(run, route))}`;
  const facts = [countOf(stops.length, "stop"), load, formatLength(instance, run.lengths[route])].join(", ");
  const name = instance.name ? `${instance.name} · ` : "";
  return make(
    "section",
    { class: "sheet" },
    make("h2", { text: `Route ${route + 1}` }),
    make("p", { text: `${name}${facts}` }),
    drawSketch(instance, stops),
    makeList(instance, stops),
  );
}

function makeList(instance, stops) {
  const columns = detailColumns(instance);
  const windows = windowColumns(instance);
  const heads = ["Done", "Stop", "Customer", ...columns, ...windows, "Demand", "Load", "Distance"];
  const driven = distancesSoFar(instance, stops);
  let load = 0;
  const rows = stops.map((stop, place) => {
    const customer = instance.customers[stop - 1];
    load = Number((load + customer.demand).toPrecision(12));
    const details = columns.map((column) => customer.details?.[column] ?? "");
    const amounts = [formatAmount(customer.demand), formatAmount(load), formatLength(instance, driven[place])];
    const hours = windows.map(() => describeWindow(customer.window));
    return makeRow([place + 1, customer.id ?? stop, ...details, ...hours, ...amounts]);
  });
  const depot = columns.map((column) => instance.depot?.details?.[column] ?? "");
  const back = `Back at ${instance.depot?.id ?? "the depot"}`;
  const end = ["", back, ...depot, ...windows.map(() => ""), "", "", formatLength(instance, driven.at(-1))];
  return makeTable(heads, [...rows, makeRow(end)]);
}

function makeTable(heads, rows) {
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", text })));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

function windowColumns(instance) {
  return instance.customers.some(({ window }) => window) ? ["Window"] : [];
}

/** The time window of a stop; in a problem written by the user it may be text instead of seconds. */
function describeWindow(window) {
  if (!Array.isArray(window)) return window ?? "";
  const [earliest, latest] = window.map((time) => (typeof time === "number" ? formatClock(time) : time));
  if (latest === null || latest === undefined) return `from ${earliest}`;
  return window[0] ? `${earliest}-${latest}` : `until ${latest}`;
}

function makeRow(cells) {
  return make("tr", {}, make("td", {}, make("span", { class: "tick" })), ...cells.map((text) => make("td", { text })));
}

/** The other columns of the file, in their order. */
function detailColumns(instance) {
  return [...new Set(nodesOf(instance).flatMap((node) => Object.keys(node.details ?? {})))];
}

function drawSketch(instance, stops) {
  const nodes = placedNodes(instance);
  const view = new View(projectionOf(instance));
  view.resize(WIDTH, HEIGHT);
  view.fit(boundsOf([0, ...stops].map((node) => nodes[node])));
  const places = [0, ...stops, 0].map((node) => view.toScreen(placeOf(nodes[node])).map((value) => value.toFixed(1)));
  const line = makeSvg("polyline", { points: places.map((place) => place.join(",")).join(" ") });
  const marks = places.slice(1, -1).flatMap(([x, y], index) => [
    makeSvg("circle", { cx: x, cy: y, r: 9 }),
    makeSvg("text", { x, y, text: index + 1 }),
  ]);
  const [[x, y]] = places;
  const depot = makeSvg("rect", { x: x - 7, y: y - 7, width: 14, height: 14 });
  return makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Map" }, line, ...marks, depot);
}
