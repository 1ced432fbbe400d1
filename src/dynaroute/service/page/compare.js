// The plans of the day: which one is shown, and how another differs from it.

import { byId, make } from "./dom.js";
import { nameOf } from "./instance.js";
import { countOf, formatHours, formatLength, formatPrice } from "./numbers.js";
import { routeOfStop, vehicleOf } from "./plan.js";
import { findRun, listedRuns } from "./state.js";

const MOST_MOVED = 12;

export class ComparePanel {
  #place = byId("panel-runs");
  #store;

  constructor(store) {
    this.#store = store;
    this.#place.addEventListener("change", ({ target }) => this.#choose(target));
    store.watch(["instance", "runs", "shownRun", "comparedRun"], () => this.#show());
  }

  #show() {
    const { state } = this.#store;
    const runs = listedRuns(state);
    if (runs.length === 0) {
      this.#place.replaceChildren(make("p", { class: "empty", text: "All plans of this day are listed here, to compare them." }));
      return;
    }
    const held = document.activeElement?.id;
    const heads = ["Plan", "Cost", "Show", "Beside"].map((text) => make("th", { scope: "col", text }));
    const table = make("table", { class: "runs-table" }, make("caption", { class: "visually-hidden", text: "Plans of this day" }));
    const none = make("tr", {}, make("th", { scope: "row", colspan: 3, text: "No comparison" }), make("td", {}, choice("run-b", null, state.comparedRun, "Compare with nothing")));
    table.append(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...runs.map((run) => makeRow(run, state)), none));
    const [a, b] = [findRun(state, state.shownRun), findRun(state, state.comparedRun)];
    this.#place.replaceChildren(table, ...(a && b ? makeDifference(a, b) : []));
    if (held) this.#place.querySelector(`#${CSS.escape(held)}`)?.focus({ preventScroll: true });
  }

  #choose(input) {
    const run = findRun(this.#store.state, input.value);
    if (input.name === "run-b") this.#store.update({ comparedRun: run?.id ?? null });
    else this.#store.update({ instance: run.instance, shownRun: run.id, selectedNode: null, pinnedRoute: null });
  }
}

function makeRow(run, state) {
  const facts = `${countOf(run.routes.length, "route")}, ${countOf(run.instance.customers.length, "customer")}`;
  return make(
    "tr",
    { class: run.id === state.shownRun ? "selected" : null },
    make("th", { scope: "row" }, make("span", { text: run.label }), make("small", { text: facts })),
    make("td", { text: formatPrice(run.instance, run.cost) }),
    make("td", {}, choice("run-a", run, state.shownRun, `Show ${run.label}`)),
    make("td", {}, choice("run-b", run, state.comparedRun, `Compare with ${run.label}`)),
  );
}

function choice(name, run, chosen, label) {
  const id = run?.id ?? null;
  return make("input", { type: "radio", name, id: `${name}-${id ?? "none"}`, value: id ?? "", checked: id === chosen, "aria-label": label });
}

/** How the shown plan differs from the other: figures, and the stops that other vehicles serve. */
function makeDifference(a, b) {
  const total = (run, key) => run.timetable?.reduce((sum, route) => sum + route[key], 0) ?? null;
  const late = (run) => run.violations?.filter(({ kind }) => kind === "late").length ?? 0;
  const rows = [
    ["Cost", formatPrice(a.instance, a.cost), formatPrice(b.instance, b.cost)],
    ["Length", ...[a, b].map((run) => formatLength(run.instance, total(run, "distance") ?? run.cost))],
    ["Hours", ...[a, b].map((run) => formatHours(total(run, "duration") || null))],
    ["Vehicles", a.routes.length, b.routes.length],
    ["Late stops", late(a), late(b)],
    ["Not served", a.unserved?.length ?? 0, b.unserved?.length ?? 0],
  ];
  const table = make("table", { class: "difference" }, make("caption", { text: "Shown plan, and the one beside it (grey on the map)" }));
  table.append(make("tbody", {}, ...rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row", text: name }), ...cells.map((text) => make("td", { text }))))));
  const moved = movedStops(a, b);
  const names = moved.slice(0, MOST_MOVED).join("; ");
  const more = moved.length > MOST_MOVED ? ` and ${moved.length - MOST_MOVED} more` : "";
  return [table, make("p", { class: "hint", text: moved.length === 0 ? "No stop changes its vehicle." : `Other vehicle: ${names}${more}.` })];
}

function movedStops(a, b) {
  const vehicles = new Map();
  b.routes.forEach((stops, route) => stops.forEach((stop) => vehicles.set(nameOf(b.instance, stop), vehicleOf(b, route))));
  return a.routes.flat().flatMap((stop) => {
    const [name, vehicle] = [nameOf(a.instance, stop), vehicleOf(a, routeOfStop(a, stop))];
    const before = vehicles.get(name);
    return before === undefined || before === vehicle ? [] : [`${name} (${before} → ${vehicle})`];
  });
}
