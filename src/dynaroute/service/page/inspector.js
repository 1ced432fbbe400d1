// The small form beside the selected point.

import { edited } from "./customers.js";
import { byId } from "./dom.js";
import { removeNode } from "./editor.js";
import { axesOf, hasFreePlaces, hasPlace, nameOf, nodeAt } from "./instance.js";
import { editInstance } from "./state.js";

export class Inspector {
  #store;
  #map;
  #form = byId("inspector");

  constructor(store, map) {
    this.#store = store;
    this.#map = map;
    this.#form.addEventListener("change", (event) => this.#change(event.target));
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#form.addEventListener("keydown", (event) => {
      if (event.key === "Escape" || (event.key === "Enter" && event.target.matches("input"))) this.#leave();
    });
    byId("inspector-close").addEventListener("click", () => store.update({ selectedNode: null }));
    byId("inspector-remove").addEventListener("click", () => removeNode(store, store.state.selectedNode));
    store.watch(["selectedNode", "instance", "comparedRun"], (state) => this.#show(state));
  }

  #show({ selectedNode, instance, comparedRun }) {
    const isThere = selectedNode !== null && instance.depot !== null && selectedNode <= instance.customers.length;
    const isShown = isThere && comparedRun === null;
    this.#form.hidden = !isShown;
    if (!isShown) return;
    const [, y] = this.#map.screenPlace(selectedNode);
    this.#form.classList.toggle("above", y > this.#map.view.height / 2); // not over the point it speaks of
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
