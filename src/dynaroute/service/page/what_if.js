// What would be if: other numbers of vehicles, a window less, or every promise dropped in turn.

import { ApiError } from "./api.js";
import { byId, make, onSubmit } from "./dom.js";
import { fleetOf, nameOf } from "./instance.js";
import { clearNotice, showError } from "./notices.js";
import { formatLength, formatPrice } from "./numbers.js";
import { planOf } from "./plan.js";
import { shownRun } from "./state.js";

const NO_PLAN = { message: "there is no plan yet.", remedy: "Plan the routes first." };
const NO_QUESTION = { message: "nothing would be different.", remedy: "Give numbers of vehicles, a stop, or ask for the promises." };

export class WhatIfPanel {
  #form = byId("what-if-form");
  #answer = byId("what-if-answer");
  #notice = byId("what-if-notice");
  #store;
  #api;

  constructor(store, api) {
    this.#store = store;
    this.#api = api;
    onSubmit(this.#form, () => this.#ask());
    store.watch(["instance"], ({ instance }) => instance !== null && this.#offer(instance));
    store.watch(["shownRun"], () => this.#answer.replaceChildren());
  }

  #offer(instance) {
    const types = fleetOf(instance).map(({ name }, type) => make("option", { value: name, text: name || `type ${type + 1}` }));
    this.#form.elements.type.replaceChildren(...types);
    const timed = instance.customers.flatMap(({ window, windows }, index) => (window || windows ? [index + 1] : []));
    const stops = timed.map((node) => make("option", { value: instance.customers[node - 1].id ?? node, text: nameOf(instance, node) }));
    this.#form.elements.stop.replaceChildren(make("option", { value: "", text: "every stop keeps its window" }), ...stops);
  }

  async #ask() {
    clearNotice(this.#notice);
    const run = shownRun(this.#store.state);
    const wanted = this.#read();
    if (run === null || Object.keys(wanted).length === 1) {
      showError(this.#notice, run === null ? NO_PLAN : NO_QUESTION);
      return;
    }
    this.#answer.replaceChildren(make("p", { class: "hint", text: "Searching each of them…" }));
    try {
      const found = await this.#api.askWhatIf({ plan: planOf(run), ...wanted });
      if (shownRun(this.#store.state) === run) this.#answer.replaceChildren(makeTable(run.instance, found));
    } catch (error) {
      this.#answer.replaceChildren();
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, error);
    }
  }

  #read() {
    const { type, from, to, stop, promises, each } = Object.fromEntries(new FormData(this.#form));
    const isOne = this.#form.elements.type.options.length === 1;
    const range = [from || to, to || from].join("..");
    return {
      time_limit: Number(each),
      ...(from || to ? { vehicles: [isOne ? range : `${type}=${range}`] } : {}),
      ...(stop ? { without_window: [stop] } : {}),
      ...(promises ? { promises: true } : {}),
    };
  }
}

function makeTable(instance, { base, variants }) {
  const heads = ["", "Cost", "Change", "Length", "Vehicles"].map((text) => make(text === "" ? "td" : "th", { scope: text === "" ? null : "col", text }));
  const rows = [base, ...variants].map(({ name, possible, figures, change, reason }) => {
    const sign = change > 0 ? "+" : change < 0 ? "−" : "±";
    const told = change === null ? "" : `${sign}${formatPrice(instance, Math.abs(change))}`;
    const cells = figures === null || !possible
      ? [make("td", { colspan: 4, text: reason ? `Not possible: ${reason}` : "No plan was found that serves all." })]
      : [formatPrice(instance, figures.cost), told, formatLength(instance, figures.length), figures.vehicles].map((text) => make("td", { text }));
    return make("tr", {}, make("th", { scope: "row", text: name }), ...cells);
  });
  const table = make("table", { class: "what-if-table" }, make("caption", { class: "visually-hidden", text: "What would be if" }));
  table.append(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  return table;
}
