// Puts the page together: one store, the cards around it, and the map.

import { Api, ApiError } from "./api.js";
import { wireColourScheme } from "./colour_scheme.js";
import { ComparePanel } from "./compare.js";
import { DayCard } from "./day.js";
import { byId } from "./dom.js";
import { wireAutosave, wirePrinting, wireSaving } from "./files.js";
import { Film } from "./film.js";
import { Gantt } from "./gantt.js";
import { showHeadline } from "./headline.js";
import { Inspector } from "./inspector.js";
import { RouteMap } from "./map.js";
import { wireMapTools } from "./map_tools.js";
import { announce, clearNotice, showError } from "./notices.js";
import { Planner } from "./plan.js";
import { ReplanForm } from "./replan.js";
import { RoutesPanel } from "./routes_panel.js";
import { SolveCard } from "./solve.js";
import { createStore, findRun, redo, runToShow, undo } from "./state.js";
import { StopsPanel } from "./stops_panel.js";
import { wireTabs } from "./tabs.js";
import { WhatIfPanel } from "./what_if.js";

function start() {
  const store = createStore();
  const api = new Api(askForToken);
  const planner = new Planner(store, api, announce, fail);
  const map = new RouteMap(byId("map"));
  wireTabs();
  wireColourScheme(byId("theme"));
  const isKept = wireAutosave(store);
  wireMap(store, map);
  wireMapTools(store, map, planner);
  wireHistory(store);
  new Inspector(store, planner, map, api);
  new Film(store);
  new Gantt(store, planner);
  new RoutesPanel(store, planner);
  new StopsPanel(store);
  new ComparePanel(store, api);
  new WhatIfPanel(store, api);
  new ReplanForm(store, api);
  store.watch(["instance", "runs", "shownRun", "search", "tightMinutes"], showHeadline);
  wireSaving(store, api, fail);
  wirePrinting(store, api, fail);
  new SolveCard(store, api);
  const day = new DayCard(store, api, planner);
  if (!isKept) day.openSample();
}

function wireMap(store, map) {
  let loads = -1;
  store.watch(["instance"], (state) => {
    if (state.instance === null) return;
    map.showInstance(state.instance, { keepsView: state.loads === loads }); // an edit or undo
    loads = state.loads;
  });
  store.watch(["instance", "runs", "shownRun", "comparedRun", "search", "film"], (state) => {
    if (state.instance === null) return;
    if (state.film !== null) map.showRoutes(state.film.routes, { open: state.film.open });
    else map.showRoutes(runToShow(state)?.routes ?? [], { shadow: findRun(state, state.comparedRun)?.routes });
  });
  store.watch(["instance", "shownRun", "search", "film", "hoveredRoute", "pinnedRoute"], (state) => {
    if (state.instance !== null) map.emphasise(state.film === null ? (state.hoveredRoute ?? state.pinnedRoute) : null);
  });
  store.watch(["selectedNode", "instance"], ({ selectedNode, instance }) => instance !== null && map.select(selectedNode));
  byId("zoom-in").addEventListener("click", () => map.zoom(1));
  byId("zoom-out").addEventListener("click", () => map.zoom(-1));
  byId("zoom-fit").addEventListener("click", () => map.fit());
  wireStreets(map);
}

/** Offer the street map that the service names, if it does; it is off until the user turns it on. */
async function wireStreets(map) {
  const response = await fetch("/page/street_map.json").catch(() => null);
  const settings = response?.ok ? await response.json() : { tiles: null };
  if (settings.tiles === null) return;
  byId("streets-field").hidden = false;
  byId("streets").addEventListener("change", ({ target }) => map.showStreets(target.checked ? settings : null));
}

function wireHistory(store) {
  const act = { undo: () => undo(store), redo: () => redo(store) };
  for (const name of ["undo", "redo"]) byId(name).addEventListener("click", () => act[name]());
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input:not([type=radio], [type=checkbox]), textarea, select") || document.querySelector("dialog[open]");
    if (!(event.ctrlKey || event.metaKey) || isTyping) return;
    const key = event.key.toLowerCase();
    const name = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
    if (name === null) return;
    event.preventDefault();
    act[name]();
    announce(name === "undo" ? "Undone." : "Done again.");
  });
  store.watch(["past", "future"], ({ past, future }) => {
    byId("undo").disabled = past.length === 0;
    byId("redo").disabled = future.length === 0;
  });
}

/** Show an error of the service about a change; others are ours, and end up in the console. */
function fail(error) {
  if (!(error instanceof ApiError)) throw error;
  const place = byId("change-notice");
  showError(place, error);
  document.addEventListener("pointerdown", () => clearNotice(place), { once: true });
}

async function askForToken() {
  const dialog = byId("token-dialog");
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  const token = dialog.querySelector("input").value.trim();
  return dialog.returnValue === "keep" && token !== "" ? token : null;
}

start();
