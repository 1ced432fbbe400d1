// The map, drawn by Leaflet: places in degrees as street maps have them, others in a plane. It has no state of the page.

import { colourIndex, dashOf } from "./colours.js";
import { make } from "./dom.js";
import { amountsOf, hasPlaces, isOnGlobe, nameOf, nodeAt, placedNodes, placeOf } from "./instance.js";
import { formatAmount } from "./numbers.js";

const { L } = window; // a classic script of the page
const MOST_LABELS = 60; // more names of routes would hide the map
const MOST_NUMBERS = 80; // stops of the route that stands out
const LEAST_SPAN = 1e-9;
const DEEPEST = { true: 19, false: 40 };

/** Tiles that are just removed; Leaflet would point them at an embedded picture, which the content policy forbids. */
const Tiles = L.TileLayer.extend({
  _removeTile: L.GridLayer.prototype._removeTile,
  _abortLoading() {},
});

export class RouteMap {
  #place;
  #map = null;
  #isGlobe = null;
  #instance = null;
  #nodes = [];
  #points = []; // one layer a node
  #routes = []; // the layers of each route
  #drawn = [];
  #numbers = null;
  #streets = null;
  #tiles = null;
  #isFitted = false; // since the user last moved or zoomed

  constructor(place) {
    this.#place = place;
    new ResizeObserver(() => this.#resize()).observe(place);
  }

  /** Told of clicks and drags: onPoint(node), onRoute(route), onGround(place), onHover(node, route), onDrop(node, event). */
  listeners = {};

  /** Show a day. `keepsView` where the same one was edited. */
  showInstance(instance, { keepsView }) {
    const isGlobe = isOnGlobe(instance) && hasPlaces(instance);
    const isNew = isGlobe !== this.#isGlobe;
    if (isNew) this.#make(isGlobe);
    this.#instance = instance;
    this.#nodes = instance.depot === null ? [] : placedNodes(instance);
    if (isNew || !keepsView) this.fit(); // before anything is drawn: layers appear once there is a view
    this.showRoutes([]);
    this.#drawPoints();
  }

  /** Show routes; `shadow` are those of another plan, drawn in grey beneath; the route `open` is still being built. */
  showRoutes(routes, { shadow = [], open = null } = {}) {
    for (const { layers } of this.#routes) for (const layer of layers) layer.remove();
    this.#drawn = routes;
    this.#routes = routes.map((stops, route) => this.#drawRoute(stops, route, { count: routes.length, isOpen: route === open }));
    const layers = shadow.map((stops) => this.#drawLine(this.#trace(stops), "route-shadow").bringToBack());
    this.#routes.push({ layers });
    this.#colourPoints(open !== null);
  }

  /** Let one route stand out, or none. */
  emphasise(route) {
    this.#place.classList.toggle("has-emphasis", route !== null);
    this.#routes.forEach(({ layers }, index) => {
      for (const layer of layers) layer.getElement()?.classList.toggle("emphasised", index === route);
    });
    const stops = new Set(route === null ? [] : this.#drawn[route]);
    this.#points.forEach((point, node) => point.getElement()?.classList.toggle("emphasised", stops.has(node) || node === 0));
    this.#number(route === null ? [] : (this.#drawn[route] ?? []), route);
  }

  /** Mark one point, which is the one that Tab reaches. */
  select(node) {
    this.#points.forEach((point, index) => {
      point.getElement()?.classList.toggle("selected", index === node);
      point.getElement()?.setAttribute("tabindex", index === (node ?? 0) ? 0 : -1);
    });
    const at = node === null ? undefined : this.#points[node]?.getLatLng();
    if (at && !this.#map.getBounds().contains(at)) this.#map.panTo(at, { animate: false });
  }

  focusNode(node) {
    this.#points[node]?.getElement()?.focus({ preventScroll: true });
  }

  /** Whether a point is in the left half of what is seen. */
  isOnTheLeft(node) {
    const at = this.#points[node];
    return at !== undefined && this.#map.latLngToContainerPoint(at.getLatLng()).x < this.#map.getSize().x / 2;
  }

  /** The node of an element, or null. */
  nodeOf(element) {
    const name = element?.closest?.(".point")?.dataset.node;
    return name === undefined ? null : Number(name);
  }

  routeOf(element) {
    const name = element?.closest?.("[data-route]")?.dataset.route;
    return name === undefined ? null : Number(name);
  }

  fit() {
    const places = this.#nodes.map(toLatLng);
    const bounds = L.latLngBounds(places.length > 0 ? places : [[0, 0], [100, 100]]);
    const span = bounds.getNorth() - bounds.getSouth() + bounds.getEast() - bounds.getWest();
    if (span < LEAST_SPAN) this.#map.setView(bounds.getCenter(), this.#isGlobe ? 13 : 2, { animate: false });
    else this.#map.fitBounds(bounds, { padding: [28, 28], animate: false });
    this.#isFitted = true;
  }

  #resize() {
    this.#map?.invalidateSize({ animate: false });
    if (this.#isFitted) this.fit(); // until the user looks elsewhere
  }

  zoom(step) {
    this.#map.setZoom(this.#map.getZoom() + step);
  }

  /** Show a street map behind the routes, {tiles, attribution}; null for none. */
  showStreets(settings) {
    this.#tiles = settings;
    this.#streets?.remove();
    this.#streets = null;
    this.#place.classList.toggle("has-streets", settings !== null);
    if (settings === null || !this.#isGlobe) return;
    const attribution = make("span", { text: settings.attribution }).outerHTML; // Leaflet expects markup
    this.#streets = new Tiles(settings.tiles, { attribution, maxZoom: DEEPEST[true] }).addTo(this.#map);
  }

  #make(isGlobe) {
    this.#map?.remove();
    this.#points = [];
    this.#routes = [];
    this.#isGlobe = isGlobe;
    this.#map = L.map(this.#place, {
      crs: isGlobe ? L.CRS.EPSG3857 : L.CRS.Simple,
      minZoom: isGlobe ? 1 : -20,
      maxZoom: DEEPEST[isGlobe],
      zoomSnap: 0.25,
      zoomControl: false,
      keyboard: false, // the keys belong to the points
      boxZoom: false,
      doubleClickZoom: false,
      dragging: !matchMedia("(pointer: coarse)").matches, // one finger scrolls the page, two move and zoom the map
      fadeAnimation: false,
      zoomAnimation: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      renderer: L.svg({ padding: 0.6 }),
    });
    this.#map.attributionControl.setPrefix(false);
    if (isGlobe) L.control.scale({ imperial: false }).addTo(this.#map);
    this.#map.on("movestart", () => (this.#isFitted = false));
    this.#map.on("click", (event) => this.#click(event));
    this.#map.on("mousemove", ({ originalEvent: { target } }) => this.#hover(target));
    this.#map.on("mouseout", () => this.listeners.onHover?.(null, null));
    this.#map.getContainer().onpointerdown = (event) => this.#press(event);
    this.showStreets(this.#tiles);
  }

  #click({ latlng, originalEvent: { target } }) {
    const [node, route] = [this.nodeOf(target), this.routeOf(target)];
    if (node !== null) this.listeners.onPoint?.(node);
    else if (route !== null) this.listeners.onRoute?.(route, roundPlace(latlng, this.#map));
    else this.listeners.onGround?.(roundPlace(latlng, this.#map));
  }

  #hover(target) {
    if (this.#map.dragging.moving()) return; // nothing needs to stand out while the map is moved
    const node = this.nodeOf(target);
    const route = node === null ? this.routeOf(target) : this.#drawn.findIndex((stops) => stops.includes(node));
    this.listeners.onHover?.(node, route < 0 ? null : route);
  }

  /** Drag a point; whoever listens to `onDrop` says what that means. */
  #press(event) {
    const node = this.nodeOf(event.target);
    if (node === null || event.button !== 0 || !this.listeners.mayDrag?.(node)) return;
    this.#map.dragging.disable();
    const start = [event.clientX, event.clientY];
    const point = this.#points[node];
    const from = point.getLatLng();
    let isMoving = false;
    const watch = new AbortController();
    const { signal } = watch;
    const end = (moved) => {
      watch.abort();
      if (!matchMedia("(pointer: coarse)").matches) this.#map.dragging.enable();
      point.getElement().classList.remove("dragged");
      point.setLatLng(from);
      if (moved !== null && isMoving) this.listeners.onDrop(node, moved, roundPlace(this.#map.mouseEventToLatLng(moved), this.#map));
    };
    const move = (moved) => {
      isMoving ||= Math.hypot(moved.clientX - start[0], moved.clientY - start[1]) > 4;
      if (!isMoving) return;
      point.getElement().classList.add("dragged"); // what lies under it is then found by the pointer
      point.setLatLng(this.#map.mouseEventToLatLng(moved));
    };
    document.addEventListener("pointermove", move, { signal });
    document.addEventListener("pointerup", end, { signal });
    document.addEventListener("pointercancel", () => end(null), { signal });
  }

  #drawPoints() {
    const held = this.nodeOf(document.activeElement);
    for (const point of this.#points) point.remove();
    const radius = Math.min(7, Math.max(3.2, 52 / Math.sqrt(this.#nodes.length + 1)));
    const { length } = this.#instance.customers;
    this.#points = this.#nodes.map((node, index) => {
      const isDepot = index === 0 || index > length;
      const point = isDepot ? makeDepot(toLatLng(node)) : L.circleMarker(toLatLng(node), { radius, className: "point" });
      point.addTo(this.#map);
      const element = point.getElement();
      element.dataset.node = index;
      for (const [name, value] of [["role", "button"], ["tabindex", -1], ["aria-label", describeNode(this.#instance, index)]]) {
        element.setAttribute(name, value);
      }
      return point;
    });
    if (held !== null) this.focusNode(Math.min(held, this.#points.length - 1));
  }

  #drawRoute(stops, route, { count, isOpen }) {
    const colour = `colour-${colourIndex(route)}`;
    const places = this.#trace(stops).slice(0, isOpen ? -1 : undefined);
    const dashArray = dashOf(route) || null;
    const hit = this.#drawLine(places, `route-hit ${colour}`, { interactive: true });
    const ends = this.#drawLine([places.slice(0, 2), isOpen ? [] : places.slice(-2)], `route-ends ${colour}`, { dashArray });
    const line = this.#drawLine(places.slice(1, isOpen ? undefined : -1), `route ${colour}`, { dashArray });
    const layers = [hit, ends, line];
    for (const layer of layers) if (layer.getElement()) layer.getElement().dataset.route = route;
    if (count <= MOST_LABELS && stops.length > 0) layers.push(this.#label(places[Math.ceil(stops.length / 2)], route));
    for (const layer of [line, ends, hit]) layer.bringToBack(); // a point that was drawn again would lose the focus
    return { layers };
  }

  #drawLine(places, className, settings = {}) {
    return L.polyline(places, { className, interactive: false, smoothFactor: 0, ...settings }).addTo(this.#map);
  }

  #label(place, route) {
    const icon = L.divIcon({ className: `route-label colour-${colourIndex(route)}`, html: String(route + 1), iconSize: [20, 16], iconAnchor: [-5, 18] });
    return L.marker(place, { icon, interactive: false, keyboard: false }).addTo(this.#map);
  }

  /** The numbers of the stops of the route that stands out. */
  #number(stops, route) {
    this.#numbers?.remove();
    this.#numbers = null;
    if (stops.length === 0 || stops.length > MOST_NUMBERS) return;
    const makeNumber = (stop, index) => {
      const icon = L.divIcon({ className: `stop-number colour-${colourIndex(route)}`, html: String(index + 1), iconSize: [18, 18] });
      return L.marker(toLatLng(this.#nodes[stop] ?? this.#nodes[0]), { icon, interactive: false, keyboard: false });
    };
    this.#numbers = L.layerGroup(stops.map(makeNumber)).addTo(this.#map);
  }

  #trace(stops) {
    return [0, ...stops, 0].map((node) => toLatLng(this.#nodes[node] ?? this.#nodes[0]));
  }

  #colourPoints(isBuilding) {
    const colours = new Map(this.#drawn.flatMap((stops, route) => stops.map((stop) => [stop, colourIndex(route)])));
    this.#points.forEach((point, node) => {
      const element = point.getElement();
      for (const name of [...element.classList]) if (name.startsWith("colour-")) element.classList.remove(name);
      if (colours.has(node)) element.classList.add(`colour-${colours.get(node)}`);
      element.classList.toggle("unserved", !isBuilding && this.#drawn.length > 0 && node > 0 && !colours.has(node));
    });
  }
}

export function describeNode(instance, node) {
  const own = nodeAt(instance, node);
  if (node === 0 || own === undefined) return nameOf(instance, node);
  const demand = amountsOf(own.demand).map(([name, value]) => `${formatAmount(value)} ${name}`.trim());
  return `${nameOf(instance, node)}, demand ${demand.join(", ")}`;
}

function makeDepot(place) {
  const icon = L.divIcon({ className: "point depot", iconSize: [16, 16] });
  return L.marker(place, { icon, keyboard: false, zIndexOffset: 1000 });
}

function toLatLng(node) {
  const [x, y] = placeOf(node);
  return [y, x];
}

/** A place without digits that cannot be seen. */
function roundPlace(latlng, map) {
  const at = map.latLngToContainerPoint(latlng);
  const beside = map.containerPointToLatLng(at.add([1, 0]));
  const digits = Math.min(15, Math.max(0, Math.ceil(-Math.log10(Math.abs(beside.lng - latlng.lng) || 1)) + 1));
  return [latlng.lng, latlng.lat].map((value) => Number(value.toFixed(digits)));
}
