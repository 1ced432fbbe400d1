// Puts the page together: one store, the cards around it, and the maps.

import { Api } from "./api.js";
import { CodePanel } from "./code.js";
import { wireColourScheme } from "./colour_scheme.js";
import { CustomerTable } from "./customers.js";
import { byId } from "./dom.js";
import { MapEditor } from "./editor.js";
import { wireExport } from "./export.js";
import { Inspector } from "./inspector.js";
import { RouteMap } from "./map.js";
import { formatLength } from "./lengths.js";
import { Player } from "./playback.js";
import { wirePrinting } from "./print.js";
import { ProblemCard } from "./problem.js";
import { moveStop } from "./reassign.js";
import { runToShow, showHeadline } from "./results.js";
import { RunsPanel, sharedLegs } from "./runs.js";
import { SolveCard } from "./solve.js";
import { wireStreetMap } from "./street_map.js";
import { createStore, drawingOf, findRun, undoEdit } from "./state.js";
import { RouteTable } from "./table.js";
import { wireTabs } from "./tabs.js";

const ZOOM_STEP = 1.4;

function start() {
  const store = createStore();
  const api = new Api(askForToken);
  wireTabs();
  wireColourScheme(byId("theme"));
  const map = new RouteMap(byId("map"), { isEditable: true });
  const secondMap = new RouteMap(byId("map-b"), { isEditable: false });
  wireMaps(store, api, map, secondMap);
  wireStreetMap(map);
  wireTools(store, map);
  new Inspector(store, map, api);
  new Player(store);
  wireResults(store, api);
  wirePrinting(store);
  wireExport(store);
  new SolveCard(store, api);
  new ProblemCard(store, api).loadRandom();
}

function wireMaps(store, api, map, secondMap) {
  let loads = 0;
  map.onLook = (frame) => secondMap.look(frame);
  store.watch(["instance"], (state) => {
    if (state.instance === null) return;
    const keepsView = state.loads === loads; // an edit or undo
    loads = state.loads;
    secondMap.showInstance(state.instance, { keepsView: true });
    map.showInstance(state.instance, { keepsView });
  });
  const editor = new MapEditor(map, store, byId("tooltip"));
  editor.routes = () => drawingOf(store.state).routes;
  editor.moveStop = (stop, route) => moveStop(store, api, stop, route);
  const drawn = ["instance", "runs", "shownRun", "comparedRun", "search", "playback"];
  store.watch(drawn, (state) => drawMaps(state, map, secondMap));
  store.watch(["selectedNode", "instance"], ({ selectedNode }) => map.select(selectedNode));
  store.watch([...drawn, "hoveredRoute", "pinnedRoute"], ({ hoveredRoute, pinnedRoute, comparedRun }) => {
    map.emphasise(comparedRun === null ? (hoveredRoute ?? pinnedRoute) : null);
  });
}

function drawMaps(state, map, secondMap) {
  const [a, b] = [findRun(state, state.shownRun), findRun(state, state.comparedRun)];
  const isComparing = a !== null && b !== null && state.search === null;
  byId("frame-b").hidden = !isComparing;
  byId("maps").classList.toggle("comparing", isComparing);
  byId("caption-a").textContent = isComparing ? `A · ${a.label} · ${formatLength(a.instance, a.cost)}` : "";
  const shared = isComparing ? sharedLegs(a, b) : null;
  map.showRoutes(drawingOf(state), shared);
  if (!isComparing) return;
  byId("caption-b").textContent = `B · ${b.label} · ${formatLength(b.instance, b.cost)}`;
  secondMap.showRoutes({ routes: b.routes, tip: null }, shared);
}

function wireTools(store, map) {
  byId("undo").addEventListener("click", () => undoEdit(store));
  byId("zoom-in").addEventListener("click", () => map.zoom(ZOOM_STEP));
  byId("zoom-out").addEventListener("click", () => map.zoom(1 / ZOOM_STEP));
  byId("zoom-fit").addEventListener("click", () => map.fit());
  const tools = [...document.querySelectorAll("input[name=tool]")];
  for (const input of tools) input.addEventListener("change", () => store.update({ tool: input.value }));
  store.watch(["tool", "past"], ({ tool, past }) => {
    for (const input of tools) input.checked = input.value === tool;
    map.svg.dataset.tool = tool;
    byId("undo").disabled = past.length === 0;
  });
}

function wireResults(store, api) {
  const routes = new RouteTable(byId("panel-routes"), store, api);
  const customers = new CustomerTable(byId("panel-customers"), store);
  const runs = new RunsPanel(byId("panel-runs"), store);
  const code = new CodePanel(byId("panel-code"), store);
  store.watch(["instance", "runs", "shownRun", "search"], (state) => {
    showHeadline(state);
    code.show();
  });
  const shown = ["instance", "runs", "shownRun", "search", "lockedRoutes", "comparedRun", "playback"];
  store.watch(shown, (state) => routes.show(runToShow(state)));
  store.watch(["instance", "runs", "shownRun", "comparedRun"], () => runs.show());
  store.watch(["instance"], () => customers.show());
  store.watch(["selectedNode"], () => customers.mark());
  new MutationObserver(() => customers.show()).observe(byId("panel-customers"), { attributeFilter: ["hidden"] });
  store.watch(["hoveredRoute", "pinnedRoute"], (state) => routes.emphasise(state));
}

async function askForToken() {
  const dialog = byId("token-dialog");
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  const token = dialog.querySelector("input").value.trim();
  return dialog.returnValue === "keep" && token !== "" ? token : null;
}

start();
