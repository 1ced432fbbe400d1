// The Plan card: calls the service, follows a search, and keeps the result as a plan.

import { aligned } from "./align.js";
import { ApiError } from "./api.js";
import { byId, make, onSubmit, reveal } from "./dom.js";
import { lacksSpeed } from "./instance.js";
import { withoutLocked } from "./locks.js";
import { announce, clearNotice, showError, showNote } from "./notices.js";
import { countOf, formatPrice } from "./numbers.js";
import { judged, makeRun } from "./plan.js";
import { isSearching, keepRun, shownRun } from "./state.js";

const ANNOUNCE_EVERY = 3000; // milliseconds between spoken improvements
const SHOW_EVERY = 80; // milliseconds between drawn improvements
const EXPLAIN_AFTER = 5000; // milliseconds without routes before the page says why
const WHY_NO_ROUTES = {
  queued: "Waiting for other searches to end…",
  running: "Searching… The first search after an installation compiles its code, which takes a minute or two.",
};
const FILM_MODEL = "amd";
const MOST_TO_FILM = 1000; // customers; a policy takes seconds for more
const SPEED_WANTED = {
  message: "there are time limits, but nothing says how long a leg takes.",
  remedy: "Enter the average speed of the vehicles under “Day”.",
};

/** Default seconds of a search for this many customers: a person who waits for a plan has two seconds. */
function chooseSearchSeconds(customers) {
  return Math.min(Math.max(2, customers / 100), 30);
}

export class SolveCard {
  #store;
  #api;
  #form = byId("solve-form");
  #seconds = this.#form.elements.namedItem("seconds");
  #isTimeWritten = false; // by the user
  #button = byId("solve");
  #notice = byId("solve-notice");
  #dynamicModels = new Set(); // they encode anew at each visit to the depot
  #isBusy = false;
  #spokenAt = 0;
  #shownAt = 0;
  #stopping = null; // id of the job that is being stopped

  constructor(store, api) {
    this.#store = store;
    this.#api = api;
    onSubmit(this.#form, () => this.solve());
    this.#form.addEventListener("change", () => this.#showTimeField());
    this.#seconds.addEventListener("input", () => (this.#isTimeWritten = true));
    byId("stop").addEventListener("click", () => this.#stop());
    store.watch(["search", "instance"], (state) => {
      byId("search-progress").hidden = !isSearching(state);
      byId("stop").disabled = false;
    });
    store.watch(["instance"], ({ instance, search }) => {
      clearNotice(this.#notice);
      if (search !== null && search.instance !== instance) this.#stop(); // nobody waits for it any more
      if (instance !== null && !this.#isTimeWritten) this.#seconds.value = chooseSearchSeconds(instance.customers.length);
    });
    this.#showTimeField();
    this.#listModels();
  }

  async solve() {
    const { instance } = this.#store.state;
    if (this.#isBusy || instance === null) return;
    clearNotice(this.#notice);
    if (lacksSpeed(instance)) {
      showError(this.#notice, SPEED_WANTED);
      byId("vehicle-speed").focus();
      return;
    }
    this.#setBusy(true);
    try {
      const request = this.#readRequest();
      const part = withoutLocked(instance, shownRun(this.#store.state));
      if (request.seconds === null) await this.#solveAtOnce(instance, request, part);
      else await this.#search(instance, request, part);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, error);
      if (Number.isInteger(error.where?.customer)) this.#store.update({ selectedNode: error.where.customer });
    } finally {
      this.#setBusy(false);
    }
  }

  async #solveAtOnce(instance, request, part) {
    const answer = await this.#api.solve(bodyOf(part.instance, request));
    await this.#keep(makeRun(instance, part.whole(answer), "At once", { built: this.#builtBy(answer), options: optionsOf(request) }), part);
  }

  async #search(instance, request, part) {
    const job = await this.#api.startJob(bodyOf(part.instance, request));
    if (this.#store.state.instance !== instance) {
      await this.#api.stopJob(job.id); // edited before it began: nobody waits for it
      return;
    }
    const search = { id: job.id, instance, request, began: performance.now(), part, routes: [], types: null, cost: 0, trace: [] };
    this.#store.update({ search });
    this.#tick();
    this.#explain(job.id);
    if (part.fixed.size === 0) this.#film(job.id, instance, request);
    try {
      const { result, error } = await this.#watch(job.id);
      if (error) throw new ApiError(error);
      if (result === null) showNote(this.#notice, ["Stopped before the search began."]);
      else {
        const label = `Search ${request.seconds} s${result.is_interrupted ? ", stopped" : ""}`;
        const { routes, built } = this.#store.state.search;
        await this.#keep(makeRun(instance, aligned(routes, part.whole(result)), label, { built, options: optionsOf(request) }), part);
      }
    } finally {
      this.#store.update({ search: null });
    }
  }

  /** Ask for the routes that a policy builds at once, whose film plays meanwhile. Without them there is no film. */
  async #film(id, instance, request) {
    if (!suitsPolicy(instance) || request.model === "savings") return;
    const model = request.model === "auto" ? FILM_MODEL : request.model;
    const answer = await this.#api.solve(bodyOf(instance, { ...request, model, seconds: null })).catch(() => null);
    const { search } = this.#store.state;
    if (search?.id === id && answer?.model) this.#store.update({ search: { ...search, built: this.#builtBy(answer) } });
  }

  /** What the film shows of an answer: the routes in the order in which a policy built them; null if none did. */
  #builtBy({ model, routes, cost }) {
    return model ? { model, looksAnew: this.#dynamicModels.has(model), routes, cost } : null;
  }

  /** Show improvements as they come; resolves to the finished job. */
  async #watch(id) {
    for await (const { name, data } of this.#api.events(id)) {
      if (name === "end") return data;
      if (name === "improvement") this.#improve(data);
    }
    throw new ApiError({ code: "network", message: "the server ended the stream.", remedy: "Try again." });
  }

  #improve(found) {
    const { search } = this.#store.state;
    const whole = search.part.whole(found);
    const trace = [...search.trace, [found.seconds, whole.cost]];
    if (performance.now() - this.#shownAt < SHOW_EVERY) {
      search.trace.push(trace.at(-1)); // shown with the next one
      return;
    }
    this.#shownAt = performance.now();
    const { routes, cost, route_costs: lengths } = aligned(search.routes, whole);
    this.#store.update({ search: { ...search, routes, cost, lengths, trace } });
    if (performance.now() - this.#spokenAt < ANNOUNCE_EVERY) return;
    this.#spokenAt = performance.now();
    announce(`Best so far: ${formatPrice(search.instance, cost)}.`);
  }

  /** Say every few seconds why there are no routes yet. */
  async #explain(id) {
    await new Promise((resolve) => setTimeout(resolve, EXPLAIN_AFTER));
    const isWaiting = () => this.#store.state.search?.id === id && this.#store.state.search.trace.length === 0;
    const job = isWaiting() ? await this.#api.job(id).catch(() => null) : null; // without contact, the stream ends too
    if (!isWaiting()) return;
    const why = WHY_NO_ROUTES[job?.state];
    if (why !== undefined) this.#store.update({ search: { ...this.#store.state.search, why } });
    this.#explain(id);
  }

  async #stop() {
    const { search } = this.#store.state;
    if (search === null || search.id === this.#stopping) return;
    this.#stopping = search.id;
    byId("stop").disabled = true;
    try {
      await this.#api.stopJob(search.id);
    } catch (error) {
      this.#stopping = null;
      byId("stop").disabled = false;
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, error);
    }
  }

  async #keep(found, { fixed }) {
    const locked = found.routes.map(([stop]) => fixed.has(stop));
    const run = { ...(await judged(this.#api, found)), locked, built: fixed.size === 0 ? found.built : null };
    keepRun(this.#store, run);
    if (run.instance === this.#store.state.instance) reveal(byId("map"));
    announce(`${run.label}: cost ${formatPrice(run.instance, run.cost)} with ${countOf(run.routes.length, "route")}.`);
  }

  #readRequest() {
    const fields = new FormData(this.#form);
    const seconds = fields.get("method") === "search" ? Number(fields.get("seconds")) : null;
    return { seconds, model: fields.get("model"), seed: Number(fields.get("seed")), objective: fields.get("objective") };
  }

  #showTimeField() {
    const isSearch = this.#form.elements.namedItem("method").value === "search";
    byId("time-field").hidden = !isSearch;
    this.#seconds.disabled = !isSearch;
  }

  #tick() {
    const { search } = this.#store.state;
    if (search === null) return;
    byId("search-time").value = Math.min(1, (performance.now() - search.began) / 1000 / search.request.seconds);
    setTimeout(() => this.#tick(), 100);
  }

  #setBusy(isBusy) {
    this.#isBusy = isBusy;
    this.#button.setAttribute("aria-disabled", String(isBusy)); // it stays focusable
    this.#button.textContent = isBusy ? "Planning…" : "Plan routes";
  }

  async #listModels() {
    try {
      const { models } = await this.#api.models();
      const names = [...models.map((model) => model.name), "savings"];
      this.#dynamicModels = new Set(models.filter(({ kind }) => kind === "AM-D").map(({ name }) => name));
      byId("model").append(...names.map((name) => make("option", { value: name, text: name })));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, error);
    }
  }
}

/** Whether a policy builds routes for this day: policies know capacities alone. */
function suitsPolicy({ customers, vehicles, durations }) {
  const isSmall = customers.length <= MOST_TO_FILM;
  return isSmall && !vehicles && !durations && customers.every(({ window, windows, service }) => !window && !windows && !service);
}

/** A problem with the options of the service for a request of the page. */
function bodyOf(instance, request) {
  return { ...instance, options: optionsOf(request) };
}

function optionsOf({ seconds, model, seed, objective }) {
  return {
    ...(model === "auto" ? {} : { model }),
    ...(seed === 0 ? {} : { seed }),
    ...(objective === "distance" ? {} : { objective }),
    ...(seconds === null ? {} : { time_limit: seconds }),
  };
}
