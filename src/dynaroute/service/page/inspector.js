// The form next to the selected point.

import { edited } from "./customers.js";
import { byId, make } from "./dom.js";
import { removeNode } from "./editor.js";
import { axesOf, hasFreePlaces, hasPlace, nameOf, nodeAt } from "./instance.js";
import { changeableRun, moveStop, routeOfStop } from "./reassign.js";
import { editInstance, isLocked } from "./state.js";

export class Inspector {
  #store;
  #map;
  #form = byId("inspector");

  #route = byId("inspector-route");

  constructor(store, map, api) {
    this.#store = store;
    this.#map = map;
    this.#route.addEventListener("change", (event) => {
      event.stopPropagation();
      moveStop(store, api, store.state.selectedNode, Number(this.#route.value));
    });
    this.#form.addEventListener("change", (event) => this.#change(event.target));
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#form.addEventListener("keydown", (event) => {
      if (event.key === "Escape" || (event.key === "Enter" && event.target.matches("input"))) this.#leave();
    });
    byId("inspector-close").addEventListener("click", () => store.update({ selectedNode: null }));
    byId("inspector-remove").addEventListener("click", () => removeNode(store, store.state.selectedNode));
    store.watch(["selectedNode", "instance", "comparedRun", "shownRun", "search", "lockedRoutes"], (state) => this.#show(state));
  }

  #show({ selectedNode, instance, comparedRun }) {
    const isThere = selectedNode !== null && instance.depot !== null && selectedNode <= instance.customers.length;
    const isShown = isThere && comparedRun === null;
    this.#form.hidden = !isShown;
    if (!isShown) return;
    const [, y] = this.#map.screenPlace(selectedNode);
    this.#form.classList.toggle("above", y > this.#map.view.height / 2); // so that it does not cover the point
    const node = nodeAt(instance, selectedNode);
    const isFree = hasFreePlaces(instance);
    byId("inspector-title").textContent = nameOf(instance, selectedNode);
    axesOf(node).forEach((axis, index) => {
      const input = this.#form.elements[index === 0 ? "x" : "y"];
      input.value = hasPlace(node) ? node[axis] : "";
      input.disabled = !isFree;
      input.parentElement.firstChild.textContent = `${axis} `;
    });
    byId("inspector-demand").hidden = selectedNode === 0;
    this.#form.elements.demand.value = node.demand ?? "";
    byId("inspector-remove").hidden = selectedNode === 0 || !isFree;
    this.#listRoutes(selectedNode);
  }

  /** Which route the stop is on, and those that it could go to. */
  #listRoutes(node) {
    const run = changeableRun(this.#store.state);
    const own = run === null ? -1 : routeOfStop(run, node);
    byId("inspector-route-field").hidden = own < 0;
    if (own < 0) return;
    const isFixed = run.routes.map((stops) => isLocked(this.#store.state, stops));
    const names = [...run.routes.map((_, route) => `Route ${route + 1}`), "New route"];
    const options = names.map((text, route) => make("option", { value: route, text, disabled: isFixed[route] ?? false }));
    this.#route.replaceChildren(...options);
    this.#route.value = own;
    this.#route.disabled = isFixed[own];
  }

  #change(input) {
    const { selectedNode, instance } = this.#store.state;
    const value = input.valueAsNumber;
    if (!Number.isFinite(value) || !input.checkValidity()) {
      this.#show(this.#store.state); // what was there before
      return;
    }
    const [across, up] = axesOf(nodeAt(instance, selectedNode));
    const field = { x: across, y: up, demand: "demand" }[input.name];
    editInstance(this.#store, edited(instance, selectedNode, field, value), selectedNode);
  }

  #leave() {
    this.#map.focusNode(this.#store.state.selectedNode);
  }
}
