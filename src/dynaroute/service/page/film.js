// The film: a policy builds route after route, and a dynamic one looks anew at the stops left at each visit to the depot.

import { byId } from "./dom.js";
import { countOf, formatLength } from "./numbers.js";
import { isSearching, shownRun } from "./state.js";

const MOST_SECONDS = 8;
const FRAME = 80; // milliseconds, the time of a leg at least
const LONGEST_LEG = 250;
const STILL_ROUTE = 800; // where the user prefers reduced motion, routes appear as a whole

/** Plays, pauses, steps and skips. Time is counted in legs; the frame on the map is `film` of the state, null at the end. */
export class Film {
  #store;
  #built = null; // {model, looksAnew, cost, routes}
  #ends = []; // when each route is back at the depot
  #moment = 0;
  #timer = null;
  #isLive = false; // began by itself, with a search

  constructor(store) {
    this.#store = store;
    byId("film-play").addEventListener("click", () => (this.#timer === null ? this.#play() : this.#pause()));
    byId("film-step").addEventListener("click", () => this.#step());
    byId("film-skip").addEventListener("click", () => this.#seek(Infinity));
    store.watch(["search", "shownRun", "runs", "comparedRun", "instance"], (state) => this.#load(state));
  }

  #load(state) {
    const run = isSearching(state) ? state.search : shownRun(state);
    const built = state.comparedRun === null ? (run?.built ?? null) : null;
    byId("film").hidden = built === null;
    if (built !== this.#built) {
      this.#pause();
      this.#built = built;
      let legs = 0;
      this.#ends = (built?.routes ?? []).map((route) => (legs += route.length + 1));
      this.#seek(Infinity);
      if (isSearching(state) && built !== null) this.#play(Math.min(MOST_SECONDS, state.search.request.seconds));
      this.#isLive = this.#timer !== null;
    } else if (this.#isLive && !isSearching(state)) this.#seek(Infinity); // the plan is there
  }

  #play(seconds = MOST_SECONDS) {
    const length = this.#ends.at(-1) ?? 0;
    if (this.#moment >= length) this.#seek(0);
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const pause = isStill ? STILL_ROUTE : Math.min(LONGEST_LEG, Math.max(FRAME, (1000 * seconds) / length));
    const legs = Math.max(1, Math.round((length * pause) / (1000 * seconds)));
    this.#timer = setInterval(() => this.#seek(isStill ? this.#nextEnd() : this.#moment + legs), pause);
    this.#showPlaying();
  }

  #pause() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.#isLive = false;
    this.#showPlaying();
  }

  /** Go on to the end of a route, or, at the end of all, begin again. */
  #step() {
    this.#pause();
    if (this.#moment >= this.#ends.at(-1)) this.#seek(0);
    this.#seek(this.#nextEnd());
  }

  #nextEnd() {
    return this.#ends.find((end) => end > this.#moment) ?? Infinity;
  }

  #seek(moment) {
    this.#moment = moment;
    const route = this.#ends.findIndex((end) => end > moment);
    if (route < 0) this.#pause();
    const begin = this.#ends[route - 1] ?? 0;
    byId("film-caption").textContent = this.#built === null ? "" : this.#describe(route, begin);
    if (route < 0) return this.#store.update({ film: null });
    const { routes } = this.#built;
    const whole = routes.slice(0, route);
    const driven = routes[route].slice(0, moment - begin);
    return this.#store.update({ film: { routes: driven.length === 0 ? whole : [...whole, driven], open: route } });
  }

  #describe(route, begin) {
    const { model, looksAnew, cost, routes } = this.#built;
    if (route < 0) return `${model} built ${countOf(routes.length, "route")}, ${formatLength(this.#store.state.instance, cost)}`;
    const left = this.#ends.at(-1) - begin - (routes.length - route);
    return `Route ${route + 1} of ${routes.length}: ${model} ${looksAnew ? "looks anew at" : "chooses from"} the ${countOf(left, "stop")} left`;
  }

  #showPlaying() {
    const isPlaying = this.#timer !== null;
    const label = isPlaying ? "Pause the film" : "Play how the policy built the routes";
    const button = byId("film-play");
    button.classList.toggle("playing", isPlaying);
    button.setAttribute("aria-label", label);
    button.title = label;
  }
}
