// The table of customers: every place and demand, to read and to change.

import { make } from "./dom.js";
import { axesOf, hasFreePlaces, hasPlaces, nameOf, nodeAt, withDemand, withPlace } from "./instance.js";
import { countOf } from "./numbers.js";
import { editInstance } from "./state.js";

const PAGE = 100; // rows shown at once: inputs are heavy

export class CustomerTable {
  #place;
  #store;
  #page = 0;

  constructor(place, store) {
    this.#place = place;
    this.#store = store;
    place.addEventListener("change", (event) => this.#change(event.target));
    place.addEventListener("focusin", (event) => this.#focus(event.target));
  }

  /** Draw the table again, if it is visible. */
  show() {
    const { instance, selectedNode } = this.#store.state;
    if (this.#place.hidden || instance === null) return;
    const count = instance.customers.length;
    if (count === 0) {
      this.#place.replaceChildren(make("p", { class: "empty", text: "No customers yet." }));
      return;
    }
    if (selectedNode > 0) this.#page = Math.floor((selectedNode - 1) / PAGE);
    this.#page = Math.min(this.#page, Math.floor((count - 1) / PAGE));
    const held = heldInput();
    this.#place.replaceChildren(this.#makeTable(instance), ...this.#makePager(count));
    if (held !== null) this.#place.querySelector(held)?.focus({ preventScroll: true });
    this.mark();
  }

  /** Mark the row of the selected customer, turning to its page; what is being typed stays. */
  mark() {
    const { selectedNode } = this.#store.state;
    if (this.#place.hidden) return;
    if (selectedNode > 0 && Math.floor((selectedNode - 1) / PAGE) !== this.#page) this.show();
    for (const row of this.#place.querySelectorAll("tbody tr")) {
      row.classList.toggle("emphasised", Number(row.dataset.row) === selectedNode);
    }
  }

  #makeTable(instance) {
    const axes = hasPlaces(instance) ? axesOf(instance.customers[0]) : [];
    const heads = ["Customer", ...axes, "Demand"].map((text) => make("th", { scope: "col", text }));
    const caption = make("caption", { class: "visually-hidden", text: "Customers" });
    const rows = instance.customers
      .slice(this.#page * PAGE, (this.#page + 1) * PAGE)
      .map((customer, index) => this.#makeRow(instance, this.#page * PAGE + index + 1, axes));
    const table = make("table", { class: "customers-table" }, caption);
    table.append(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
    return table;
  }

  #makeRow(instance, node, axes) {
    const customer = instance.customers[node - 1];
    const isFree = hasFreePlaces(instance);
    const cells = [...axes, "demand"].map((field) => {
      const input = make("input", {
        type: "number",
        step: "any",
        min: field === "demand" ? 0 : null,
        value: customer[field],
        "data-node": node,
        "data-field": field,
        "aria-label": `${field} of ${nameOf(instance, node)}`,
        disabled: field !== "demand" && !isFree,
      });
      return make("td", {}, input);
    });
    const head = make("th", { scope: "row", text: customer.id ?? node });
    return make("tr", { "data-row": node }, head, ...cells);
  }

  #makePager(count) {
    if (count <= PAGE) return [];
    const pages = Math.ceil(count / PAGE);
    const button = (text, step) => {
      const disabled = this.#page + step < 0 || this.#page + step >= pages;
      const element = make("button", { type: "button", class: "button small", "data-step": step, text, disabled });
      element.addEventListener("click", () => {
        this.#page += step;
        this.#store.update({ selectedNode: null });
        this.show();
        const [same, other] = [step, -step].map((way) => this.#place.querySelector(`[data-step="${way}"]`));
        (same.disabled ? other : same).focus();
      });
      return element;
    };
    const first = this.#page * PAGE + 1;
    const last = Math.min(first + PAGE - 1, count);
    const label = make("span", { text: `${first}–${last} of ${countOf(count, "customer")}` });
    return [make("div", { class: "pager" }, button("Previous", -1), label, button("Next", 1))];
  }

  #change(input) {
    const { node, field } = input.dataset;
    const value = input.valueAsNumber;
    if (node === undefined || !Number.isFinite(value) || !input.checkValidity()) {
      this.show(); // what was there before
      return;
    }
    editInstance(this.#store, edited(this.#store.state.instance, Number(node), field, value), Number(node));
  }

  #focus(input) {
    if (input.dataset.node !== undefined) this.#store.update({ selectedNode: Number(input.dataset.node) });
  }
}

/** The instance with one field of one node changed. */
export function edited(instance, node, field, value) {
  if (field === "demand") return withDemand(instance, node, value);
  const old = nodeAt(instance, node);
  const [across, up] = axesOf(old);
  const place = { [across]: old[across], [up]: old[up], [field]: value };
  return withPlace(instance, node, [place[across], place[up]]);
}

function heldInput() {
  const { node, field } = document.activeElement?.dataset ?? {};
  return node === undefined ? null : `[data-node="${node}"][data-field="${field}"]`;
}
