// The day changes under way: what has happened stays, and the service plans the rest again.

import { ApiError } from "./api.js";
import { byId, make, onSubmit } from "./dom.js";
import { nameOf } from "./instance.js";
import { clearNotice, showError, showNote } from "./notices.js";
import { judged, makeRun, planOf, vehicleOf } from "./plan.js";
import { changeDay, shownRun } from "./state.js";

const NONE = make("option", { value: "", text: "nobody" });

export class ReplanForm {
  #form = byId("replan-form");
  #notice = byId("replan-notice");
  #store;
  #api;

  constructor(store, api) {
    this.#store = store;
    this.#api = api;
    onSubmit(this.#form, (fields) => this.#replan(Object.fromEntries(fields)));
    store.watch(["runs", "shownRun"], (state) => this.#offer(shownRun(state)));
  }

  #offer(run) {
    byId("replan").hidden = run?.timetable?.some(({ departure }) => departure !== null) !== true;
    if (byId("replan").hidden) return;
    const vehicles = run.routes.map((_, route) => vehicleOf(run, route));
    const { broken, cancel } = this.#form.elements;
    broken.replaceChildren(NONE.cloneNode(true), ...vehicles.map((name) => make("option", { value: name, text: name })));
    const stops = run.instance.customers.map(({ id }, index) => make("option", { value: id ?? index + 1, text: nameOf(run.instance, index + 1) }));
    cancel.replaceChildren(NONE.cloneNode(true), ...stops);
  }

  async #replan({ now, broken, cancel }) {
    clearNotice(this.#notice);
    const run = shownRun(this.#store.state);
    const events = { ...(broken ? { broken: [broken] } : {}), ...(cancel ? { cancel: [cancel] } : {}) };
    const button = this.#form.querySelector("button");
    button.disabled = true;
    showNote(this.#notice, ["Planning the rest of the day…"]);
    try {
      const answer = await this.#api.replan({ plan: planOf(run), now, ...events });
      const { messages: _, ...instance } = await this.#api.readInstance(answer.plan.instance);
      const found = makeRun(instance, answer.plan, `Planned again at ${now}`, { messages: describe(answer) });
      const checked = await judged(this.#api, found);
      clearNotice(this.#notice);
      if (shownRun(this.#store.state) === run) changeDay(this.#store, instance, checked, null);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, error);
    } finally {
      button.disabled = false;
    }
  }
}

/** Who has to be called, and what else the planner must know. */
function describe({ customers_to_call: customers, drivers_to_call: drivers, left_out: left, messages }) {
  const call = (who, names) => (names.length === 0 ? [] : [`Call ${names.length === 1 ? who.slice(0, -1) : who}: ${names.join(", ")}.`]);
  const lines = [...call("the drivers", drivers), ...call("the customers", customers), ...messages];
  return [...(lines.length === 0 ? ["Nobody has to be called."] : lines), ...left.map(({ id, reason }) => `${id}: ${reason}`)];
}
