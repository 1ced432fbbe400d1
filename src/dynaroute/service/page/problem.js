// The Problem card: where the problem comes from, the capacity, and the speed where times matter.

import { ApiError } from "./api.js";
import { byId } from "./dom.js";
import { describeFleet, emptyInstance, goesBySpeed, hasFreePlaces, leastRoutes, speedOf, totalDemand } from "./instance.js";
import { withCapacity, withCustomer, withDepot, withSpeed } from "./instance.js";
import { announce, clearNotice, showError, showNote } from "./notices.js";
import { countOf, formatAmount } from "./numbers.js";
import { drawInstance } from "./random.js";
import { editInstance, loadInstance } from "./state.js";
import { openTab } from "./tabs.js";

const SPEED_WANTED = "The file has time limits: enter the average speed below, so that driving times are known.";

export class ProblemCard {
  #store;
  #api;
  #capacity = byId("capacity");
  #speed = byId("vehicle-speed");
  #waiting = null; // the file that only lacks its capacity

  constructor(store, api) {
    this.#store = store;
    this.#api = api;
    this.#wireRandom();
    this.#wireFiles();
    this.#wireDrawing();
    this.#capacity.addEventListener("change", () => this.#setCapacity());
    this.#speed.addEventListener("change", () => this.#setSpeed());
    store.watch(["instance"], ({ instance }) => instance !== null && this.#show(instance));
  }

  /** Draw a problem as the form says. */
  loadRandom() {
    const fields = new FormData(byId("random-form"));
    this.#load(drawInstance({ size: Number(fields.get("size")), seed: Number(fields.get("seed")), capacity: null }));
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
      input.value = ""; // so that the same file can be chosen again after a correction
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

  /** Read a file; `capacity` is the user's, for a file without one. */
  async #readFile(file, capacity = null) {
    const notice = byId("file-notice");
    openTab(byId("tab-file")); // where an error would be shown
    clearNotice(notice);
    this.#waiting = null;
    try {
      const { messages, ...instance } = await this.#api.readFile(file, capacity);
      this.#load(instance);
      const isSpeedMissing = goesBySpeed(instance) && speedOf(instance) === null;
      showNote(notice, [...(messages ?? []), ...(isSpeedMissing ? [SPEED_WANTED] : [])]);
      if (isSpeedMissing) this.#speed.focus();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (capacity === null && lacksCapacity(file, error)) this.#askForCapacity(file);
      else showError(notice, error);
    }
  }

  /** Keep the file until the user enters its capacity. */
  #askForCapacity(file) {
    this.#waiting = file;
    const message = `${file.name} does not give the capacity of a vehicle.`;
    const remedy = "Enter it under “Capacity of a vehicle” and press Enter: the file is then read.";
    showError(byId("file-notice"), { message, remedy });
    this.#capacity.disabled = false;
    this.#capacity.value = "";
    this.#capacity.focus();
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
      const message = "this problem has its own distance matrix, so no points can be added.";
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
    this.#waiting = null;
    clearNotice(byId("file-notice"));
    loadInstance(this.#store, instance);
    this.#store.update({ tool: "select" });
    announce(`Loaded ${instance.name || "the problem"}: ${countOf(instance.customers.length, "customer")}.`);
  }

  #setCapacity() {
    const { instance } = this.#store.state;
    const capacity = this.#capacity.valueAsNumber;
    if (this.#waiting !== null && capacity > 0) {
      this.#readFile(this.#waiting, capacity);
      return;
    }
    if (Number.isFinite(capacity) && capacity > 0) editInstance(this.#store, withCapacity(instance, capacity));
    else this.#capacity.value = instance.capacity;
  }

  #setSpeed() {
    const { instance } = this.#store.state;
    const speed = this.#speed.valueAsNumber;
    if (Number.isFinite(speed) && speed > 0) editInstance(this.#store, withSpeed(instance, speed));
    else this.#speed.value = speedOf(instance) ?? "";
  }

  #show(instance) {
    byId("vehicle-speed-field").hidden = !goesBySpeed(instance);
    this.#speed.value = speedOf(instance) ?? "";
    this.#capacity.value = instance.capacity;
    this.#capacity.disabled = Boolean(instance.vehicles); // each type of vehicle says its own
    const count = instance.customers.length;
    const least = `at least ${countOf(leastRoutes(instance), "route")}`;
    const hint = `Total demand ${formatAmount(totalDemand(instance))}: ${least}. ${describeFleet(instance)}`;
    byId("capacity-hint").textContent = count === 0 ? "" : hint;
    const name = instance.name ? `${instance.name} · ` : "";
    const capacity = formatAmount(instance.capacity);
    byId("problem-summary").textContent = `${name}${countOf(count, "customer")}, capacity ${capacity}`;
    byId("add-button").textContent = instance.depot === null ? "Place depot" : "Add customer";
    byId("map-empty").hidden = instance.depot !== null;
  }
}

/** Whether the only problem with a table is its missing capacity. */
function lacksCapacity(file, error) {
  return /\.(csv|tsv|txt|xlsx)$/i.test(file.name) && /capacity/i.test(error.where?.field ?? "") && error.where.line === null;
}

/** Guess the format of pasted text, which has no file name. */
function suffixOf(text) {
  if (/^\s*[[{]/.test(text)) return ".json";
  return /^\s*(NAME|COMMENT|TYPE|DIMENSION|CAPACITY|EDGE_WEIGHT\w*|NODE_COORD_SECTION)\b/m.test(text) ? ".vrp" : ".csv";
}
