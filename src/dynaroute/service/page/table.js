// The table of routes: load bars, lengths and stops. Hovering over a row highlights its route on the map; stops can be
// dragged to another route, and routes can be locked.

import { colourIndex, dashOf } from "./colours.js";
import { make, makeSvg } from "./dom.js";
import { capacityOf } from "./instance.js";
import { formatLength } from "./lengths.js";
import { formatAmount } from "./numbers.js";
import { changeableRun, moveStop, routeOfStop } from "./reassign.js";
import { isLocked, isSearching, toggleLock } from "./state.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 2] };

/** Show `run` ({instance, routes, loads, lengths}) in `place`; null empties it. */
export class RouteTable {
  #place;
  #store;
  #api;
  #bodies = [];
  #dragged = null; // the stop that is being dragged

  constructor(place, store, api) {
    this.#place = place;
    this.#store = store;
    this.#api = api;
    place.addEventListener("pointerover", (event) => this.#hover(routeAt(event.target)));
    place.addEventListener("pointerleave", () => this.#hover(null));
    place.addEventListener("focusin", (event) => this.#hover(routeAt(event.target)));
    place.addEventListener("focusout", () => this.#hover(null));
    place.addEventListener("click", (event) => this.#click(event.target));
    place.addEventListener("keydown", (event) => this.#key(event));
    place.addEventListener("dragstart", (event) => this.#startDrag(event));
    place.addEventListener("dragover", (event) => this.#dragOver(event));
    place.addEventListener("drop", (event) => this.#drop(event));
    place.addEventListener("dragend", () => this.#endDrag());
  }

  show(run) {
    const held = heldControl(this.#place);
    this.#bodies = run === null ? [] : run.routes.map((_, route) => this.#makeBody(run, route));
    if (run === null) {
      const text = isSearching(this.#store.state) ? "No routes yet." : "No routes yet. Press Solve.";
      this.#place.replaceChildren(make("p", { class: "empty", text }));
      return;
    }
    const heads = ["Route", "Stops", "Load", "Length", "Lock"].map((text) => make("th", { scope: "col", text }));
    const caption = make("caption", { class: "visually-hidden", text: "Routes and their stops" });
    const table = make("table", { class: "routes-table" }, caption);
    table.append(make("thead", {}, make("tr", {}, ...heads)), ...this.#bodies);
    this.#place.replaceChildren(table);
    if (held !== null) this.#place.querySelector(held)?.focus({ preventScroll: true });
    this.emphasise(this.#store.state);
  }

  emphasise({ hoveredRoute, pinnedRoute }) {
    const emphasised = hoveredRoute ?? pinnedRoute;
    this.#bodies.forEach((body, route) => {
      const row = body.rows[0];
      row.classList.toggle("emphasised", route === emphasised);
      row.classList.toggle("pinned", route === pinnedRoute);
      row.querySelector("button").setAttribute("aria-pressed", String(route === pinnedRoute));
    });
    if (pinnedRoute !== null) this.#bodies[pinnedRoute]?.scrollIntoView({ block: "nearest" });
  }

  #makeBody(run, route) {
    const { instance } = run;
    const stops = run.routes[route];
    const capacity = capacityOf(run, route);
    const share = run.loads[route] / capacity;
    const isChangeable = changeableRun(this.#store.state) === run;
    const locked = isLocked(this.#store.state, stops);
    const pin = make("button", { type: "button", class: "route-toggle", "aria-pressed": "false" }, swatch(route));
    pin.append(make("span", { class: "visually-hidden", text: "Show route " }), String(route + 1));
    const load = `${formatAmount(run.loads[route])} / ${formatAmount(capacity)}`;
    const row = make(
      "tr",
      { "data-route": route, class: share > 1 ? "overloaded" : null },
      make("th", { scope: "row" }, pin),
      make("td", { class: "number", text: stops.length }),
      make("td", {}, loadBar(share, load)),
      make("td", { class: "number", text: formatLength(instance, run.lengths[route]) }),
      make("td", {}, lockButton(route, locked, isChangeable && !instance.vehicles)),
    );
    const list = make("ol", { class: "stops", "aria-label": `Stops of route ${route + 1}` });
    list.append(...stops.map((stop, place) => makeStop(instance, stop, place, isChangeable && !locked)));
    const below = make("tr", { class: "stops-row" }, make("td", { colspan: 5 }, list));
    return make("tbody", { "data-body": route, class: `colour-${colourIndex(route)}` }, row, below);
  }

  #hover(route) {
    this.#store.update({ hoveredRoute: route });
  }

  #click(element) {
    const stop = stopAt(element);
    const route = routeAt(element);
    if (stop !== null) this.#store.update({ selectedNode: stop });
    else if (element.closest(".lock:not(:disabled)")) toggleLock(this.#store, changeableRun(this.#store.state).routes[route]);
    else if (route !== null) this.#pin(route);
  }

  #pin(route) {
    this.#store.update({ pinnedRoute: this.#store.state.pinnedRoute === route ? null : route });
  }

  /** Alt and an arrow: up and down go to another route, left and right to another place in it. */
  #key(event) {
    const stop = stopAt(event.target);
    const run = changeableRun(this.#store.state);
    if (stop === null || run === null || !event.altKey || !(event.key in STEPS)) return;
    event.preventDefault();
    const [across, along] = STEPS[event.key];
    const route = routeOfStop(run, stop);
    const place = across === 0 ? run.routes[route].indexOf(stop) + along : null;
    if (place !== null && (place < 0 || place > run.routes[route].length)) return;
    moveStop(this.#store, this.#api, stop, route + across, place);
    this.#place.querySelector(`[data-stop="${stop}"]`)?.focus({ preventScroll: true });
  }

  #startDrag(event) {
    this.#dragged = stopAt(event.target);
    if (this.#dragged === null) return;
    event.dataTransfer.setData("text/plain", String(this.#dragged));
    event.dataTransfer.effectAllowed = "move";
  }

  #dragOver(event) {
    const route = routeAt(event.target);
    this.#bodies.forEach((body, index) => body.classList.toggle("dropping", index === route && this.#dragged !== null));
    if (this.#dragged !== null && route !== null) event.preventDefault();
  }

  #drop(event) {
    const [stop, target, other] = [this.#dragged, routeAt(event.target), stopAt(event.target)];
    this.#endDrag();
    if (stop === null || target === null) return;
    event.preventDefault();
    const run = changeableRun(this.#store.state);
    const place = other === null || other === stop ? null : run.routes[target].indexOf(other);
    moveStop(this.#store, this.#api, stop, target, place);
  }

  #endDrag() {
    this.#dragged = null;
    for (const body of this.#bodies) body.classList.remove("dropping");
  }
}

function routeAt(element) {
  const route = element?.closest?.("tbody[data-body]")?.dataset.body;
  return route === undefined ? null : Number(route);
}

function stopAt(element) {
  const stop = element?.closest?.("[data-stop]")?.dataset.stop;
  return stop === undefined ? null : Number(stop);
}

/** A selector of the focused control, to restore the focus after the table is drawn again. */
function heldControl(place) {
  const element = document.activeElement;
  if (!place.contains(element)) return null;
  const stop = stopAt(element);
  if (stop !== null) return `[data-stop="${stop}"]`;
  return `tbody[data-body="${routeAt(element)}"] ${element.matches(".lock") ? ".lock" : ".route-toggle"}`;
}

function makeStop(instance, stop, place, isFree) {
  const name = instance.customers[stop - 1].id ?? stop;
  const label = `Stop ${place + 1}: ${name}`;
  const button = make("button", { type: "button", class: "stop", "data-stop": stop, draggable: String(isFree), text: name });
  button.setAttribute("aria-label", label);
  return make("li", {}, button);
}

function lockButton(route, isOn, isPossible) {
  const label = isOn ? `Unlock route ${route + 1}` : `Lock route ${route + 1}`;
  const shackle = makeSvg("path", { d: isOn ? "M8 11V8a4 4 0 0 1 8 0v3" : "M8 11V7a4 4 0 0 1 7.7-1.5" });
  const icon = makeSvg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, shackle);
  icon.append(makeSvg("rect", { x: 6, y: 11, width: 12, height: 9, rx: 2 }));
  const settings = { type: "button", class: "icon-button lock", title: label, "aria-label": label, disabled: !isPossible };
  return make("button", { ...settings, "aria-pressed": String(isOn) }, icon);
}

function swatch(route) {
  const line = makeSvg("path", { d: "M1 6h20", "stroke-dasharray": dashOf(route) });
  return makeSvg("svg", { class: "swatch", viewBox: "0 0 22 12", "aria-hidden": "true" }, line);
}

function loadBar(share, text) {
  const fill = make("span", { class: "load-fill" });
  fill.style.width = `${Math.min(100, 100 * share).toFixed(1)}%`;
  const bar = make("span", { class: "load-bar" }, fill);
  return make("span", { class: "load" }, make("span", { class: "load-text", text }), bar);
}
