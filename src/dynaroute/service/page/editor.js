// Turns mouse, touch and keys on the map into changes of the problem.

import { byId } from "./dom.js";
import { hasFreePlaces, nameOf, nodeAt, placedNodes, placeOf } from "./instance.js";
import { withCustomer, withDepot, withPlace, withoutCustomer } from "./instance.js";
import { describeNode } from "./map.js";
import { announce } from "./notices.js";
import { changeableRun } from "./reassign.js";
import { editInstance, undoEdit } from "./state.js";

const MOUSE_REACH = 9; // pixels around a point that count as the point
const FINGER_REACH = 22;
const DRAG_START = 4; // pixels of movement before a click becomes a drag
const WHEEL_SPEED = 0.0015;
const ENTERING_KEYS = ["Enter", " ", "PageDown", "PageUp", "Home", "ArrowDown"]; // from the map to its points
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export class MapEditor {
  #map;
  #store;
  #tooltip;
  #pointers = new Map(); // id -> position on the screen, for all fingers that are down
  #drag = null; // {node, from, isMoving}; node is null if the map itself is dragged

  constructor(map, store, tooltip) {
    this.#map = map;
    this.#store = store;
    this.#tooltip = tooltip;
    const { svg } = map;
    svg.addEventListener("pointerdown", (event) => this.#press(event));
    svg.addEventListener("pointermove", (event) => this.#move(event));
    svg.addEventListener("pointerup", (event) => this.#release(event));
    svg.addEventListener("pointercancel", (event) => this.#cancel(event));
    svg.addEventListener("pointerleave", () => this.#hover(null, null));
    svg.addEventListener("mousedown", (event) => this.#takeFocus(event));
    svg.addEventListener("touchstart", (event) => this.#keepFromScrolling(event), { passive: false });
    svg.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    svg.addEventListener("keydown", (event) => this.#key(event));
    svg.addEventListener("focusin", (event) => this.#focus(event));
  }

  get #state() {
    return this.#store.state;
  }

  get #mayMove() {
    return hasFreePlaces(this.#state.instance) && this.#state.comparedRun === null;
  }

  #press(event) {
    if (event.button !== 0) return;
    const at = this.#point(event);
    this.#pointers.set(event.pointerId, at);
    this.#map.svg.setPointerCapture(event.pointerId);
    this.#undoPreview(); // a second finger ends the drag of the first
    this.#drag = { node: this.#nodeAt(event), from: at, isMoving: false };
  }

  /** Take the focus from wherever it was, so that what was typed there counts, but give it to no point by itself. */
  #takeFocus(event) {
    event.preventDefault();
    if (!this.#map.svg.contains(document.activeElement)) this.#map.svg.focus({ preventScroll: true });
  }

  #move(event) {
    const at = this.#point(event);
    const before = this.#pointers.get(event.pointerId);
    if (before === undefined) {
      this.#hover(this.#nodeAt(event), this.#map.routeOf(event.target));
      return;
    }
    this.#pointers.set(event.pointerId, at);
    if (this.#pointers.size === 2) this.#pinch(event.pointerId, before, at);
    else this.#dragTo(at, before);
  }

  #dragTo(at, before) {
    const drag = this.#drag;
    if (drag === null) return;
    drag.isMoving ||= Math.hypot(at[0] - drag.from[0], at[1] - drag.from[1]) > DRAG_START;
    if (!drag.isMoving) return;
    this.#hover(null, null);
    if (drag.node === null) this.#map.pan(at[0] - before[0], at[1] - before[1]);
    else if (this.#mayDrag(drag.node)) this.#map.preview(drag.node, this.#map.view.toPlace(at));
  }

  #pinch(moved, before, now) {
    const [other] = [...this.#pointers].filter(([id]) => id !== moved).map(([, at]) => at);
    const span = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]);
    this.#drag = null;
    if (span(before) > 0) this.#map.zoom(span(now) / span(before), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
  }

  #release(event) {
    const drag = this.#drag;
    this.#pointers.delete(event.pointerId);
    this.#drag = null;
    if (drag === null) return;
    const place = this.#map.view.snap(this.#map.view.toPlace(this.#point(event)));
    if (!drag.isMoving) this.#click(drag.node, place, event);
    else if (this.#isReassigning) this.#reassign(drag.node, event);
    else if (drag.node !== null && this.#mayMove) this.#moveNode(drag.node, place);
  }

  #cancel(event) {
    this.#pointers.delete(event.pointerId);
    this.#undoPreview();
    this.#drag = null;
  }

  /** Draw a point that is being dragged where it was. */
  #undoPreview() {
    const drag = this.#drag;
    if (!drag?.isMoving || drag.node === null || !this.#mayDrag(drag.node)) return;
    this.#putBack(drag.node);
  }

  #putBack(node) {
    this.#map.preview(node, placeOf(placedNodes(this.#state.instance)[node]));
  }

  get #isReassigning() {
    return this.#state.tool === "reassign";
  }

  #mayDrag(node) {
    return this.#isReassigning ? node > 0 && changeableRun(this.#state) !== null : this.#mayMove;
  }

  /** A stop was dropped on a stop or on the line of a route: that is where it goes. */
  #reassign(node, event) {
    if (node === null || !this.#mayDrag(node)) return;
    this.#putBack(node);
    const under = document.elementsFromPoint(event.clientX, event.clientY);
    const other = this.#nodeAt(event);
    const lines = under.map((part) => this.#map.routeOf(part));
    const route = other > 0 ? this.#routeOfNode(other) : lines.find((found) => found !== null);
    if (route !== null && route !== undefined) this.moveStop(node, route);
  }

  /** Take a stop to a route; set by whoever can ask the service what it thinks of that. */
  moveStop = () => {};

  #click(node, place, event) {
    const { tool, instance } = this.#state;
    if (node !== null) {
      this.#map.focusNode(node);
      this.#store.update({ selectedNode: node }); // the point may already have the focus, and then focusing selects nothing
      return;
    }
    const route = this.#map.routeOf(event.target);
    if (tool === "select" || tool === "reassign") {
      this.#store.update({ selectedNode: null, pinnedRoute: route === this.#state.pinnedRoute ? null : route });
      return;
    }
    if (!this.#mayMove) return;
    if (tool === "depot" || instance.depot === null) this.#setDepot(place);
    else this.#addCustomer(place);
  }

  #inspect(node) {
    this.#store.update({ selectedNode: node });
    byId("inspector").querySelector("input:not(:disabled)")?.focus();
  }

  #setDepot(place) {
    editInstance(this.#store, withDepot(this.#state.instance, place), null);
    announce("Depot placed.");
  }

  #addCustomer(place) {
    const instance = withCustomer(this.#state.instance, place, this.#state.newDemand);
    editInstance(this.#store, instance, null);
    announce(`${describeNode(instance, instance.customers.length)} added.`);
  }

  #moveNode(node, place) {
    editInstance(this.#store, withPlace(this.#state.instance, node, place), node);
  }

  #key(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "z") {
      event.preventDefault();
      undoEdit(this.#store);
      announce("Undone.");
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = this.#map.nodeOf(document.activeElement);
    if (node === null) {
      if (ENTERING_KEYS.includes(event.key)) this.#map.focusNode(this.#state.selectedNode ?? 0);
      return;
    }
    const action = this.#actionOf(event.key, node, event.shiftKey ? 10 : 1);
    if (action === null) return;
    event.preventDefault();
    action();
  }

  #actionOf(key, node, factor) {
    const last = this.#state.instance.customers.length;
    const go = (target) => () => this.#map.focusNode(target);
    if (key === "PageDown") return go(node === last ? 0 : node + 1);
    if (key === "PageUp") return go(node === 0 ? last : node - 1);
    if (key === "Home") return go(0);
    if (key === "End") return go(last);
    if (key === "Enter" || key === " ") return () => this.#inspect(node);
    if (!this.#mayMove) return null;
    if (key in ARROWS) return () => this.#nudge(node, ARROWS[key], factor);
    if (key === "Delete" || key === "Backspace") return node === 0 ? null : () => removeNode(this.#store, node);
    if (key === "a" || key === "A") return () => this.#addBeside(node);
    return null;
  }

  #nudge(node, [right, up], factor) {
    const step = this.#map.view.roundStep(12) * factor;
    const [x, y] = placeOf(nodeAt(this.#state.instance, node));
    const place = [x + right * step, y + up * step].map((value) => Number(value.toPrecision(12)));
    this.#moveNode(node, place);
    announce(describeNode(this.#state.instance, node));
  }

  #addBeside(node) {
    const step = this.#map.view.roundStep(60);
    const [x, y] = placeOf(nodeAt(this.#state.instance, node));
    this.#addCustomer([Number((x + step).toPrecision(12)), y]);
    this.#map.focusNode(this.#state.instance.customers.length);
  }

  #focus(event) {
    const node = this.#map.nodeOf(event.target);
    if (node !== null) this.#store.update({ selectedNode: node });
  }

  #hover(node, route) {
    this.#store.update({ hoveredRoute: node === null ? route : this.#routeOfNode(node) });
    this.#tooltip.hidden = node === null;
    if (node === null) return;
    const [x, y] = this.#map.screenPlace(node);
    this.#tooltip.textContent = describeNode(this.#state.instance, node);
    this.#tooltip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
    this.#tooltip.classList.toggle("leftwards", x > this.#map.view.width / 2);
  }

  #routeOfNode(node) {
    const routes = this.routes();
    const route = routes.findIndex((stops) => stops.includes(node));
    return route < 0 ? null : route;
  }

  /** The routes on the map; set by whoever draws them. */
  routes = () => [];

  #wheel(event) {
    event.preventDefault();
    this.#map.zoom(Math.exp(-event.deltaY * WHEEL_SPEED), this.#point(event));
  }

  /** A finger on a point drags it, and two fingers zoom; elsewhere a finger scrolls the page. */
  #keepFromScrolling(event) {
    const [touch] = event.changedTouches;
    const isPoint = this.#map.nodeAt(this.#point(touch), FINGER_REACH) !== null;
    if (event.cancelable && (isPoint || event.touches.length > 1)) event.preventDefault();
  }

  #nodeAt(event) {
    return this.#map.nodeAt(this.#point(event), event.pointerType === "touch" ? FINGER_REACH : MOUSE_REACH);
  }

  #point(event) {
    const { left, top } = this.#map.svg.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }
}

export function removeNode(store, node) {
  const { instance } = store.state;
  const name = nameOf(instance, node);
  editInstance(store, withoutCustomer(instance, node), Math.min(node, instance.customers.length - 1));
  announce(`${name} removed.`);
}
