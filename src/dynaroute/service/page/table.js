// The table of routes: load bars, lengths, stops. A row and its route on the map light up together.

import { colourIndex, dashOf } from "./colours.js";
import { make, makeSvg } from "./dom.js";
import { formatAmount, formatCost } from "./numbers.js";

/** Show `run` ({instance, routes, loads, lengths}) in `place`; null empties it. */
export class RouteTable {
  #place;
  #store;
  #rows = [];

  constructor(place, store) {
    this.#place = place;
    this.#store = store;
    place.addEventListener("pointerover", (event) => this.#hover(rowRoute(event.target)));
    place.addEventListener("pointerleave", () => this.#hover(null));
    place.addEventListener("focusin", (event) => this.#hover(rowRoute(event.target)));
    place.addEventListener("focusout", () => this.#hover(null));
    place.addEventListener("click", (event) => this.#pin(rowRoute(event.target)));
  }

  show(run) {
    const focused = rowRoute(document.activeElement);
    this.#rows = run === null ? [] : run.routes.map((_, route) => makeRow(run, route));
    if (run === null) {
      this.#place.replaceChildren(make("p", { class: "empty", text: "No routes yet. Press Solve." }));
      return;
    }
    const heads = ["Route", "Stops", "Load", "Length"].map((text) => make("th", { scope: "col", text }));
    const caption = make("caption", { class: "visually-hidden", text: "Routes" });
    const table = make("table", { class: "routes-table" }, caption);
    table.append(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...this.#rows));
    this.#place.replaceChildren(table);
    if (focused !== null) this.#rows[focused]?.querySelector("button").focus({ preventScroll: true });
    this.emphasise(this.#store.state);
  }

  emphasise({ hoveredRoute, pinnedRoute }) {
    const emphasised = hoveredRoute ?? pinnedRoute;
    this.#rows.forEach((row, route) => {
      row.classList.toggle("emphasised", route === emphasised);
      row.classList.toggle("pinned", route === pinnedRoute);
      row.querySelector("button").setAttribute("aria-expanded", String(route === pinnedRoute));
    });
    if (pinnedRoute !== null) this.#rows[pinnedRoute]?.scrollIntoView({ block: "nearest" });
  }

  #hover(route) {
    this.#store.update({ hoveredRoute: route });
  }

  #pin(route) {
    if (route === null) return;
    this.#store.update({ pinnedRoute: this.#store.state.pinnedRoute === route ? null : route });
  }
}

function rowRoute(element) {
  const route = element?.closest?.("tr[data-route]")?.dataset.route;
  return route === undefined ? null : Number(route);
}

function makeRow(run, route) {
  const { instance } = run;
  const stops = run.routes[route];
  const share = run.loads[route] / instance.capacity;
  const names = stops.map((stop) => instance.customers[stop - 1].id ?? stop).join(" → ");
  const toggle = make("button", { type: "button", class: "route-toggle", "aria-expanded": "false" }, swatch(route));
  toggle.append(make("span", { class: "visually-hidden", text: "Route " }), String(route + 1));
  const sequence = make("span", { class: "sequence", text: names });
  return make(
    "tr",
    { "data-route": route, class: `colour-${colourIndex(route)}` },
    make("th", { scope: "row" }, toggle),
    make("td", {}, make("span", { class: "number", text: stops.length }), sequence),
    make("td", {}, loadBar(share, `${formatAmount(run.loads[route])} / ${formatAmount(instance.capacity)}`)),
    make("td", { class: "number", text: formatCost(run.lengths[route]) }),
  );
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
