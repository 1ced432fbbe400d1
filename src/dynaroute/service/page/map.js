// Draws a problem and its routes as SVG. It has no state of the page; its owner says what to show.

import { colourIndex, dashOf } from "./colours.js";
import { makeSvg, setAttributes } from "./dom.js";
import { axesOf, boundsOf, hasPlace, hasPlaces, isOnGlobe, nameOf, nodeAt, placedNodes, placeOf } from "./instance.js";
import { scaleBar } from "./lengths.js";
import { formatAmount, formatPlace } from "./numbers.js";
import { StreetMap } from "./street_map.js";
import { GLOBE, PLANE, View } from "./view.js";

const MOST_LABELS = 60; // more route numbers would hide the map
const DEPOT_SIZE = 15;
const LABEL_ROOM = 14; // pixels between a route's number and its points
const LABEL_SHIFTS = [[0, 0], [0, -17], [17, 0], [0, 17], [-17, 0], [20, -20], [20, 20], [-20, 20], [-20, -20]];

export class RouteMap {
  #svg;
  #streets = new StreetMap();
  #scale = makeSvg("g", { class: "scale", "aria-hidden": "true" });
  #grid = makeSvg("g", { class: "grid", "aria-hidden": "true" });
  #routes = makeSvg("g", { class: "routes", "aria-hidden": "true" });
  #points = makeSvg("g", { class: "points" });
  #labels = makeSvg("g", { class: "labels", "aria-hidden": "true" });
  #vehicle = makeSvg("circle", { class: "vehicle", r: 6, visibility: "hidden" });
  #routeParts = []; // for each route: {group, hit, ends, line, shared, label}
  #pointParts = []; // element of each node
  #colours = []; // colour of each customer, to update only what changes
  #screen = []; // position of each node on the screen
  #instance = null;
  #nodes = [];
  #drawing = { routes: [], tip: null };
  #shared = null;
  #emphasised = null;

  constructor(svg, { isEditable }) {
    this.#svg = svg;
    this.isEditable = isEditable;
    this.view = new View();
    this.#labels.append(this.#vehicle);
    svg.append(this.#streets.element, this.#grid, this.#routes, this.#points, this.#labels, this.#scale);
    new ResizeObserver(() => this.#resize()).observe(svg);
    this.#resize();
  }

  get svg() {
    return this.#svg;
  }

  /** Show a problem. `keepsView` where the same one was edited. */
  showInstance(instance, { keepsView = false } = {}) {
    this.#instance = instance;
    this.#nodes = placedNodes(instance);
    this.view.projection = projectionOf(instance);
    this.#drawing = { routes: [], tip: null }; // the shown routes may visit removed customers
    this.#matchPoints();
    if (keepsView) this.#place();
    else this.fit();
  }

  /** Show a street map behind the routes, {tiles, attribution}; null for none. */
  showStreets(settings) {
    this.#streets.choose(settings);
    this.#svg.classList.toggle("has-streets", settings !== null);
    if (this.#instance !== null) this.#drawStreets();
  }

  /** Show routes; `shared`, a set of legs, are drawn as background. */
  showRoutes(drawing, shared = null) {
    this.#drawing = drawing;
    this.#shared = shared;
    this.#drawRoutes();
  }

  /** Let one route stand out, or none. */
  emphasise(route) {
    if (route === null && this.#emphasised === null) return;
    this.#emphasised = route;
    this.#svg.classList.toggle("has-emphasis", route !== null);
    this.#routeParts.forEach((parts, index) => parts.group.classList.toggle("emphasised", index === route));
    this.#routeParts.forEach((parts, index) => parts.label.classList.toggle("emphasised", index === route));
    if (route !== null && this.#routeParts[route]) this.#routes.append(this.#routeParts[route].group);
    const stops = new Set(route === null ? [] : (this.#drawing.routes[route] ?? []));
    this.#pointParts.forEach((part, node) => part.classList.toggle("emphasised", stops.has(node) || node === 0));
  }

  /** Mark one point, which is the one that Tab reaches. */
  select(node) {
    this.#pointParts.forEach((part, index) => {
      part.classList.toggle("selected", index === node);
      if (this.isEditable) part.setAttribute("tabindex", index === (node ?? 0) ? 0 : -1);
    });
  }

  focusNode(node) {
    this.#pointParts[node]?.focus();
  }

  /** The node within `reach` pixels of a point on the screen, nearest first, or null. */
  nodeAt([x, y], reach) {
    let nearest = null;
    let least = reach;
    this.#screen.forEach(([left, top], node) => {
      const distance = Math.hypot(left - x, top - y);
      if (distance <= least) [nearest, least] = [node, distance];
    });
    return nearest;
  }

  screenPlace(node) {
    return this.#screen[node];
  }

  nodeOf(element) {
    const node = this.#pointParts.indexOf(element);
    return node < 0 ? null : node;
  }

  routeOf(element) {
    const name = element.closest?.(".route")?.dataset.route;
    return name === undefined ? null : Number(name);
  }

  fit() {
    this.look(boundsOf(this.#nodes));
  }

  /** Show a part of the plane. */
  look(frame) {
    this.view.fit(frame);
    this.#place();
    this.onLook(frame);
  }

  zoom(factor, anchor) {
    this.view.zoom(factor, anchor);
    this.#place();
    this.onLook(this.view.frame);
  }

  pan(dx, dy) {
    this.view.pan(dx, dy);
    this.#place();
    this.onLook(this.view.frame);
  }

  /** Told of the part of the plane that is looked at; set by whoever wants another map to follow. */
  onLook = () => {};

  /** Draw one node elsewhere without changing the problem, as while it is dragged. */
  preview(node, place) {
    const [across, up] = axesOf(this.#nodes[node]);
    this.#nodes[node] = { ...this.#nodes[node], [across]: place[0], [up]: place[1] };
    this.#screen[node] = this.view.toScreen(place);
    this.#placePoint(node);
    this.#drawing.routes.forEach((route, index) => {
      if (node === 0 || route.includes(node)) this.#drawRoute(index, route, null);
    });
  }

  #resize() {
    const { width, height } = this.#svg.getBoundingClientRect();
    if (width === 0) return;
    this.view.resize(width, height);
    if (this.#instance === null) return;
    this.#sizePoints();
    this.#place();
  }

  #place() {
    this.#screen = this.#nodes.map((node) => this.view.toScreen(placeOf(node)));
    this.#screen.forEach((_, node) => this.#placePoint(node));
    this.#drawGrid();
    this.#drawStreets();
    this.#drawScale();
    this.#drawRoutes();
  }

  #drawStreets() {
    this.#streets.draw(this.view, this.view.projection === GLOBE);
  }

  /** How long a stretch of the map is, where places are in degrees. */
  #drawScale() {
    this.#scale.replaceChildren();
    if (this.view.projection !== GLOBE) return;
    const { pixels, text } = scaleBar(this.view, 140);
    const bottom = this.view.height - 12;
    const bar = makeSvg("path", { d: `M12 ${bottom - 5}v5h${pixels.toFixed(1)}v-5` });
    this.#scale.append(bar, makeSvg("text", { x: (20 + pixels).toFixed(1), y: bottom, text }));
  }

  #placePoint(node) {
    const [x, y] = this.#screen[node];
    const part = this.#pointParts[node];
    if (node === 0) setAttributes(part, { x: (x - DEPOT_SIZE / 2).toFixed(1), y: (y - DEPOT_SIZE / 2).toFixed(1) });
    else setAttributes(part, { cx: x.toFixed(1), cy: y.toFixed(1) });
  }

  #matchPoints() {
    const parts = this.#pointParts;
    const focused = this.nodeOf(document.activeElement);
    while (parts.length > this.#nodes.length) parts.pop().remove();
    while (parts.length < this.#nodes.length) {
      parts.push(makePoint(parts.length, this.isEditable));
      this.#points.append(parts.at(-1));
    }
    if (parts.length > 0) this.#points.append(parts[0]); // the depot is on top
    this.#colours.length = parts.length;
    parts.forEach((part, node) => {
      if (this.isEditable) part.setAttribute("aria-label", describeNode(this.#instance, node));
    });
    this.#sizePoints();
    if (focused !== null && parts.length > 0) parts[Math.min(focused, parts.length - 1)].focus();
  }

  /** The more a customer wants, the larger; the more there are, and the smaller the map, the smaller. */
  #sizePoints() {
    const largest = Math.max(...this.#instance.customers.map((customer) => customer.demand), 1e-9);
    const room = Math.min(1, Math.min(this.view.width, this.view.height) / 560);
    const base = room * Math.min(6.5, Math.max(2.4, 50 / Math.sqrt(this.#nodes.length + 1)));
    this.#instance.customers.forEach(({ demand }, index) => {
      const radius = Math.max(2, base * (0.65 + 0.5 * Math.sqrt(demand / largest)));
      this.#pointParts[index + 1]?.setAttribute("r", radius.toFixed(2));
    });
  }

  #drawGrid() {
    const step = this.view.gridStep();
    const [left, high] = this.view.toPlace([0, 0]);
    const [right, low] = this.view.toPlace([this.view.width, this.view.height]);
    const lines = [];
    for (let x = Math.ceil(left / step) * step; x <= right; x += step) {
      lines.push(`M${this.view.toScreen([x, 0])[0].toFixed(1)} 0V${this.view.height}`);
    }
    for (let y = Math.ceil(low / step) * step; y <= high; y += step) {
      lines.push(`M0 ${this.view.toScreen([0, y])[1].toFixed(1)}H${this.view.width}`);
    }
    this.#grid.replaceChildren(makeSvg("path", { d: lines.join("") }));
  }

  #drawRoutes() {
    const { routes, tip } = this.#drawing;
    this.#matchRoutes(routes.length);
    const colours = new Array(this.#nodes.length).fill(null);
    routes.forEach((route, index) => {
      const isOpen = tip !== null && index === routes.length - 1;
      this.#drawRoute(index, route, isOpen ? tip : null);
      for (const stop of route) colours[stop] = colourIndex(index);
    });
    this.#colourPoints(colours);
    this.#vehicle.setAttribute("visibility", tip === null ? "hidden" : "visible");
    if (tip === null) return;
    const [x, y] = this.view.toScreen(tip);
    setAttributes(this.#vehicle, { cx: x.toFixed(1), cy: y.toFixed(1) });
  }

  #drawRoute(index, route, tip) {
    const parts = this.#routeParts[index];
    const [depot, ...stops] = [0, ...route].map((node) => this.#screen[node] ?? this.#screen[0]);
    const end = tip === null ? depot : this.view.toScreen(tip);
    const places = [depot, ...stops, end];
    const nodes = [0, ...route, 0];
    const legs = { ends: "", line: "", shared: "", hit: "" };
    for (let leg = 0; leg + 1 < places.length; leg += 1) {
      const piece = `M${format(places[leg])}L${format(places[leg + 1])}`;
      const touchesDepot = leg === 0 || (leg + 2 === places.length && tip === null);
      const isShared = this.#shared?.has(legKey(nodes[leg], nodes[leg + 1]));
      legs[isShared ? "shared" : touchesDepot ? "ends" : "line"] += piece;
      legs.hit += piece;
    }
    for (const [name, path] of Object.entries(legs)) parts[name].setAttribute("d", path);
    const [x, y] = labelPlace([depot, ...stops]);
    setAttributes(parts.label, { x: x.toFixed(1), y: y.toFixed(1) });
  }

  #matchRoutes(count) {
    const parts = this.#routeParts;
    while (parts.length > count) {
      const gone = parts.pop();
      gone.group.remove();
      gone.label.remove();
    }
    while (parts.length < count) {
      parts.push(makeRoute(parts.length));
      this.#routes.append(parts.at(-1).group);
      this.#labels.append(parts.at(-1).label);
    }
    this.#labels.classList.toggle("crowded", count > MOST_LABELS);
  }

  #colourPoints(colours) {
    for (let node = 1; node < colours.length; node += 1) {
      if (this.#colours[node] === colours[node]) continue;
      this.#colours[node] = colours[node];
      const part = this.#pointParts[node];
      part.setAttribute("class", part.getAttribute("class").replace(/ ?colour-\d+/, ""));
      if (colours[node] !== null) part.classList.add(`colour-${colours[node]}`);
    }
  }
}

/** The legs of routes as keys, whichever way they are driven. */
export function legsOf(routes) {
  const legs = new Set();
  for (const route of routes) {
    [...route, 0].forEach((stop, index) => legs.add(legKey(index === 0 ? 0 : route[index - 1], stop)));
  }
  return legs;
}

export function describeNode(instance, node) {
  const own = nodeAt(instance, node);
  const place = hasPlace(own) ? `, at ${placeOf(own).map(formatPlace).join(", ")}` : "";
  const demand = node === 0 ? "" : `, demand ${formatAmount(own.demand)}`;
  return `${nameOf(instance, node)}${demand}${place}`;
}

/** How places are laid out: degrees as street maps have them. */
export function projectionOf(instance) {
  return isOnGlobe(instance) && hasPlaces(instance) ? GLOBE : PLANE;
}

function legKey(start, end) {
  return start < end ? `${start} ${end}` : `${end} ${start}`;
}

function makePoint(node, isEditable) {
  const role = isEditable ? { role: "button", tabindex: -1 } : {};
  if (node > 0) return makeSvg("circle", { class: "point", ...role });
  return makeSvg("rect", { class: "point depot", width: DEPOT_SIZE, height: DEPOT_SIZE, rx: 3, ...role });
}

function makeRoute(route) {
  const dash = { "stroke-dasharray": dashOf(route) };
  const [hit, ends, line, shared] = [
    makeSvg("path", { class: "hit" }),
    makeSvg("path", { class: "ends", ...dash }),
    makeSvg("path", { class: "line", ...dash }),
    makeSvg("path", { class: "shared" }),
  ];
  const attributes = { class: `route colour-${colourIndex(route)}`, "data-route": route };
  const group = makeSvg("g", attributes, hit, shared, ends, line);
  const label = makeSvg("text", { class: `route-label colour-${colourIndex(route)}`, text: route + 1 });
  return { group, hit, ends, line, shared, label };
}

/** In the middle of the stops, or beside it where that is free of points. */
function labelPlace([depot, ...stops]) {
  if (stops.length === 0) return depot;
  const sum = stops.reduce(([x, y], [left, top]) => [x + left, y + top], [0, 0]);
  const [x, y] = sum.map((value) => value / stops.length);
  const clearance = ([left, top]) => Math.min(...[depot, ...stops].map(([a, b]) => Math.hypot(a - left, b - top)));
  const candidates = LABEL_SHIFTS.map(([dx, dy]) => [x + dx, y + dy]);
  return candidates.find((place) => clearance(place) > LABEL_ROOM) ?? candidates[0];
}

function format([x, y]) {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
