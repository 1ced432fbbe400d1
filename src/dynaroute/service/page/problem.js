// The Problem card: where the problem comes from, and the capacity.

import { ApiError } from "./api.js";
import { byId } from "./dom.js";
import { emptyInstance, hasFreePlaces, leastRoutes, totalDemand } from "./instance.js";
import { withCapacity, withCustomer, withDepot } from "./instance.js";
import { announce, clearNotice, showError } from "./notices.js";
import { countOf, formatAmount } from "./numbers.js";
import { drawInstance } from "./random.js";
import { editInstance, loadInstance } from "./state.js";
import { openTab } from "./tabs.js";

export class ProblemCard {
  #store;
  #api;
  #capacity = byId("capacity");

  constructor(store, api) {
    this.#store = store;
    this.#api = api;
    this.#wireRandom();
    this.#wireFiles();
    this.#wireDrawing();
    this.#capacity.addEventListener("change", () => this.#setCapacity());
    store.watch(["instance"], ({ instance }) => instance !== null && this.#show(instance));
  }

  /** Draw a problem as the form says. */
  loadRandom() {
    const fields = new FormData(byId("random-form"));
    const capacity = fields.get("capacity") === "" ? null : Number(fields.get("capacity"));
    this.#load(drawInstance({ size: Number(fields.get("size")), seed: Number(fields.get("seed")), capacity }));
  }

  #wireRandom() {
    byId("random-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.loadRandom();
    });
  }

  #wireFiles() {
    const input = byId("file");
    input.addEventListener("change", () => {
      const [file] = input.files;
      input.value = ""; // so that the same file, mended, can be chosen again
      if (file) this.#readFile(file);
    });
    byId("paste-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = new FormData(event.target).get("text");
      this.#readFile(new File([text], `pasted${suffixOf(text)}`));
    });
    this.#wireDrop(byId("drop"));
    this.#wireDrop(byId("frame-a"));
  }

  #wireDrop(place) {
    place.addEventListener("dragover", (event) => {
      event.preventDefault();
      place.classList.add("dropping");
    });
    place.addEventListener("dragleave", () => place.classList.remove("dropping"));
    place.addEventListener("drop", (event) => {
      event.preventDefault();
      place.classList.remove("dropping");
      const [file] = event.dataTransfer.files;
      if (file) this.#readFile(file);
    });
  }

  async #readFile(file) {
    const text = byId("file-capacity").value;
    const notice = byId("file-notice");
    openTab(byId("tab-file")); // where an error would be shown
    clearNotice(notice);
    try {
      this.#load(await this.#api.readFile(file, text === "" ? null : Number(text)));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(notice, error);
    }
  }

  #wireDrawing() {
    byId("start-empty").addEventListener("click", () => {
      loadInstance(this.#store, emptyInstance());
      this.#store.update({ tool: "add" });
      announce("Empty map. The first point is the depot.");
    });
    byId("add-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#addPoint(new FormData(event.target));
    });
    byId("add-form").elements.demand.addEventListener("change", ({ target }) => {
      if (target.checkValidity()) this.#store.update({ newDemand: target.valueAsNumber });
    });
  }

  #addPoint(fields) {
    const { instance } = this.#store.state;
    const place = [Number(fields.get("x")), Number(fields.get("y"))];
    if (!hasFreePlaces(instance)) {
      const message = "this problem has its own distance matrix, so that no point can be added.";
      showError(byId("draw-notice"), { message, remedy: "Start with an empty map." });
      return;
    }
    clearNotice(byId("draw-notice"));
    const isDepot = instance.depot === null;
    const changed = isDepot ? withDepot(instance, place) : withCustomer(instance, place, Number(fields.get("demand")));
    editInstance(this.#store, changed, isDepot ? 0 : changed.customers.length);
    announce(isDepot ? "Depot placed." : `Customer ${changed.customers.length} added.`);
  }

  #load(instance) {
    loadInstance(this.#store, instance);
    this.#store.update({ tool: "select" });
    announce(`Loaded ${instance.name || "the problem"}: ${countOf(instance.customers.length, "customer")}.`);
  }

  #setCapacity() {
    const { instance } = this.#store.state;
    const capacity = this.#capacity.valueAsNumber;
    if (Number.isFinite(capacity) && capacity > 0) editInstance(this.#store, withCapacity(instance, capacity));
    else this.#capacity.value = instance.capacity;
  }

  #show(instance) {
    this.#capacity.value = instance.capacity;
    const count = instance.customers.length;
    const least = `at least ${countOf(leastRoutes(instance), "route")}`;
    const hint = `Total demand ${formatAmount(totalDemand(instance))}: ${least}. The fleet is unlimited.`;
    byId("capacity-hint").textContent = count === 0 ? "" : hint;
    const name = instance.name ? `${instance.name} · ` : "";
    const capacity = formatAmount(instance.capacity);
    byId("problem-summary").textContent = `${name}${countOf(count, "customer")}, capacity ${capacity}`;
    byId("add-button").textContent = instance.depot === null ? "Place depot" : "Add customer";
    byId("map-empty").hidden = instance.depot !== null;
  }
}

/** Which format a pasted text is in: pasted text has no name to tell it. */
function suffixOf(text) {
  if (/^\s*[[{]/.test(text)) return ".json";
  return /^\s*(NAME|COMMENT|TYPE|DIMENSION|CAPACITY|EDGE_WEIGHT\w*|NODE_COORD_SECTION)\b/m.test(text) ? ".vrp" : ".csv";
}
