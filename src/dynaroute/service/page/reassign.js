// Moves a stop to another route: by dragging, by keys, or in the form next to a point.

import { formatLength } from "./lengths.js";
import { hasOpenRoutes, nameOf } from "./instance.js";
import { announce } from "./notices.js";
import { figuresOf, withStopMoved } from "./routes.js";
import { judged } from "./runs.js";
import { editRoutes, findRun, isLocked, isSearching } from "./state.js";

let changes = 0; // made on this page, to number the runs

/** The run whose routes can be changed now, or null. */
export function changeableRun(state) {
  if (isSearching(state) || state.playback !== null || state.comparedRun !== null) return null;
  const run = findRun(state, state.shownRun);
  // the cost of an open route depends on its vehicle, which only the service chooses
  return run !== null && hasOpenRoutes(run.instance) ? null : run;
}

/** Index of the route that visits a customer, or -1. */
export function routeOfStop(run, stop) {
  return run.routes.findIndex((route) => route.includes(stop));
}

/** Move a stop to a route, and let the service check the result. Returns whether anything changed. */
export function moveStop(store, api, stop, target, place = null) {
  const run = changeableRun(store.state);
  if (run === null || stop < 1 || target < 0 || target > run.routes.length) return false;
  const source = routeOfStop(run, stop);
  if (source < 0 || (source === target && place === null)) return false;
  const touched = [run.routes[source], run.routes[target]].filter(Boolean);
  if (touched.some((stops) => isLocked(store.state, stops))) {
    announce("That route is locked.");
    return false;
  }
  const routes = withStopMoved(run.instance, run.routes, stop, target, place);
  const figures = figuresOf(run.instance, routes);
  const change = figures.cost - run.cost;
  const shown = `${change < 0 ? "−" : "+"}${formatLength(run.instance, Math.abs(change))}`;
  const where = target >= run.routes.length ? "a new route" : `route ${target + 1}`;
  const message = `${nameOf(run.instance, stop)} moved to ${where}: ${shown}.`;
  changes += 1;
  const changed = {
    ...run,
    ...figures,
    id: `hand-${changes}`,
    routes,
    request: null,
    label: "Changed by hand",
    method: "by hand",
    model: null,
    seconds: 0,
    trace: [],
    snapshots: [],
    vehicles: null,
    messages: [message],
    violations: undefined,
  };
  editRoutes(store, changed);
  announce(`${message} Now ${formatLength(run.instance, figures.cost)}.`);
  judge(store, api, changed);
  return true;
}

async function judge(store, api, run) {
  const checked = await judged(api, run).catch(() => null);
  if (checked === null) return; // the service cannot be reached: keep the change, unchecked
  store.update({ runs: store.state.runs.map((other) => (other.id === run.id ? checked : other)) });
}
