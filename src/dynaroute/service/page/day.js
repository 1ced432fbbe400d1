// The Day card: opening a day or a plan, its speed and vehicles; and the day that the page begins with.

import { ApiError } from "./api.js";
import { byId, onSubmit } from "./dom.js";
import { emptyInstance, fleetOf, hasFreePlaces, isOnGlobe, lacksSpeed, speedOf, withFleet, withSpeed } from "./instance.js";
import { announce, clearNotice, showError, showNote, showNotes } from "./notices.js";
import { countOf } from "./numbers.js";
import { judged, makeRun } from "./plan.js";
import { drawInstance } from "./random.js";
import { loadDay } from "./state.js";
import { TableDialog } from "./table_dialog.js";
import { makeVehicleTable } from "./vehicles.js";

const TABLES = /\.(xlsx|csv|tsv|txt)$/i;
const SPEED_WANTED = "There are time windows: enter the average speed, so that driving times are known.";

export class DayCard {
  #store;
  #api;
  #planner;
  #notice = byId("file-notice");
  #speed = byId("vehicle-speed");
  #dialog;

  constructor(store, api, planner) {
    this.#store = store;
    this.#api = api;
    this.#planner = planner;
    this.#dialog = new TableDialog(api, (instance, notes) => this.#load(instance, notes));
    this.#wireFiles();
    byId("open-sample").addEventListener("click", () => this.openSample());
    byId("start-empty").addEventListener("click", () => {
      this.#load(emptyInstance(), ["Click the map: first the depot, then the stops."]);
      store.update({ tool: "add" });
    });
    onSubmit(byId("random-form"), (fields) => {
      this.#load(drawInstance({ size: Number(fields.get("size")), seed: Number(fields.get("seed")), capacity: null }));
    });
    this.#speed.addEventListener("change", () => this.#setSpeed());
    byId("tight").addEventListener("change", ({ target }) => {
      if (target.value !== "" && target.checkValidity()) store.update({ tightMinutes: target.valueAsNumber });
    });
    store.watch(["instance"], ({ instance }) => instance !== null && this.#show(instance));
  }

  /** Open the sample day that ships with the page. */
  async openSample() {
    const response = await fetch("/page/sample_day.json");
    this.#load(await response.json());
  }

  #wireFiles() {
    const input = byId("file");
    input.addEventListener("change", () => {
      const [file] = input.files;
      input.value = ""; // so that the same file can be chosen again after a correction
      if (file) this.#open(file);
    });
    onSubmit(byId("paste-form"), (fields) => {
      const text = fields.get("text");
      this.#open(new File([text], `pasted${suffixOf(text)}`));
    });
    const mark = (isOver) => document.body.classList.toggle("dropping", isOver);
    window.addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      mark(true);
    });
    window.addEventListener("dragleave", ({ relatedTarget }) => relatedTarget === null && mark(false));
    window.addEventListener("drop", (event) => {
      event.preventDefault();
      mark(false);
      const [file] = event.dataTransfer.files;
      if (file) this.#open(file);
    });
  }

  async #open(file) {
    clearNotice(this.#notice);
    try {
      const document = /\.json$/i.test(file.name) ? parse(await file.text()) : null;
      if (document?.routes && document.instance) await this.#openPlan(document);
      else if (TABLES.test(file.name) && !(await isSolomon(file))) await this.#dialog.ask(file);
      else {
        const { messages, ...instance } = await this.#api.readFile(file);
        this.#load(instance, messages);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, error);
    }
  }

  /** Open a plan of the page or of the command line. */
  async #openPlan(document) {
    const { messages, ...instance } = await this.#api.readInstance(document.instance);
    const run = await judged(this.#api, makeRun(instance, document, "Opened plan"));
    this.#load(instance, messages, run);
  }

  #load(instance, notes = [], run = null) {
    loadDay(this.#store, instance, run);
    this.#store.update({ tool: "select" });
    showNote(this.#notice, lacksSpeed(instance) ? [SPEED_WANTED] : []);
    showNotes(this.#notice, notes);
    if (lacksSpeed(instance)) this.#speed.focus();
    announce(`Opened ${instance.name || "the day"}: ${countOf(instance.customers.length, "customer")}.`);
  }

  #setSpeed() {
    const { instance } = this.#store.state;
    const speed = this.#speed.value === "" ? null : this.#speed.valueAsNumber;
    if (speed === null || speed > 0) this.#planner.changeInstance(withSpeed(instance, speed));
    else this.#speed.value = speedOf(instance) ?? "";
  }

  #show(instance) {
    this.#speed.value = speedOf(instance) ?? "";
    byId("speed-unit").textContent = isOnGlobe(instance) ? "km/h" : "units an hour";
    this.#speed.disabled = Boolean(instance.durations);
    const count = instance.customers.length;
    const fleet = fleetOf(instance);
    const name = instance.name ? `${instance.name} · ` : "";
    byId("problem-summary").textContent = `${name}${countOf(count, "customer")}, ${describeFleet(fleet)}`;
    byId("map-empty").hidden = instance.depot !== null;
    for (const tool of ["add", "move"]) document.querySelector(`[name=tool][value=${tool}]`).disabled = !hasFreePlaces(instance);
    const held = document.activeElement?.closest?.("#vehicles")?.contains(document.activeElement) ? fieldOf(document.activeElement) : null;
    byId("vehicles").replaceChildren(makeVehicleTable(fleet, (changed, removed) => this.#setFleet(changed, removed)));
    if (held !== null) byId("vehicles").querySelector(held)?.focus();
  }

  /** Routes keep their types by number; where a type is removed, they are forgotten if one of them uses it. */
  #setFleet(fleet, removed = null) {
    const { instance } = this.#store.state;
    this.#planner.changeFleet(withFleet(instance, fleet), removed);
  }
}

function describeFleet(fleet) {
  const [only] = fleet;
  if (fleet.length === 1 && !only.name) return `capacity ${JSON.stringify(only.capacity).replace(/[{}"]/g, "")}`;
  return fleet.map(({ name, count }, index) => `${count ?? "any number of"} ${name || `type ${index + 1}`}`).join(", ");
}

function fieldOf(element) {
  return `[aria-label="${CSS.escape(element.getAttribute("aria-label"))}"]`;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // the service says what is wrong
  }
}

/** Solomon's files are texts, too. */
async function isSolomon(file) {
  return /\.txt$/i.test(file.name) && /^\s*VEHICLE\s*$/m.test(await file.slice(0, 4000).text());
}

/** Guess the format of pasted text, which has no file name. */
function suffixOf(text) {
  if (/^\s*[[{]/.test(text)) return ".json";
  return /^\s*(NAME|COMMENT|TYPE|DIMENSION|CAPACITY|EDGE_WEIGHT\w*|NODE_COORD_SECTION)\b/m.test(text) ? ".vrp" : ".csv";
}
