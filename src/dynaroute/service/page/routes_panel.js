// The list of routes: each with its vehicle, times, length, cost and loads, and its stops with theirs.

import { colourIndex, dashOf } from "./colours.js";
import { byId, make, makeSvg } from "./dom.js";
import { amountsOf, dimensionsOf, fleetOf, nameOf } from "./instance.js";
import { formatAmount, formatClock, formatHours, formatLength, formatMinutes, formatPrice, formatWindows, isPriced } from "./numbers.js";
import { vehicleOf } from "./plan.js";
import { isSearching, runToShow } from "./state.js";
import { answerPointerAndKeys, isLate, isReload, isTight } from "./stops.js";

export class RoutesPanel {
  #place = byId("panel-routes");
  #store;
  #planner;
  #closed = new Set(); // routes whose stops are folded

  constructor(store, planner) {
    this.#store = store;
    this.#planner = planner;
    answerPointerAndKeys(this.#place, store, planner);
    this.#place.addEventListener("click", ({ target }) => this.#toggleLock(target.closest("[data-lock]")));
    store.watch(["runs", "shownRun", "search", "tightMinutes"], () => this.#show());
    store.watch(["hoveredRoute", "pinnedRoute", "selectedNode"], () => this.#mark());
  }

  #show() {
    const run = runToShow(this.#store.state);
    if (run?.isPending) return;
    if (run === null) {
      const text = isSearching(this.#store.state) ? "Searching…" : "No routes yet. Press “Plan routes”.";
      this.#place.replaceChildren(make("p", { class: "empty", text }));
      return;
    }
    const held = document.activeElement?.closest?.("#panel-routes [data-stop]")?.dataset.stop;
    this.#place.replaceChildren(...run.routes.map((stops, route) => this.#makeRoute(run, stops, route)));
    if (held !== undefined) this.#place.querySelector(`[data-stop="${held}"]`)?.focus({ preventScroll: true });
    this.#mark();
  }

  #makeRoute(run, stops, route) {
    const times = run.timetable?.[route] ?? null;
    const swatch = makeSvg("svg", { class: "swatch", viewBox: "0 0 22 12", "aria-hidden": "true" });
    swatch.append(makeSvg("path", { d: "M1 6h20", "stroke-dasharray": dashOf(route) }));
    const name = make("button", { type: "button", class: "route-name", "data-show": route, "aria-pressed": "false" }, swatch);
    name.append(make("span", { class: "route-number", text: route + 1 }), vehicleOf(run, route));
    const head = make("header", { class: "route-head" }, name, ...(times === null ? [] : [makeLoads(run.instance, times), makeLock(run, route)]));
    const facts = make("p", { class: "route-facts", text: describeRoute(run, stops, route) });
    const table = times === null ? null : this.#makeTable(run, times, route);
    const attributes = { class: `route-card colour-${colourIndex(route)}`, "data-card": route, "aria-label": `Route ${route + 1}` };
    return make("section", attributes, head, facts, table);
  }

  #makeTable(run, times, route) {
    const { instance } = run;
    const names = dimensionsOf(instance);
    const hasTimes = times.departure !== null;
    const hasWindows = times.stops.some(({ windows }) => windows.length > 0);
    const hasWaiting = hasTimes && times.stops.some(({ waiting }) => waiting >= 30);
    const heads = ["Stop", ...(hasTimes ? ["Arrives"] : []), ...(hasWindows ? ["Window"] : []), ...(hasWaiting ? ["Waits"] : [])];
    if (hasWindows && hasTimes) heads.push("Slack");
    heads.push(...names.map((name) => (name === "" ? "Load" : name)));
    const rows = times.stops.map((stop, place) => this.#makeStop(instance, stop, place, { hasTimes, hasWindows, hasWaiting }));
    for (const { start, end, after } of [...(times.breaks ?? [])].reverse()) rows.splice(after ?? 0, 0, makeBreak(start, end, heads.length));
    const caption = make("caption", { class: "visually-hidden", text: `Stops of ${vehicleOf(run, route)}` });
    const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", text })));
    return make("table", { class: "stops-table" }, caption, make("thead", {}, head), make("tbody", {}, ...rows));
  }

  #makeStop(instance, stop, place, { hasTimes, hasWindows, hasWaiting }) {
    const reload = isReload(instance, stop.customer);
    const text = reload ? `Loads again (${nameOf(instance, stop.customer)})` : nameOf(instance, stop.customer);
    const button = make("button", { type: "button", class: "stop", "data-stop": stop.customer });
    button.append(make("span", { class: "stop-place", text: `${place + 1} ` }), text);
    const state = isLate(stop) ? "late" : isTight(stop, this.#store.state) ? "tight" : "";
    const slack = isLate(stop) ? `${formatMinutes(-stop.slack)} late` : formatMinutes(stop.slack);
    const cells = [
      ...(hasTimes ? [formatClock(stop.arrival)] : []),
      ...(hasWindows ? [formatWindows(stop.windows)] : []),
      ...(hasWaiting ? [stop.waiting >= 30 ? formatMinutes(stop.waiting) : ""] : []),
      ...(hasTimes && hasWindows ? [slack] : []),
      ...stop.loads.map(formatAmount),
    ];
    const name = make("th", { scope: "row" }, reload ? make("span", { class: "stop", text }) : button);
    return make("tr", { class: state, "data-of": stop.customer }, name, ...cells.map((cell) => make("td", { text: cell })));
  }

  #mark() {
    const { hoveredRoute, pinnedRoute, selectedNode } = this.#store.state;
    for (const card of this.#place.querySelectorAll("[data-card]")) {
      const route = Number(card.dataset.card);
      card.classList.toggle("emphasised", route === (hoveredRoute ?? pinnedRoute));
      card.querySelector("[data-show]").setAttribute("aria-pressed", String(route === pinnedRoute));
      if (route === pinnedRoute && hoveredRoute === null) scrollWithin(this.#place, card);
    }
    for (const row of this.#place.querySelectorAll("[data-of]")) {
      const isSelected = Number(row.dataset.of) === selectedNode;
      row.classList.toggle("selected", isSelected);
      if (isSelected) scrollWithin(this.#place, row);
    }
  }

  #toggleLock(lock) {
    if (lock === null) return;
    this.#planner.toggleLock(Number(lock.dataset.lock));
    this.#place.querySelector(`[data-lock="${lock.dataset.lock}"]`).focus({ preventScroll: true });
  }
}

/** Scroll a list, but not the page around it. */
function scrollWithin(list, element) {
  const [outer, inner] = [list.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
}

function describeRoute(run, stops, route) {
  const { instance } = run;
  const count = stops.filter((stop) => !isReload(instance, stop)).length;
  const times = run.timetable?.[route];
  const stopsText = `${count} stop${count === 1 ? "" : "s"}`;
  if (!times) return [stopsText, formatLength(instance, run.lengths?.[route] ?? 0)].join(" · ");
  const hours = times.departure === null ? [] : [`${formatClock(times.departure)}–${formatClock(times.end)}`, formatHours(times.duration)];
  const cost = isPriced(instance) ? [`cost ${formatPrice(instance, times.cost)}`] : [];
  return [...hours, formatLength(instance, times.distance), ...cost, stopsText].join(" · ");
}

/** A bar for each dimension: how full the vehicle is at most. */
function makeLoads(instance, times) {
  const names = amountsOf(fleetOf(instance)[times.type]?.capacity ?? 0).map(([name]) => name);
  const bars = times.loads.map((load, index) => {
    const share = load / times.capacities[index];
    const fill = make("span", { class: "load-fill" });
    fill.style.width = `${Math.min(100, 100 * share).toFixed(1)}%`;
    const text = `${formatAmount(load)} / ${formatAmount(times.capacities[index])} ${names[index] ?? ""}`.trim();
    return make("span", { class: share > 1 ? "load overloaded" : "load" }, make("span", { class: "load-text", text }), make("span", { class: "load-bar" }, fill));
  });
  return make("span", { class: "loads" }, ...bars);
}

function makeLock(run, route) {
  const isLocked = run.locked?.[route] ?? false;
  const title = "Lock: searches and moves leave this route as it is";
  const icon = makeSvg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" });
  icon.append(makeSvg("path", { d: `M6 11h12v9H6zM9 11V7a3 3 0 0 1 6 0${isLocked ? "v4" : ""}` }));
  const attributes = { type: "button", class: "icon-button lock", "data-lock": route, "aria-pressed": String(isLocked), title };
  return make("button", { ...attributes, "aria-label": `Lock route ${route + 1}` }, icon);
}

function makeBreak(start, end, width) {
  const text = `Break ${formatClock(start)}–${formatClock(end)}`;
  return make("tr", { class: "break-row" }, make("td", { colspan: width, text }));
}
