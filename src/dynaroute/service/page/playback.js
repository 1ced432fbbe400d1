// Plays how the routes were found: the policy builds them stop by stop, then the search improves them.

import { byId } from "./dom.js";
import { hasPlaces, nameOf, nodesOf, placeOf } from "./instance.js";
import { formatLength } from "./lengths.js";
import { countOf, formatAmount } from "./numbers.js";
import { builderOf } from "./runs.js";
import { findRun, isSearching } from "./state.js";

const BUILD_SECONDS = 8; // of playback at normal speed
const LEAST_LEG_SECONDS = 0.008; // large problems may take longer
const MOST_LEG_SECONDS = 0.25;
const SNAPSHOT_LEGS = 0.05; // each improvement is shown for this part of the construction's time
const STILL_SECONDS = 0.8; // per route, if the user prefers reduced motion
const UNSOLVED_CAPTION = "Solve the problem to watch how the routes are built";
const COMPARING_CAPTION = "End the comparison to watch how the routes were built";
const SAVINGS_CAPTION = "Built by savings. Choose a model under Options to watch a policy.";
const INSERTION_CAPTION = "Built by insertion, because policies only handle capacities";
const HAND_CAPTION = "Changed by hand";

/** The moments of a run. Time is counted in legs. */
class Timeline {
  constructor(run) {
    this.run = run;
    this.built = run.snapshots[0]?.routes ?? run.routes;
    const found = run.snapshots.slice(1);
    this.improvements = found.length > 0 && found.at(-1).cost > run.cost ? [...found, run] : found;
    this.places = nodesOf(run.instance).map(placeOf);
    this.ends = []; // the moment each route returns to the depot
    let moment = 0;
    for (const route of this.built) this.ends.push((moment += route.length + 1));
    this.buildLength = moment;
    this.stillLength = Math.max(3, moment * SNAPSHOT_LEGS);
    this.length = moment + this.improvements.length * this.stillLength;
  }

  get legSeconds() {
    return Math.min(MOST_LEG_SECONDS, Math.max(LEAST_LEG_SECONDS, BUILD_SECONDS / this.buildLength));
  }

  /** The next moment at which a route is complete, or an improvement appears. */
  nextStill(moment) {
    const end = this.ends.find((candidate) => candidate > moment + 1e-9);
    return end ?? Math.min(this.length, moment + this.stillLength);
  }

  /** What to draw at a moment: {routes, tip, caption}. */
  at(moment) {
    return moment >= this.buildLength ? this.#improved(moment) : this.#building(moment);
  }

  #improved(moment) {
    const index = Math.min(this.improvements.length, Math.floor((moment - this.buildLength) / this.stillLength)) - 1;
    if (index < 0) return { routes: this.built, tip: null, caption: `${countOf(this.built.length, "route")} built` };
    const { routes, cost } = this.improvements[index];
    return { routes, tip: null, caption: `Improvement ${index + 1}: ${formatLength(this.run.instance, cost)}` };
  }

  #building(moment) {
    const route = this.ends.findIndex((end) => end > moment);
    const begin = route === 0 ? 0 : this.ends[route - 1];
    if (moment === begin) return this.#between(route);
    const leg = Math.floor(moment - begin);
    const stops = [0, ...this.built[route], 0];
    const progress = moment - begin - leg;
    const [from, to] = [this.places[stops[leg]], this.places[stops[leg + 1]]];
    const tip = [0, 1].map((axis) => from[axis] + progress * (to[axis] - from[axis]));
    const driven = this.built[route].slice(0, leg);
    const routes = [...this.built.slice(0, route), driven];
    return { routes, tip, caption: this.#caption(route, stops[leg + 1], driven) };
  }

  #between(route) {
    const done = `Route ${route} of ${this.built.length} is complete`;
    const caption = route === 0 ? "Nothing is built yet" : done;
    return { routes: this.built.slice(0, route), tip: null, caption };
  }

  #caption(route, target, driven) {
    const { instance } = this.run;
    const load = driven.reduce((sum, stop) => sum + instance.customers[stop - 1].demand, 0);
    const goal = target === 0 ? "back to the depot" : `to ${nameOf(instance, target).toLowerCase()}`;
    const share = `load ${formatAmount(load)} of ${formatAmount(instance.capacity)}`;
    return `Route ${route + 1} of ${this.built.length}, ${goal}, ${share}`;
  }
}

function captionOf(run) {
  if (run.request === null) return HAND_CAPTION;
  const builder = builderOf(run);
  return { savings: SAVINGS_CAPTION, insertion: INSERTION_CAPTION }[builder] ?? `How ${builder} built the routes`;
}

/** Play, pause, scrub and speed. */
export class Player {
  #store;
  #timeline = null;
  #moment = 0;
  #isPlaying = false;
  #lastTime = null;
  #wantsStillness = matchMedia("(prefers-reduced-motion: reduce)");
  #parts = {
    bar: byId("playback"),
    play: byId("play"),
    scrub: byId("scrub"),
    speed: byId("speed"),
    caption: byId("playback-caption"),
  };

  constructor(store) {
    this.#store = store;
    this.#parts.play.addEventListener("click", () => (this.#isPlaying ? this.pause() : this.play()));
    this.#parts.scrub.addEventListener("input", () => {
      this.pause();
      this.#seek(Number(this.#parts.scrub.value));
    });
    store.watch(["shownRun", "comparedRun", "search", "instance"], (state) => this.#load(state));
  }

  play() {
    if (this.#timeline === null) return;
    if (this.#moment >= this.#timeline.length) this.#moment = 0;
    this.#setPlaying(true);
    this.#lastTime = null;
    requestAnimationFrame((time) => this.#tick(time));
  }

  pause() {
    this.#setPlaying(false);
  }

  #load(state) {
    const run = findRun(state, state.shownRun);
    const isUsable = run !== null && !isSearching(state) && state.comparedRun === null && hasPlaces(run.instance);
    this.#parts.bar.classList.toggle("idle", !isUsable);
    for (const control of [this.#parts.play, this.#parts.scrub, this.#parts.speed]) control.disabled = !isUsable;
    if (isUsable && this.#timeline?.run === run) return;
    this.pause();
    this.#timeline = isUsable ? new Timeline(run) : null;
    this.#parts.caption.textContent = state.comparedRun === null ? UNSOLVED_CAPTION : COMPARING_CAPTION;
    if (!isUsable) return;
    this.#moment = this.#timeline.length;
    this.#parts.scrub.max = this.#timeline.length;
    this.#parts.scrub.value = this.#timeline.length;
    this.#parts.caption.textContent = captionOf(run);
  }

  #tick(time) {
    if (!this.#isPlaying || this.#timeline === null) return;
    const elapsed = this.#lastTime === null ? 0 : (time - this.#lastTime) / 1000;
    const speed = Number(this.#parts.speed.value);
    if (this.#wantsStillness.matches) this.#tickStill(time, speed);
    else {
      this.#lastTime = time;
      this.#seek(this.#moment + (elapsed * speed) / this.#timeline.legSeconds);
    }
    if (this.#moment >= this.#timeline.length) this.pause();
    else requestAnimationFrame((next) => this.#tick(next));
  }

  #tickStill(time, speed) {
    if (this.#lastTime !== null && time - this.#lastTime < (STILL_SECONDS * 1000) / speed) return;
    this.#lastTime = time;
    this.#seek(this.#timeline.nextStill(this.#moment));
  }

  #seek(moment) {
    this.#moment = Math.min(moment, this.#timeline.length);
    this.#parts.scrub.value = this.#moment;
    const { routes, tip, caption } = this.#timeline.at(this.#moment);
    this.#parts.caption.textContent = caption;
    this.#parts.scrub.setAttribute("aria-valuetext", caption);
    this.#store.update({ playback: this.#moment >= this.#timeline.length ? null : { routes, tip } });
  }

  #setPlaying(isPlaying) {
    this.#isPlaying = isPlaying;
    const label = isPlaying ? "Pause" : "Play how the routes were built";
    this.#parts.play.classList.toggle("playing", isPlaying);
    this.#parts.play.setAttribute("aria-label", label);
    this.#parts.play.title = label;
  }
}
