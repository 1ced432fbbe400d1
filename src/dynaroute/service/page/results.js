// The figures above the tables: cost, routes, how and how long; and the curve of a search.

import { drawCurve } from "./curve.js";
import { byId, make } from "./dom.js";
import { leastRoutes } from "./instance.js";
import { formatLength } from "./lengths.js";
import { countOf, formatSeconds } from "./numbers.js";
import { builderOf } from "./runs.js";
import { findRun, isSearching } from "./state.js";
import { listWarnings } from "./unserved.js";

const SOUND = "Checked: all visited once, no overload, cost right";
const MOST_WARNINGS = 20; // customers that are not served, or faults, in full; the print lists all
const EMPTY = "Routes, loads and lengths appear here once the problem is solved.";

/** The run to speak of: the search under way, or the chosen run; null for none. */
export function runToShow(state) {
  if (isSearching(state)) return state.search.trace.length === 0 ? null : state.search;
  return findRun(state, state.shownRun);
}

export function showHeadline(state) {
  const run = runToShow(state);
  const headline = byId("headline");
  const isRunning = isSearching(state);
  const nothing = make("p", { class: "headline-empty", text: isRunning ? (state.search.why ?? "Searching…") : EMPTY });
  headline.replaceChildren(...(run === null ? [nothing] : figures(run, isRunning)));
  byId("export").hidden = run === null || isRunning;
  showCurve(run);
}

function figures(run, isRunning) {
  const least = leastRoutes(run.instance);
  const routes = run.routes.length === least ? "the fewest possible" : `at least ${least} needed`;
  const label = make("span", { class: "cost-label", text: "Cost" });
  const cost = make("p", { class: "cost" }, label, make("span", { class: "cost-value", text: formatLength(run.instance, run.cost) }));
  const how = isRunning ? (run.why ?? "Searching…") : describe(run);
  const count = make("span", { text: `${countOf(run.routes.length, "route")} (${routes})` });
  const facts = make("p", { class: "headline-facts" }, count, make("span", { text: how }));
  const notes = (run.messages ?? []).map((text) => make("p", { class: "headline-note", text }));
  return [cost, facts, ...judgement(run), ...notes];
}

function describe(run) {
  if (run.request === null) return run.label;
  return `${run.label} · ${builderOf(run)} · ${formatSeconds(run.seconds)}`;
}

/** What the independent judge said; nothing while a search is under way. */
function judgement(run) {
  if (run.violations === undefined) return [];
  const faults = listWarnings(run, MOST_WARNINGS).map((text) => make("p", { class: "headline-fault", role: "alert", text }));
  return faults.length > 0 ? faults : [make("p", { class: "headline-check", text: SOUND })];
}

function showCurve(run) {
  const curve = byId("curve");
  const hasCurve = run !== null && run.request?.method === "search" && run.trace.length > 1;
  curve.toggleAttribute("hidden", !hasCurve);
  const show = (cost) => formatLength(run.instance, cost);
  if (hasCurve) drawCurve(curve, run.trace, Math.max(run.seconds ?? run.request.seconds, run.trace.at(-1)[0]), show);
}
