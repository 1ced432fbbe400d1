// The dialog that opens a spreadsheet: which sheet, what each column means, which vehicles, how fast they drive.

import { ApiError } from "./api.js";
import { byId, make, onSubmit } from "./dom.js";
import { clearNotice, showError, showNote } from "./notices.js";
import { countOf } from "./numbers.js";
import { makeVehicleTable } from "./vehicles.js";

const MEANINGS = {
  id: "Id", x: "x", y: "y", lat: "Latitude", lon: "Longitude", position: "Latitude, longitude", demand: "Amount",
  service: "Service time", window: "Time window", earliest: "Earliest", latest: "Latest", depot: "Is the depot",
  kind: "Kind of stop", capacity: "Vehicle capacity", pickup: "Picked up", prize: "Prize", priority: "Priority",
  release: "Ready at", late_cost: "Price of lateness", skills: "Skills", one_of: "One of these",
};
const [ONE_TYPE, OWN_TABLE] = ["capacity", "table"];
const USUAL_FLEET = [{ name: "Van", count: 3, capacity: 100, shift: "07:00-17:00" }];

export class TableDialog {
  #dialog = byId("table-dialog");
  #form = byId("table-form");
  #notice = byId("table-notice");
  #api;
  #onOpen; // called with an instance and notes
  #file = null;
  #preview = null;
  #meanings = new Map(); // column letter -> meaning that the user chose, "" for none
  #fleet = USUAL_FLEET;

  constructor(api, onOpen) {
    this.#api = api;
    this.#onOpen = onOpen;
    this.#form.elements.sheet.addEventListener("change", () => {
      this.#meanings.clear();
      this.#look();
    });
    this.#form.elements.vehicles.addEventListener("change", () => this.#showVehicles());
    onSubmit(this.#form, () => this.#open());
    byId("table-cancel").addEventListener("click", () => this.#dialog.close());
  }

  /** Show the dialog for a file; it raises if the file is no table that can be read. */
  async ask(file) {
    this.#file = file;
    this.#meanings.clear();
    this.#preview = null;
    this.#form.reset();
    this.#fleet = USUAL_FLEET;
    clearNotice(this.#notice);
    await this.#read();
    byId("table-title").textContent = file.name;
    this.#dialog.showModal();
  }

  async #look() {
    clearNotice(this.#notice);
    try {
      await this.#read();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, error);
    }
  }

  async #read() {
    const first = this.#preview === null;
    this.#preview = await this.#api.previewTable(this.#file, this.#columnOptions());
    const { sheets, sheet, problem } = this.#preview;
    const choice = this.#form.elements.sheet;
    choice.replaceChildren(...sheets.map(({ name, rows }) => make("option", { value: name, text: `${name} (${countOf(rows, "row")})` })));
    choice.value = sheet;
    choice.parentElement.hidden = sheets.length < 2;
    if (first) this.#offerVehicles(sheets);
    if (problem !== null) showNote(this.#notice, [problem, "Choose the meaning above each column."]);
    this.#showTable();
    this.#showVehicles();
  }

  #offerVehicles(sheets) {
    const fleets = sheets.filter(({ kind }) => kind === "vehicles");
    const choice = this.#form.elements.vehicles;
    choice.replaceChildren(
      ...fleets.map(({ name }) => make("option", { value: `sheet ${name}`, text: `From the sheet “${name}”` })),
      make("option", { value: ONE_TYPE, text: "As many as needed, of one capacity" }),
      make("option", { value: OWN_TABLE, text: "From the table below" }),
    );
  }

  #showVehicles() {
    const { value } = this.#form.elements.vehicles;
    const places = byId("table-vehicles");
    this.#form.elements.capacity.parentElement.hidden = value !== ONE_TYPE;
    places.hidden = value !== OWN_TABLE;
    const show = (fleet) => {
      this.#fleet = fleet;
      places.replaceChildren(makeVehicleTable(fleet, show));
    };
    if (value === OWN_TABLE) show(this.#fleet);
    const isGlobe = this.#preview.columns.some(({ meaning }) => ["lat", "position"].includes(meaning));
    for (const name of ["speed", "detour"]) this.#form.elements[name].parentElement.hidden = !isGlobe;
  }

  #showTable() {
    const { columns, rows, count, meanings } = this.#preview;
    const heads = columns.map((column) => {
      const select = make("select", { "aria-label": `Meaning of the column ${column.heading || column.letter}` });
      select.append(make("option", { value: "", text: "Only shown" }));
      select.append(...meanings.map((meaning) => make("option", { value: meaning, text: MEANINGS[meaning] ?? meaning })));
      select.value = column.meaning ?? "";
      select.addEventListener("change", () => this.#setMeaning(column, select.value));
      return make("td", { class: column.meaning === null ? "" : "known" }, select);
    });
    const titles = columns.map(({ letter, heading }) => make("th", { scope: "col", text: heading || letter }));
    const body = rows.map((cells) => make("tr", {}, ...columns.map((_, index) => make("td", { text: cells[index] ?? "" }))));
    const table = make("table", { class: "preview-table" }, make("caption", { class: "visually-hidden", text: "The first rows" }));
    table.append(make("thead", {}, make("tr", {}, ...heads), make("tr", {}, ...titles)), make("tbody", {}, ...body));
    byId("table-preview").replaceChildren(table);
    byId("table-count").textContent = `${countOf(count, "row")}; the first ${rows.length} are shown. The depot is a row of its own, usually the first.`;
  }

  #setMeaning(column, meaning) {
    for (const [letter, chosen] of this.#meanings) if (chosen === meaning && meaning !== "") this.#meanings.set(letter, "");
    this.#meanings.set(column.letter, meaning);
    this.#look();
  }

  /** The options that say what the columns mean. */
  #columnOptions() {
    const chosen = [...this.#meanings].filter(([, meaning]) => meaning !== "");
    const headings = new Map(this.#preview?.columns.map(({ letter, heading }) => [letter, heading]));
    const ignored = [...this.#meanings].filter(([letter, meaning]) => meaning === "" && headings.get(letter));
    const sheet = this.#preview === null ? "" : this.#form.elements.sheet.value;
    return {
      ...(sheet === "" ? {} : { sheet }),
      ...(chosen.length === 0 ? {} : { columns: chosen.map((pair) => pair.join("=")).join(",") }),
      ...(ignored.length === 0 ? {} : { ignore: ignored.map(([letter]) => headings.get(letter)) }),
    };
  }

  async #open() {
    clearNotice(this.#notice);
    const { vehicles, capacity, speed, detour } = Object.fromEntries(new FormData(this.#form));
    const isGlobe = !this.#form.elements.speed.parentElement.hidden;
    const options = this.#columnOptions();
    if (vehicles.startsWith("sheet ")) options.vehicles_sheet = vehicles.slice("sheet ".length);
    if (vehicles === ONE_TYPE && capacity !== "") options.capacity = capacity;
    if (vehicles === OWN_TABLE) options.capacity = Math.max(...this.#fleet.map((vehicle) => vehicle.capacity));
    if (isGlobe && speed !== "") options.speed = `${speed}km/h`;
    if (isGlobe && detour !== "1") options.detour = detour;
    try {
      const { messages, ...read } = await this.#api.readFile(this.#file, options);
      const own = vehicles === OWN_TABLE ? await this.#api.readInstance({ ...read, version: 2, vehicles: this.#fleet }) : read;
      this.#dialog.close();
      this.#onOpen(own, messages ?? []);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, withoutCommandLine(error));
      if (/capacity/i.test(error.where?.field ?? "")) this.#form.elements.capacity.focus();
    }
  }
}

/** The service speaks of options of the command line; here there are fields for them. */
function withoutCommandLine(error) {
  if (!/capacity/i.test(error.where?.field ?? "") || error.where.line !== null) return error;
  return { message: error.message, remedy: "Enter it above, or choose the vehicles from a sheet or a table." };
}
