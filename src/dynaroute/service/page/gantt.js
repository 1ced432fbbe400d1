// The day as a chart under the map: a row for each vehicle, with its stops, waiting and breaks. Without known times the
// axis is the distance. Stops can be dragged to another vehicle or place; Alt and an arrow does the same.

import { colourIndex } from "./colours.js";
import { byId, make } from "./dom.js";
import { nameOf } from "./instance.js";
import { formatClock, formatLength, formatMinutes, formatWindows } from "./numbers.js";
import { unservedOf, vehicleOf } from "./plan.js";
import { answerPointerAndKeys, isLate, isReload, isTight } from "./stops.js";
import { isSearching, shownRun } from "./state.js";

const STEPS = [300, 600, 900, 1800, 3600, 7200, 14400]; // seconds between marks of the axis
const MOST_MARKS = 14;
const DRAG_START = 5; // pixels of movement before a click becomes a drag

export class Gantt {
  #place = byId("gantt");
  #store;
  #planner;
  #scale = null; // {start, span, hasTimes}

  constructor(store, planner) {
    this.#store = store;
    this.#planner = planner;
    answerPointerAndKeys(this.#place, store, planner);
    this.#place.addEventListener("pointerdown", (event) => this.#press(event));
    store.watch(["runs", "shownRun", "search", "tightMinutes"], () => this.#show());
    store.watch(["hoveredRoute", "pinnedRoute", "selectedNode"], () => this.#mark());
  }

  #show() {
    const run = shownRun(this.#store.state);
    if (run?.isPending) return; // until it is judged, what was there before stays
    const timetable = isSearching(this.#store.state) ? null : (run?.timetable ?? null);
    byId("gantt-empty").hidden = timetable !== null;
    this.#place.hidden = timetable === null;
    if (timetable === null) return;
    this.#scale = scaleOf(timetable);
    const held = document.activeElement?.closest?.("#gantt [data-stop]")?.dataset.stop;
    const rows = timetable.map((times, route) => this.#makeRow(run, times, route));
    const left = unservedOf(run);
    if (left.length > 0) rows.push(makeUnserved(run, left));
    this.#place.replaceChildren(this.#makeAxis(run), ...rows, makeNewRow(run));
    if (held !== undefined) this.#place.querySelector(`[data-stop="${held}"]`)?.focus({ preventScroll: true });
    this.#mark();
  }

  #makeAxis(run) {
    const { start, span, step, hasTimes } = this.#scale;
    const axis = make("div", { class: "gantt-track gantt-axis" });
    for (let at = Math.ceil(start / step) * step; at < start + span; at += step) {
      const text = hasTimes ? formatClock(at) : formatLength(run.instance, at);
      axis.append(this.#put(make("span", { text }), at));
    }
    const title = make("span", { class: "gantt-name", text: hasTimes ? "Vehicle" : "By distance" });
    return make("div", { class: "gantt-row gantt-head", "aria-hidden": "true" }, title, axis);
  }

  #makeRow(run, times, route) {
    const { hasTimes } = this.#scale;
    const [from, to] = hasTimes ? [times.departure, times.end] : [0, times.distance];
    const track = make("div", { class: "gantt-track" }, this.#put(make("span", { class: "gantt-drive" }), from, to));
    for (const { window: [opens, closes], stop } of this.#windowsOf(times)) {
      track.append(this.#put(make("span", { class: "gantt-window", "data-of": stop }), opens, closes));
    }
    times.stops.forEach((stop, place) => {
      if (hasTimes && stop.waiting > 0) track.append(this.#put(make("span", { class: "gantt-wait" }), stop.arrival, stop.start));
      track.append(this.#makeStop(run, stop, place));
    });
    for (const { start, end } of times.breaks ?? []) {
      track.append(this.#put(make("span", { class: "gantt-break", title: `Break ${formatClock(start)}–${formatClock(end)}` }), start, end));
    }
    const name = make("button", { type: "button", class: "gantt-name", "data-show": route, text: vehicleOf(run, route) });
    return make("div", { class: `gantt-row colour-${colourIndex(route)}`, "data-row": route }, name, track);
  }

  #makeStop(run, stop, place) {
    const { instance } = run;
    const { hasTimes } = this.#scale;
    if (isReload(instance, stop.customer)) {
      const mark = make("span", { class: "gantt-break", "data-reload": place, title: "Loads again", text: "↻" });
      return this.#put(mark, hasTimes ? stop.start : stop.distance, hasTimes ? stop.leave : stop.distance);
    }
    const name = nameOf(instance, stop.customer);
    const facts = hasTimes ? [`${formatClock(stop.arrival)} to ${formatClock(stop.leave)}`] : [];
    if (stop.windows.length > 0) facts.push(`window ${formatWindows(stop.windows)}`);
    if (hasTimes && stop.waiting > 0) facts.push(`waits ${formatMinutes(stop.waiting)}`);
    if (stop.slack !== null) facts.push(stop.slack < 0 ? `${formatMinutes(-stop.slack)} late` : `slack ${formatMinutes(stop.slack)}`);
    const label = [`${place + 1}. ${name}`, ...facts].join(", ");
    const state = isLate(stop) ? "late" : isTight(stop, this.#store.state) ? "tight" : "";
    const button = make("button", { type: "button", class: `gantt-stop ${state}`, "data-stop": stop.customer, title: label, "aria-label": label });
    button.append(make("span", { text: place + 1 }));
    return this.#put(button, hasTimes ? stop.start : stop.distance, hasTimes ? stop.leave : stop.distance);
  }

  /** The windows of the stops of a route, cut to what the chart shows; only that of the selected stop is seen. */
  #windowsOf({ stops }) {
    const { start, span, hasTimes } = this.#scale;
    if (!hasTimes) return [];
    const cut = ([opens, closes]) => [Math.max(opens, start), Math.min(closes ?? Infinity, start + span)];
    const all = stops.flatMap(({ customer, windows }) => windows.map((window) => ({ stop: customer, window: cut(window) })));
    return all.filter(({ window: [opens, closes] }) => opens < closes);
  }

  #put(element, from, to = null) {
    const { start, span } = this.#scale;
    element.style.left = `${((100 * (from - start)) / span).toFixed(3)}%`;
    if (to !== null) element.style.width = `${(100 * Math.max(0, to - from) / span).toFixed(3)}%`;
    return element;
  }

  #mark() {
    const { hoveredRoute, pinnedRoute, selectedNode } = this.#store.state;
    const shown = hoveredRoute ?? pinnedRoute;
    for (const row of this.#place.querySelectorAll("[data-row]")) row.classList.toggle("emphasised", Number(row.dataset.row) === shown);
    for (const stop of this.#place.querySelectorAll("[data-stop]")) stop.classList.toggle("selected", Number(stop.dataset.stop) === selectedNode);
    for (const window of this.#place.querySelectorAll("[data-of]")) window.hidden = Number(window.dataset.of) !== selectedNode;
    if (selectedNode !== null) this.#place.querySelector(`[data-stop="${selectedNode}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #press(event) {
    const stop = event.target.closest("[data-stop]");
    if (stop === null || event.button !== 0 || event.pointerType === "touch") return; // a finger scrolls
    const mark = make("span", { class: "gantt-drop" });
    let [isMoving, target] = [false, null];
    const watch = new AbortController();
    const move = (moved) => {
      isMoving ||= Math.hypot(moved.clientX - event.clientX, moved.clientY - event.clientY) > DRAG_START;
      if (!isMoving) return;
      stop.classList.add("dragged");
      stop.style.transform = `translate(${moved.clientX - event.clientX}px, ${moved.clientY - event.clientY}px)`;
      target = this.#targetAt(moved, Number(stop.dataset.stop));
      if (target === null) mark.remove();
      else target.track.append(this.#markDrop(mark, target));
    };
    const end = () => {
      watch.abort();
      mark.remove();
      stop.classList.remove("dragged");
      stop.style.transform = "";
      if (!isMoving || target === null) return;
      stop.addEventListener("click", (click) => click.stopPropagation(), { once: true, capture: true });
      if (target.route < 0) this.#planner.leaveOut(Number(stop.dataset.stop));
      else this.#planner.moveStop(Number(stop.dataset.stop), target.route, target.place);
    };
    document.addEventListener("pointermove", move, { signal: watch.signal });
    document.addEventListener("pointerup", end, { signal: watch.signal });
    document.addEventListener("pointercancel", end, { signal: watch.signal });
  }

  /** The route and place under the pointer: {track, route, place, left}; route -1 is that of nobody. */
  #targetAt({ clientX, clientY }, stop) {
    const row = document.elementsFromPoint(clientX, clientY).map((element) => element.closest("#gantt [data-row]")).find(Boolean);
    if (row === undefined) return null;
    const track = row.querySelector(".gantt-track");
    const route = Number(row.dataset.row);
    const others = [...track.querySelectorAll("[data-stop], [data-reload]")];
    const middles = others.map((other) => other.getBoundingClientRect()).map((box) => box.left + box.width / 2);
    const own = others.findIndex((other) => Number(other.dataset.stop) === stop);
    let place = middles.filter((middle, index) => index !== own && middle < clientX).length;
    if (own >= 0 && place >= own) place += 1; // places count as before the move
    return { track, route, place, left: clientX - track.getBoundingClientRect().left };
  }

  #markDrop(mark, { left }) {
    mark.style.left = `${left.toFixed(0)}px`;
    return mark;
  }
}

function makeUnserved(run, left) {
  const chips = left.map(({ customer, reason }) => {
    const name = nameOf(run.instance, customer);
    return make("button", { type: "button", class: "gantt-chip", "data-stop": customer, title: reason, text: name });
  });
  const name = make("span", { class: "gantt-name", text: "Not served" });
  return make("div", { class: "gantt-row gantt-unserved", "data-row": -1 }, name, make("div", { class: "gantt-track" }, ...chips));
}

function makeNewRow(run) {
  const hint = make("div", { class: "gantt-track gantt-new", text: "Drop a stop here for another vehicle" });
  return make("div", { class: "gantt-row", "data-row": run.routes.length }, make("span", { class: "gantt-name", text: "New route" }), hint);
}

function scaleOf(timetable) {
  const hasTimes = timetable.every(({ departure }) => departure !== null);
  const start = hasTimes ? Math.min(...timetable.map(({ departure }) => departure)) : 0;
  const end = Math.max(...timetable.map(({ end: last, distance }) => (hasTimes ? last : distance)), start + 1);
  const room = (end - start) * 0.02;
  const span = end - start + 2 * room;
  const rough = span / MOST_MARKS;
  const round = 10 ** Math.floor(Math.log10(rough));
  const steps = hasTimes ? STEPS : [1, 2, 5, 10].map((factor) => factor * round);
  return { start: start - room, span, hasTimes, step: steps.find((each) => each >= rough) ?? steps.at(-1) };
}
