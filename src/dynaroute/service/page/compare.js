// The plans of the day: which one is shown, and how another differs from it.

import { ApiError } from "./api.js";
import { byId, make } from "./dom.js";
import { nameOf } from "./instance.js";
import { countOf, formatLength, formatPrice } from "./numbers.js";
import { showError } from "./notices.js";
import { planOf } from "./plan.js";
import { findRun, listedRuns } from "./state.js";

const MOST_CHANGED = 40;

export class ComparePanel {
  #place = byId("panel-runs");
  #store;
  #api;

  constructor(store, api) {
    this.#store = store;
    this.#api = api;
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
    const below = make("div", { class: "notice" });
    this.#place.replaceChildren(table, below);
    if (a && b) this.#compare(below, a, b);
    if (held) this.#place.querySelector(`#${CSS.escape(held)}`)?.focus({ preventScroll: true });
  }

  async #compare(place, shown, other) {
    try {
      place.replaceChildren(...makeDifference(shown, await this.#api.compare(planOf(other), planOf(shown))));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(place, error);
    }
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

/** How the shown plan differs from the other: figures, and the stops that are served by others or at other times. */
function makeDifference(a, { before, after, stops }) {
  const length = (value) => formatLength(a.instance, value);
  const rows = [
    ["Cost", ...[after, before].map(({ cost }) => formatPrice(a.instance, cost))],
    ["Length", length(after.length), length(before.length)],
    ["Hours", ...[after, before].map(({ hours }) => (hours === null ? "" : `${hours.toFixed(1)} h`))],
    ["Vehicles", after.vehicles, before.vehicles],
    ["Late stops", after.late, before.late],
    ["Not served", after.unserved.length, before.unserved.length],
  ];
  const figures = makeTable("Shown plan, and the one beside it (grey on the map)", rows);
  const names = new Map(a.instance.customers.map(({ id }, index) => [String(id ?? index + 1), nameOf(a.instance, index + 1)]));
  const changed = stops.filter(({ moved, minutes }) => moved || Math.abs(minutes ?? 0) >= 1);
  const lines = changed.slice(0, MOST_CHANGED).map((stop) => [names.get(stop.id) ?? stop.id, describeVehicles(stop), describeMinutes(stop)]);
  const more = changed.length > MOST_CHANGED ? `, the first ${MOST_CHANGED} are listed` : "";
  return [figures, makeTable(`${countOf(changed.length, "stop")} served by another vehicle or at another time${more}`, lines)];
}

function makeTable(title, rows) {
  const body = rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row", text: name }), ...cells.map((text) => make("td", { text }))));
  return make("table", { class: "difference" }, make("caption", { text: title }), make("tbody", {}, ...body));
}

function describeVehicles({ before, after, moved }) {
  const [from, to] = [before, after].map((visit) => visit?.vehicle ?? "nobody");
  return moved ? `${to}, not ${from}` : to;
}

function describeMinutes({ minutes }) {
  if (minutes === null || Math.abs(minutes) < 1) return "";
  return `${Math.abs(Math.round(minutes))} min ${minutes > 0 ? "later" : "earlier"}`;
}
