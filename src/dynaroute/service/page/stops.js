// What the list of stops and the chart share: which stops are late or tight, and what pointer and keys do.

import { nameOf } from "./instance.js";
import { announce } from "./notices.js";
import { routeOfStop } from "./plan.js";
import { shownRun } from "./state.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 2] };

export function isLate({ slack }) {
  return slack !== null && slack < -0.5;
}

/** Whether a stop has less slack than the user wants. */
export function isTight({ slack }, { tightMinutes }) {
  return slack !== null && slack < 60 * tightMinutes;
}

/** Whether a stop of a timetable is no customer: the vehicle loads again there. */
export function isReload(instance, node) {
  return node === 0 || node > instance.customers.length;
}

/** Under the pointer a route is shown; a click selects a stop or pins a route; Alt and an arrow move a stop. */
export function answerPointerAndKeys(place, store, planner) {
  const hover = ({ target }) => {
    const row = target.closest("[data-row], [data-card]");
    store.update({ hoveredRoute: row === null ? null : Number(row.dataset.row ?? row.dataset.card) });
  };
  place.addEventListener("pointerover", hover);
  place.addEventListener("focusin", hover);
  place.addEventListener("pointerleave", () => store.update({ hoveredRoute: null }));
  place.addEventListener("keydown", (event) => moveByKeys(event, store, planner, place));
  place.addEventListener("click", ({ target }) => {
    const [stop, name] = [target.closest("[data-stop]"), target.closest("[data-show]")];
    if (stop !== null) store.update({ selectedNode: Number(stop.dataset.stop) });
    if (name === null) return;
    const route = Number(name.dataset.show);
    store.update({ pinnedRoute: store.state.pinnedRoute === route ? null : route });
  });
}

/** Alt and an arrow: up and down go to another route, left and right to another place in it. */
function moveByKeys(event, store, planner, place) {
  const element = event.target.closest("[data-stop]");
  const run = shownRun(store.state);
  if (element === null || run === null || run.isPending || !event.altKey || !(event.key in STEPS)) return;
  event.preventDefault();
  const stop = Number(element.dataset.stop);
  const [across, along] = STEPS[event.key];
  const route = routeOfStop(run, stop);
  const at = across === 0 ? run.routes[route]?.indexOf(stop) + along : null;
  if (at !== null && !(at >= 0 && at <= run.routes[route].length)) return;
  const target = route < 0 ? 0 : route + across;
  if (target < 0 || target > run.routes.length) return;
  planner.moveStop(stop, target, at);
  announce(`${nameOf(run.instance, stop)} moved to route ${target + 1}.`);
  place.querySelector(`[data-stop="${stop}"]`)?.focus({ preventScroll: true });
}
