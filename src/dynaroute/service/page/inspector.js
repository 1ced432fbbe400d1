// The form of the selected stop: what is known of it, its times, its route, and leaving it out.

import { ApiError } from "./api.js";
import { byId, make } from "./dom.js";
import { amountsOf, axesOf, detailsOf, hasFreePlaces, nameFields, nameOf, nodeAt, placeOf, withFields, withPlace } from "./instance.js";
import { clearNotice, showError } from "./notices.js";
import { formatClock, formatGivenWindow, formatLength, formatMinutes, formatPrice, isPriced } from "./numbers.js";
import { planOf, routeOfStop, vehicleOf } from "./plan.js";
import { shownRun } from "./state.js";

const NOWHERE = "-1";

export class Inspector {
  #form = byId("inspector");
  #route = byId("inspector-route");
  #store;
  #planner;
  #map;
  #api;
  #explanation = byId("inspector-explanation");

  constructor(store, planner, map, api) {
    this.#api = api;
    byId("inspector-explain").addEventListener("click", () => this.#explain());
    this.#map = map;
    this.#store = store;
    this.#planner = planner;
    this.#form.addEventListener("change", ({ target }) => this.#change(target));
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && !(event.key === "Enter" && event.target.matches("input"))) return;
      event.preventDefault();
      event.target.blur(); // what was typed counts, and may draw the point anew
      map.focusNode(store.state.selectedNode);
    });
    byId("inspector-close").addEventListener("click", () => store.update({ selectedNode: null }));
    byId("inspector-remove").addEventListener("click", () => planner.removeCustomer(store.state.selectedNode));
    store.watch(["selectedNode", "instance", "shownRun", "runs", "search"], (state) => this.#show(state));
  }

  #show({ selectedNode: node, instance }) {
    const isShown = node !== null && instance?.depot != null && node <= instance.customers.length;
    this.#form.hidden = !isShown;
    if (!isShown) return;
    const own = nodeAt(instance, node);
    const run = shownRun(this.#store.state);
    byId("inspector-title").textContent = nameOf(instance, node);
    byId("inspector-times").textContent = describeTimes(run, node);
    byId("inspector-details").textContent = detailsOf(own).map((pair) => pair.join(": ")).join(" · ");
    this.#form.classList.toggle("rightwards", this.#map.isOnTheLeft(node)); // so that it does not cover the point
    const amounts = node === 0 ? [] : amountsOf(own.demand).map(([name, value]) => ["number", `demand ${name}`.trim(), name || "Demand", value]);
    const axes = axesOf(own).map((axis) => ["number", axis, axis, own[axis]]);
    const service = node === 0 ? [] : [["text", "service", "Service, minutes", own.service ? minutesOf(own.service) : ""]];
    const window = own.windows?.length > 1 ? own.windows.map(formatGivenWindow).join(", ") : formatGivenWindow(own.window ?? own.windows?.[0]);
    const title = node === 0 ? [] : [["text", "name", "Name", nameOf(instance, node)]];
    const fields = [...title, ...amounts, ["text", "window", "Window", window], ...service, ...axes];
    const held = document.activeElement?.closest?.("#inspector-fields") ? document.activeElement.name : null;
    byId("inspector-fields").replaceChildren(...fields.map((field) => this.#makeField(instance, own, field)));
    if (held !== null) this.#form.elements[held]?.focus();
    byId("inspector-remove").hidden = node === 0;
    byId("inspector-explain").hidden = node === 0 || run === null;
    clearNotice(this.#explanation);
    this.#listRoutes(run, node);
  }

  #makeField(instance, own, [type, name, label, value]) {
    const isFixed = (name === "window" && own.windows?.length > 1) || (axesOf(own).includes(name) && !hasFreePlaces(instance));
    const input = make("input", { type, name, value: value ?? "", step: "any", disabled: isFixed, autocomplete: "off" });
    if (name === "window") input.placeholder = "08:00-12:00";
    return make("label", {}, label, input);
  }

  /** Which route the stop is on, and those that it could go to. */
  #listRoutes(run, node) {
    this.#route.parentElement.hidden = run === null || node === 0;
    if (this.#route.parentElement.hidden) return;
    const names = run.routes.map((_, route) => `${route + 1} · ${vehicleOf(run, route)}`);
    const options = [...names, "New route"].map((text, route) => make("option", { value: route, text }));
    this.#route.replaceChildren(make("option", { value: NOWHERE, text: "Not served" }), ...options);
    this.#route.value = String(routeOfStop(run, node));
  }

  /** Say what leaving the stop out would save, and where else it could be. */
  async #explain() {
    const { selectedNode: node, instance } = this.#store.state;
    const run = shownRun(this.#store.state);
    try {
      const { customers } = await this.#api.explain(planOf(run), String(nodeAt(instance, node).id ?? node));
      if (shownRun(this.#store.state) !== run || this.#store.state.selectedNode !== node) return; // nobody waits for it
      const [{ saved, places, route }] = customers;
      const gain = route === null ? "It is on no route." : `Leaving it out saves ${describeExtra(instance, saved)}.`;
      const list = make("ul", {}, ...places.map((place) => this.#makePlace(run, node, place)));
      this.#explanation.replaceChildren(make("p", { text: gain }), list);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(this.#explanation, error);
    }
  }

  #makePlace(run, node, { vehicle, route, stop, extra, reason }) {
    if (extra === null) return make("li", { text: `${vehicle}: not possible, ${reason}` });
    const where = route === null ? `${vehicle}, not used yet` : `${vehicle}, stop ${stop}`;
    const button = make("button", { type: "button", class: "button small", text: "Move there" });
    const target = route === null ? run.routes.length : route - 1;
    button.addEventListener("click", () => this.#planner.moveStop(node, target, (stop ?? 1) - 1));
    return make("li", {}, `${where}: ${describeExtra(run.instance, extra)} more `, button);
  }

  #change(input) {
    const { selectedNode: node, instance } = this.#store.state;
    if (input === this.#route) {
      if (input.value === NOWHERE) this.#planner.leaveOut(node);
      else this.#planner.moveStop(node, Number(input.value));
      return;
    }
    const own = nodeAt(instance, node);
    const fields = input.name === "name" ? nameFields(instance, node, input.value.trim()) : readField(own, input);
    if (fields === null) this.#show(this.#store.state); // what was there before
    else if (axesOf(own).includes(input.name)) this.#planner.changeInstance(withPlace(instance, node, placeOf({ ...own, ...fields })), node);
    else this.#planner.changeInstance(withFields(instance, node, fields), node);
  }
}

/** The changed fields of a node, or null where what was written is no value. */
function readField(own, { name, value, valueAsNumber, validity }) {
  if (name === "window") return { window: value.trim().replace("–", "-") || undefined, windows: undefined };
  if (name === "service") return { service: value.trim() === "" ? undefined : readMinutes(value.trim()) };
  if (!Number.isFinite(valueAsNumber) || !validity.valid) return null;
  const [kind, dimension] = name.split(/ (.*)/);
  if (kind !== "demand") return { [name]: valueAsNumber };
  return { demand: dimension === undefined ? valueAsNumber : { ...own.demand, [dimension]: valueAsNumber } };
}

function readMinutes(text) {
  return Number.isFinite(Number(text)) ? 60 * Number(text) : text;
}

function minutesOf(service) {
  return typeof service === "number" ? service / 60 : service;
}

function describeExtra(instance, { cost, length, seconds }) {
  const price = isPriced(instance) ? [`cost ${formatPrice(instance, cost)}`] : [];
  return [...price, formatLength(instance, length), ...(seconds === null ? [] : [formatMinutes(seconds)])].join(", ");
}

function describeTimes(run, node) {
  const route = routeOfStop(run, node);
  const stop = run?.timetable?.[route]?.stops.find(({ customer }) => customer === node);
  if (stop === undefined || stop.arrival === null) return "";
  const waits = stop.waiting >= 30 ? [`waits ${formatMinutes(stop.waiting)}`] : [];
  const slack = stop.slack === null ? [] : [stop.slack < 0 ? `${formatMinutes(-stop.slack)} late` : `slack ${formatMinutes(stop.slack)}`];
  return [`${vehicleOf(run, route)}: ${formatClock(stop.arrival)} to ${formatClock(stop.leave)}`, ...waits, ...slack].join(", ");
}
