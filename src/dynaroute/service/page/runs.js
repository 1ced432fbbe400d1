// Runs, and the panel that compares two of them.

import { byId, make, reveal } from "./dom.js";
import { legsOf } from "./map.js";
import { formatLength } from "./lengths.js";
import { countOf, formatSeconds, formatShare } from "./numbers.js";
import { findRun, runsOfInstance } from "./state.js";

/** A finished run: the request, the response of the service, and how the routes were built. */
export function makeRun(id, instance, request, answer, snapshots = []) {
  return {
    id,
    instance,
    request,
    label: labelOf(request, answer),
    cost: answer.cost,
    routes: answer.routes,
    loads: answer.loads,
    lengths: answer.route_costs,
    vehicles: answer.vehicles ?? null, // types of the routes' vehicles, where there are types
    seconds: answer.seconds,
    method: answer.method,
    model: answer.model,
    messages: answer.messages,
    trace: answer.trace.map(({ seconds, cost }) => [seconds, cost]),
    snapshots, // routes of a search as they were found, the policy's own first
  };
}

/** The run with what the service's independent judge says of it. */
export async function judged(api, run) {
  const { violations, unserved } = await api.check(run);
  const faults = violations.filter(({ kind }) => kind !== "missing"); // who is missing is in `unserved`, with the reason
  return { ...run, unserved, violations: faults };
}

/** What built the first routes that were shown: a model, savings or insertion. */
export function builderOf({ first, model, method }) {
  return first?.model ?? model ?? method.split(" + ")[0];
}

/** Legs that both runs drive. */
export function sharedLegs(run, other) {
  const legs = legsOf(other.routes);
  return new Set([...legsOf(run.routes)].filter((leg) => legs.has(leg)));
}

export class RunsPanel {
  #place;
  #store;

  constructor(place, store) {
    this.#place = place;
    this.#store = store;
    place.addEventListener("change", (event) => this.#choose(event.target));
  }

  show() {
    const { state } = this.#store;
    const runs = runsOfInstance(state);
    if (runs.length === 0) {
      const text = "All runs of this problem are listed here. Solve it with two methods to compare them.";
      this.#place.replaceChildren(make("p", { class: "empty", text }));
      return;
    }
    const held = document.activeElement?.id;
    const below = state.comparedRun === null ? [this.#makeHint(runs)] : this.#makeDifference(state);
    this.#place.replaceChildren(this.#makeTable(runs, state), ...below);
    if (held) this.#place.querySelector(`#${CSS.escape(held)}`)?.focus({ preventScroll: true });
  }

  #makeTable(runs, state) {
    const best = Math.min(...runs.map((run) => run.cost));
    const heads = ["Run", "Cost", "A", "B"].map((text) => make("th", { scope: "col", text }));
    const rows = runs.map((run) => makeRow(run, best, state));
    if (runs.length > 1) rows.push(makeNoneRow(state.comparedRun === null));
    const caption = make("caption", { class: "visually-hidden", text: "Runs of this problem" });
    const table = make("table", { class: "runs-table" }, caption);
    table.append(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
    return table;
  }

  #makeHint(runs) {
    const first = "Solve again with another method, then choose it as B to compare.";
    return make("p", { class: "hint", text: runs.length === 1 ? first : "Choose a run under B to see it next to A." });
  }

  #makeDifference(state) {
    const [a, b] = [findRun(state, state.shownRun), findRun(state, state.comparedRun)];
    if (a === null || b === null) return [];
    const shared = sharedLegs(a, b).size / legsOf(a.routes).size;
    const facts = [
      ["Cost of B against A", `${formatShare(b.cost / a.cost - 1)} (${signed(a.instance, b.cost - a.cost)})`],
      ["Routes", `${a.routes.length} and ${b.routes.length}`],
      ["Legs of A that are also in B", `${Math.round(100 * shared)} %`],
      ["Time", `${formatSeconds(a.seconds)} and ${formatSeconds(b.seconds)}`],
    ];
    const list = make("dl", { class: "facts" });
    for (const [term, value] of facts) list.append(make("dt", { text: term }), make("dd", { text: value }));
    const hint = make("p", { class: "hint", text: "On the maps, legs in both runs are grey." });
    return [make("h3", { text: "Difference" }), list, hint];
  }

  #choose(input) {
    if (input.name === "run-a") this.#store.update({ shownRun: input.value, playback: null, pinnedRoute: null });
    if (input.name !== "run-b") return;
    this.#store.update({ comparedRun: input.value || null, playback: null, pinnedRoute: null });
    if (input.value) reveal(byId("maps"));
  }
}

function labelOf({ method, seconds }, answer) {
  const names = { greedy: "At once", augment: "Best of eight", "2opt": "At once + 2OPT", search: `Search ${seconds} s` };
  return answer.is_interrupted ? `${names[method]}, stopped` : names[method];
}

function makeRow(run, best, state) {
  const isBest = run.cost <= best;
  const text = isBest ? "best" : formatShare(run.cost / best - 1);
  const gap = make("small", { class: isBest ? "best" : null, text });
  const facts = `${countOf(run.routes.length, "route")}, ${formatSeconds(run.seconds)}`;
  return make(
    "tr",
    { class: run.id === state.shownRun ? "emphasised" : null },
    make("th", { scope: "row" }, make("span", { text: run.label }), make("small", { text: facts })),
    make("td", { class: "number" }, make("span", { text: formatLength(run.instance, run.cost) }), gap),
    make("td", {}, choice("run-a", run, run.id === state.shownRun, "A: show")),
    make("td", {}, choice("run-b", run, run.id === state.comparedRun, "B: compare with")),
  );
}

function makeNoneRow(checked) {
  const identity = { name: "run-b", id: "run-b-none", "aria-label": "B: compare with nothing" };
  const input = make("input", { type: "radio", value: "", checked, ...identity });
  return make("tr", {}, make("th", { scope: "row", colspan: 3, text: "No comparison" }), make("td", {}, input));
}

function choice(name, run, checked, verb) {
  const label = `${verb} ${run.label}, cost ${formatLength(run.instance, run.cost)}`;
  return make("input", { type: "radio", name, id: `${name}-${run.id}`, value: run.id, checked, "aria-label": label });
}

function signed(instance, value) {
  return `${value < 0 ? "−" : "+"}${formatLength(instance, Math.abs(value))}`;
}
