// The Solve card: calls the service, follows a search, and keeps the result as a run.

import { aligned } from "./align.js";
import { ApiError } from "./api.js";
import { byId, make, reveal } from "./dom.js";
import { formatLength } from "./lengths.js";
import { announce, clearNotice, showError, showNote } from "./notices.js";
import { countOf, formatSeconds } from "./numbers.js";
import { withoutLocked } from "./routes.js";
import { builderOf, judged, makeRun } from "./runs.js";
import { findRun, isLocked, isSearching, keepRun } from "./state.js";

const FOLLOW_DELAY = 120; // milliseconds without changes before an edited problem is solved again
const ANNOUNCE_EVERY = 3000; // milliseconds between spoken improvements
const SHOW_EVERY = 80; // milliseconds between drawn improvements
const MOST_SNAPSHOTS = 200; // improvements kept for playback
const GROW_FOR = 1200; // milliseconds in which the policy's routes appear one by one
const MOST_TO_GROW = 1000; // customers; a policy takes seconds for more
const EXPLAIN_AFTER = 5000; // milliseconds without routes before the page says why
const WHY_NO_ROUTES = {
  queued: "Waiting for other searches to end…",
  running: "Searching… The first search after an installation compiles its code, which takes a minute or two.",
};

/** Default seconds of a search for this many customers, as `choose_search_seconds` of the command line. */
function chooseSearchSeconds(customers) {
  return Math.min(Math.max(0.1, customers / 100), 30);
}

/** The API options for a request of the page. */
export function optionsOf(request) {
  const options = {};
  if (request.model !== "auto") options.model = request.model;
  if (request.seed !== 0) options.seed = request.seed;
  // the API refuses augmentation with savings, which does not depend on orientation
  if (request.method === "augment" && request.model !== "savings") options.augment = true;
  if (request.method === "2opt") options.improve = "2opt";
  if (request.method === "search") options.time_limit = request.seconds;
  return options;
}

/** Whether a policy can build routes for an instance at once. */
function suitsPolicy({ customers, vehicles }) {
  const isPlain = !vehicles && customers.every(({ window, service }) => !window && !service);
  return isPlain && customers.length <= MOST_TO_GROW;
}

/** If there are too many snapshots, drop every second one, but keep the first, built by the policy, and the last. */
function thin(snapshots) {
  if (snapshots.length <= MOST_SNAPSHOTS) return snapshots;
  return snapshots.filter((_, index) => index % 2 === 0 || index === snapshots.length - 1);
}

/** What the policy did at once, and what the search began from. */
function describeFirst(instance, first, result) {
  const built = `${first.model} built routes of ${formatLength(instance, first.cost)} in ${formatSeconds(first.seconds)}.`;
  if (result.model !== null || result.trace.length === 0) return built;
  return `${built} The search began from ${builderOf(result)}, with ${formatLength(instance, result.trace[0].cost)}.`;
}

export class SolveCard {
  #store;
  #api;
  #form = byId("solve-form");
  #seconds = this.#form.elements.namedItem("seconds");
  #isTimeWritten = false; // by the user
  #button = byId("solve");
  #notice = byId("solve-notice");
  #isBusy = false;
  #followTimer = null;
  #runCount = 0;
  #spokenAt = 0;
  #found = []; // improvements not yet shown
  #isGrowing = false; // the policy's routes are appearing
  #showTimer = null;
  #stopping = null; // id of the job that is being stopped
  #explainTimer = null;

  constructor(store, api) {
    this.#store = store;
    this.#api = api;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.solve();
    });
    this.#form.addEventListener("change", () => this.#showTimeField());
    this.#seconds.addEventListener("input", () => (this.#isTimeWritten = true));
    byId("stop").addEventListener("click", () => this.#stop());
    store.watch(["search", "instance"], (state) => this.#showProgress(state));
    store.watch(["instance"], ({ instance, search }) => {
      if (search !== null && search.instance !== instance) this.#stop(); // nobody waits for it any more
      this.#suggestTime(instance);
      this.#follow();
    });
    this.#suggestTime(store.state.instance);
    this.#showTimeField();
    this.#listModels();
  }

  async solve() {
    const { instance } = this.#store.state;
    if (this.#isBusy || instance === null) return;
    clearNotice(this.#notice);
    this.#setBusy(true);
    try {
      const request = this.#readRequest();
      const part = this.#takeOutLocked(instance);
      if (part.instance.customers.length === 0) showNote(this.#notice, ["Every route is locked. Unlock one to solve."]);
      else if (request.method === "search") await this.#search(instance, request, part);
      else await this.#build(instance, request, part);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#fail(error);
    } finally {
      this.#setBusy(false);
      if (this.#store.state.instance !== instance) this.#follow(); // edited meanwhile
    }
  }

  /** The problem to solve, without the locked routes. */
  #takeOutLocked(instance) {
    const { state } = this.#store;
    const routes = findRun(state, state.shownRun)?.routes ?? [];
    const locked = routes.map((stops, place) => ({ stops, place })).filter(({ stops }) => isLocked(state, stops));
    return locked.length === 0 ? { instance, whole: (answer) => answer } : withoutLocked(instance, locked);
  }

  async #build(instance, request, part) {
    const answer = await this.#api.solve({ ...part.instance, options: optionsOf(request) });
    await this.#keep(makeRun(this.#nextId(), instance, request, part.whole(answer)));
  }

  async #search(instance, request, part) {
    const first = await this.#buildFirst(request, part);
    const job = await this.#api.startJob({ ...part.instance, options: optionsOf(request) });
    if (this.#store.state.instance !== instance) {
      await this.#api.stopJob(job.id); // edited before it began: nobody waits for it
      return;
    }
    const began = performance.now();
    this.#found = []; // may be left from a broken stream
    const search = { id: job.id, instance, request, began, first, routes: [], trace: [], snapshots: [] };
    this.#store.update({ search, playback: null });
    this.#tick();
    if (first !== null) this.#grow(job.id, first);
    this.#explainTimer = setTimeout(() => this.#explain(job.id), EXPLAIN_AFTER);
    try {
      const { result, error } = await this.#watch(job.id, part);
      if (error) throw new ApiError(error);
      if (result === null) showNote(this.#notice, ["Stopped before the search began."]);
      else await this.#keepSearch(instance, request, part.whole(result));
    } finally {
      clearTimeout(this.#explainTimer);
      this.#store.update({ search: null });
    }
  }

  /** The routes that a policy builds at once, to show while the search begins; null if savings or insertion are used. */
  async #buildFirst(request, part) {
    if (request.model === "savings" || !suitsPolicy(part.instance)) return null;
    const answer = await this.#api.solve({ ...part.instance, options: optionsOf({ ...request, method: "greedy" }) });
    return answer.model === null ? null : part.whole(answer);
  }

  /** Let the policy's routes appear one by one, before the improvements of the search are shown. */
  async #grow(id, first) {
    this.#isGrowing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    const count = first.routes.length;
    for (let shown = this.#isGrowing ? 1 : count; shown <= count; shown += 1) {
      const { search } = this.#store.state;
      if (search?.id !== id || search.snapshots.length > 1) break;
      const part = { routes: first.routes.slice(0, shown), loads: first.loads, lengths: first.route_costs };
      const trace = [[first.seconds, first.cost]];
      this.#store.update({ search: { ...search, ...part, cost: first.cost, trace, snapshots: [first] } });
      if (this.#isGrowing) await new Promise((resolve) => setTimeout(resolve, GROW_FOR / count));
    }
    this.#isGrowing = false;
    this.#showFound();
  }

  /** Say every few seconds why there are no routes yet. */
  async #explain(id) {
    const hasFound = ({ first, trace }) => trace.length > (first === null ? 0 : 1);
    const isWaiting = () => this.#store.state.search?.id === id && !hasFound(this.#store.state.search);
    const job = isWaiting() ? await this.#api.job(id).catch(() => null) : null; // without contact, the stream ends too
    if (!isWaiting()) return;
    const why = WHY_NO_ROUTES[job?.state];
    const { search } = this.#store.state;
    if (why !== undefined && why !== search.why) {
      this.#store.update({ search: { ...search, why } });
      announce(why);
    }
    this.#explainTimer = setTimeout(() => this.#explain(id), EXPLAIN_AFTER);
  }

  #keepSearch(instance, request, result) {
    const { routes, snapshots, first } = this.#store.state.search;
    const told = first === null ? [] : [describeFirst(instance, first, result)];
    const answer = { ...aligned(routes, result), messages: [...told, ...result.messages] };
    return this.#keep({ ...makeRun(this.#nextId(), instance, request, answer, snapshots), first });
  }

  /** Show improvements as they come; resolves to the finished job. */
  async #watch(id, part) {
    for await (const { name, data } of this.#api.events(id)) {
      if (name === "end") {
        this.#isGrowing = false;
        this.#showFound();
        return data;
      }
      if (name === "improvement") this.#improve(part.whole(data));
    }
    throw new ApiError({ code: "network", message: "the server ended the stream.", remedy: "Try again." });
  }

  /** Collect improvements, and show only the last of each short interval. */
  #improve(improvement) {
    const { search } = this.#store.state;
    if (search.first !== null && improvement.cost >= search.first.cost) return; // not yet better than the policy
    const before = this.#found.at(-1) ?? (this.#isGrowing ? search.first : search);
    this.#found.push(aligned(before.routes, improvement));
    if (!this.#isGrowing) this.#showTimer ??= setTimeout(() => this.#showFound(), SHOW_EVERY);
  }

  #showFound() {
    clearTimeout(this.#showTimer);
    this.#showTimer = null;
    const { search } = this.#store.state;
    if (this.#found.length === 0 || search === null) return;
    const { cost, routes, loads, route_costs: lengths } = this.#found.at(-1);
    const snapshots = thin([...search.snapshots, ...this.#found]);
    const trace = [...search.trace, ...this.#found.map((each) => [each.seconds, each.cost])];
    this.#found = [];
    this.#store.update({ search: { ...search, cost, routes, loads, lengths, trace, snapshots } });
    if (performance.now() - this.#spokenAt < ANNOUNCE_EVERY) return;
    this.#spokenAt = performance.now();
    announce(`Best so far: ${formatLength(search.instance, cost)}.`);
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

  async #keep(run) {
    keepRun(this.#store, await judged(this.#api, run));
    if (run.instance === this.#store.state.instance) reveal(byId("frame-a"));
    announce(`${run.label}: cost ${formatLength(run.instance, run.cost)} with ${countOf(run.routes.length, "route")}.`);
  }

  #fail(error) {
    showError(this.#notice, error);
    const node = error.where?.customer;
    if (Number.isInteger(node)) this.#store.update({ selectedNode: node });
  }

  #follow() {
    clearTimeout(this.#followTimer);
    const { instance, runs } = this.#store.state;
    const isSolved = runs.some((run) => run.instance === instance);
    if (!byId("follow").checked || instance === null || isSolved || instance.customers.length === 0) return;
    if (this.#readRequest().method === "search") return; // a search after each change would never finish
    this.#followTimer = setTimeout(() => this.solve(), FOLLOW_DELAY);
  }

  #readRequest() {
    const fields = new FormData(this.#form);
    return {
      method: fields.get("method"),
      seconds: Number(fields.get("seconds")),
      model: fields.get("model"),
      seed: Number(fields.get("seed")),
    };
  }

  #suggestTime(instance) {
    if (instance === null || this.#isTimeWritten) return;
    this.#seconds.value = chooseSearchSeconds(instance.customers.length);
  }

  #showTimeField() {
    const isSearch = this.#readRequest().method === "search";
    byId("time-field").hidden = !isSearch;
    byId("time-field").querySelector("input").disabled = !isSearch;
    byId("follow").disabled = isSearch;
  }

  #showProgress(state) {
    const isActive = isSearching(state);
    byId("search-progress").hidden = !isActive;
    if (!isActive) byId("stop").disabled = false;
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
    this.#button.textContent = isBusy ? "Solving…" : "Solve";
  }

  #nextId() {
    this.#runCount += 1;
    return `run-${this.#runCount}`;
  }

  async #listModels() {
    try {
      const { models } = await this.#api.models();
      const names = [...models.map((model) => model.name), "savings"];
      byId("model").append(...names.map((name) => make("option", { value: name, text: name })));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      showError(this.#notice, error);
    }
  }
}
