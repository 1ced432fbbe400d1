// All stops of the day, to look through and to find one.

import { byId, make } from "./dom.js";
import { amountsOf, nameOf } from "./instance.js";
import { countOf, formatAmount, formatGivenWindow } from "./numbers.js";
import { routeOfStop } from "./plan.js";
import { runToShow } from "./state.js";

const MOST_ROWS = 200; // more would be slow to draw; the search finds the others

export class StopsPanel {
  #list = byId("stops-list");
  #search = byId("stops-search");
  #store;

  constructor(store) {
    this.#store = store;
    this.#search.addEventListener("input", () => this.#show());
    this.#list.addEventListener("click", ({ target }) => {
      const stop = target.closest("[data-stop]");
      if (stop !== null) store.update({ selectedNode: Number(stop.dataset.stop) });
    });
    store.watch(["instance", "runs", "shownRun"], () => this.#show());
    store.watch(["selectedNode"], () => this.#mark());
    new MutationObserver(() => this.#show()).observe(byId("panel-customers"), { attributeFilter: ["hidden"] });
  }

  #show() {
    const { state } = this.#store;
    const { instance } = state;
    if (byId("panel-customers").hidden || instance === null) return;
    const wanted = this.#search.value.trim().toLowerCase();
    const nodes = instance.customers.map((_, index) => index + 1);
    const found = nodes.filter((node) => textOf(instance, node).toLowerCase().includes(wanted));
    const run = runToShow(state);
    const rows = found.slice(0, MOST_ROWS).map((node) => makeRow(instance, run, node));
    const heads = ["Stop", "Amount", "Window", "Route"].map((text) => make("th", { scope: "col", text }));
    const table = make("table", { class: "stops-table" }, make("caption", { class: "visually-hidden", text: "All stops" }));
    table.append(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
    const more = found.length > rows.length ? ` The first ${rows.length} are shown.` : "";
    this.#list.replaceChildren(make("p", { class: "hint", text: `${countOf(found.length, "stop")}.${more}` }), table);
    this.#mark();
  }

  #mark() {
    const { selectedNode } = this.#store.state;
    for (const row of this.#list.querySelectorAll("[data-of]")) row.classList.toggle("selected", Number(row.dataset.of) === selectedNode);
  }
}

function makeRow(instance, run, node) {
  const own = instance.customers[node - 1];
  const button = make("button", { type: "button", class: "stop", "data-stop": node, text: nameOf(instance, node) });
  const amount = amountsOf(own.demand).map(([name, value]) => `${formatAmount(value)} ${name}`.trim()).join(", ");
  const window = own.windows?.map(formatGivenWindow).join(", ") ?? formatGivenWindow(own.window);
  const route = routeOfStop(run, node);
  const cells = [amount, window, route < 0 ? "" : route + 1].map((text) => make("td", { text }));
  return make("tr", { "data-of": node }, make("th", { scope: "row" }, button), ...cells);
}

function textOf(instance, node) {
  const own = instance.customers[node - 1];
  return [own.id ?? node, ...Object.values(own.details ?? {})].join(" ");
}
