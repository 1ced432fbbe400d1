// The figures above the list of routes, what is wrong with the plan, and the curve of a search.

import { byId, make, makeSvg } from "./dom.js";
import { nameOf } from "./instance.js";
import { countOf, formatHours, formatLength, formatPrice, formatSeconds, isPriced } from "./numbers.js";
import { unservedOf } from "./plan.js";
import { isSearching, runToShow } from "./state.js";
import { isLate, isTight } from "./stops.js";

const SOUND = "Checked: all visited once, no overload, all in time";
const MOST_WARNINGS = 12;
const [WIDTH, HEIGHT] = [320, 56];

export function showHeadline(state) {
  const run = runToShow(state);
  const isRunning = isSearching(state);
  byId("export").hidden = run === null || isRunning;
  showCurve(isRunning ? state.search : run);
  if (run?.isPending) return;
  const empty = isRunning ? (state.search.why ?? "Searching…") : "Times, loads and lengths appear here once the routes are planned.";
  byId("headline").replaceChildren(...(run === null ? [make("p", { class: "headline-empty", text: empty })] : figures(run, state, isRunning)));
}

function figures(run, state, isRunning) {
  const { instance } = run;
  const times = run.timetable ?? [];
  const total = (key) => times.reduce((sum, route) => sum + route[key], 0);
  const cells = [[isPriced(instance) ? "Cost" : "Length", formatPrice(instance, run.cost), "cost-value"]];
  if (isPriced(instance) && times.length > 0) cells.push(["Length", formatLength(instance, total("distance"))]);
  cells.push(["Routes", String(run.routes.length)]);
  if (times.length > 0 && times.every(({ duration }) => duration !== null)) cells.push(["Hours", formatHours(total("duration"))]);
  const grid = make("dl", { class: "figures" });
  for (const [term, value, id] of cells) grid.append(make("div", {}, make("dt", { text: term }), make("dd", { class: id, text: value })));
  const how = isRunning ? (run.why ?? "Searching…") : describe(run);
  const notes = (run.messages ?? []).map((text) => make("p", { class: "headline-note", text }));
  return [grid, make("p", { class: "headline-facts", text: how }), ...judgement(run, state), ...notes];
}

function describe(run) {
  if (run.isByHand || run.seconds === 0) return run.label;
  return [run.label, run.model, formatSeconds(run.seconds)].filter(Boolean).join(" · ");
}

/** What the independent judge said, and which stops are tight; nothing while a search is under way. */
function judgement(run, state) {
  if (run.violations === undefined) return [];
  const unserved = unservedOf(run);
  const verb = unserved.length === 1 ? "is" : "are";
  const head = unserved.length > 0 ? [`${countOf(unserved.length, "customer")} ${verb} not served:`] : [];
  const lines = unserved.map(({ customer, reason }) => `${nameOf(run.instance, customer)}: ${reason}`);
  const faults = [...head, ...shorten(lines), ...shorten(run.violations.map(({ message }) => message))];
  const shown = faults.map((text) => make("p", { class: "headline-fault", role: "alert", text }));
  const stops = (run.timetable ?? []).flatMap((route) => route.stops);
  const tight = stops.filter((stop) => isTight(stop, state) && !isLate(stop)).length;
  const warning = make("p", { class: "headline-tight", text: `${countOf(tight, "tight stop")}: less than ${state.tightMinutes} min of slack` });
  return [...(shown.length > 0 ? shown : [make("p", { class: "headline-check", text: SOUND })]), ...(tight > 0 ? [warning] : [])];
}

function shorten(lines) {
  return lines.length <= MOST_WARNINGS ? lines : [...lines.slice(0, MOST_WARNINGS), `and ${lines.length - MOST_WARNINGS} more`];
}

/** The cost over time of a search, as a falling staircase. */
function showCurve(run) {
  const svg = byId("curve");
  const trace = run?.trace ?? [];
  svg.toggleAttribute("hidden", trace.length < 2);
  if (trace.length < 2) return;
  const [first, last] = [trace[0][1], trace.at(-1)[1]];
  const end = Math.max(run.seconds ?? run.request.seconds, trace.at(-1)[0], 1e-9);
  const x = (seconds) => ((WIDTH * Math.min(seconds, end)) / end).toFixed(1);
  const y = (cost) => (14 + ((HEIGHT - 18) * (first - cost)) / (first - last || 1)).toFixed(1);
  const steps = trace.slice(1).map(([seconds, cost]) => `H${x(seconds)}V${y(cost)}`);
  const line = `M${x(trace[0][0])} ${y(first)}${steps.join("")}H${WIDTH}`;
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("aria-label", `Cost over time: from ${formatPrice(run.instance, first)} to ${formatPrice(run.instance, last)}.`);
  svg.replaceChildren(
    makeSvg("path", { class: "curve-area", d: `${line}V${HEIGHT}H${x(trace[0][0])}Z` }),
    makeSvg("path", { class: "curve-line", d: line }),
    makeSvg("text", { x: 2, y: 11, text: formatPrice(run.instance, first) }),
    makeSvg("text", { x: WIDTH - 2, y: 11, "text-anchor": "end", text: `${formatPrice(run.instance, last)} in ${formatSeconds(end)}` }),
  );
}
