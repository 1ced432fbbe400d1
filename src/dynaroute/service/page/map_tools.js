// What clicks, drags and keys on the map do: select, add, move to another route, or move the place itself.

import { byId } from "./dom.js";
import { hasFreePlaces, makeCustomer, withDepot, withPlace } from "./instance.js";
import { describeNode } from "./map.js";
import { announce } from "./notices.js";
import { routeOfStop } from "./plan.js";
import { changeDay, runToShow, shownRun } from "./state.js";

const ENTERING_KEYS = ["Enter", " ", "PageDown", "PageUp", "Home", "ArrowDown"]; // from the map to its points

export function wireMapTools(store, map, planner) {
  const frame = byId("map");
  const tooltip = byId("tooltip");
  const tools = [...document.querySelectorAll("input[name=tool]")];
  for (const input of tools) input.addEventListener("change", () => store.update({ tool: input.value }));
  store.watch(["tool"], ({ tool }) => {
    for (const input of tools) input.checked = input.value === tool;
    frame.dataset.tool = tool;
  });
  map.listeners = {
    onPoint: (node) => store.update({ selectedNode: node }),
    onRoute: (route, place) => (store.state.tool === "add" ? add(store, planner, place) : pin(store, route)),
    onGround: (place) => {
      if (store.state.tool === "add") add(store, planner, place);
      else store.update({ selectedNode: null, pinnedRoute: null });
    },
    onHover: (node, route) => {
      store.update({ hoveredRoute: route });
      tooltip.hidden = node === null;
      if (node !== null) showTooltip(store, tooltip, frame, node);
    },
    mayDrag: (node) => {
      const { instance, tool, film } = store.state;
      if (film !== null) return false; // the map shows other routes than the list
      return tool === "move" ? hasFreePlaces(instance) : tool === "select" && node > 0 && shownRun(store.state) !== null;
    },
    onDrop: (node, event, place) => {
      if (store.state.tool === "move") planner.changeInstance(withPlace(store.state.instance, node, place), node);
      else dropOnRoute(store, map, planner, node, event);
    },
  };
  frame.addEventListener("keydown", (event) => pressKey(event, store, map, planner));
  frame.addEventListener("focusin", ({ target }) => {
    const node = map.nodeOf(target);
    if (node !== null) store.update({ selectedNode: node });
  });
}

function add(store, planner, place) {
  const { instance } = store.state;
  if (!hasFreePlaces(instance)) return announce("This day has a matrix of distances, so no stop can be added.");
  if (instance.depot === null) return changeDay(store, withDepot(instance, place), null, 0);
  return planner.addCustomer(makeCustomer(instance, place));
}

function pin(store, route) {
  store.update({ pinnedRoute: store.state.pinnedRoute === route ? null : route, selectedNode: null });
}

/** A stop was dropped on another stop or on the line of a route: that is where it goes. */
function dropOnRoute(store, map, planner, node, event) {
  const run = shownRun(store.state);
  const under = document.elementsFromPoint(event.clientX, event.clientY);
  const stop = under.map((element) => map.nodeOf(element)).find((found) => found > 0 && found !== node);
  const route = stop === undefined ? under.map((element) => map.routeOf(element)).find((found) => found !== null) : routeOfStop(run, stop);
  if (route === undefined || route < 0) return announce("Drop a stop on another route.");
  return planner.moveStop(node, route);
}

function showTooltip(store, tooltip, frame, node) {
  const { state } = store;
  tooltip.textContent = describeNode(state.instance, node);
  const route = routeOfStop(runToShow(state), node);
  if (route >= 0) tooltip.textContent += ` · route ${route + 1}`;
  const point = frame.querySelector(`[data-node="${node}"]`).getBoundingClientRect();
  const box = frame.getBoundingClientRect();
  const [x, y] = [point.left - box.left, point.top - box.top];
  tooltip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  tooltip.classList.toggle("leftwards", x > box.width / 2);
}

function pressKey(event, store, map, planner) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const node = map.nodeOf(document.activeElement);
  const last = store.state.instance.customers.length;
  const targets = { PageDown: node === last ? 0 : node + 1, PageUp: node === 0 ? last : node - 1, Home: 0, End: last };
  if (node === null) {
    if (ENTERING_KEYS.includes(event.key)) map.focusNode(store.state.selectedNode ?? 0);
  } else if (event.key in targets) map.focusNode(targets[event.key]);
  else if (event.key === "Enter" || event.key === " ") byId("inspector").querySelector("input:not(:disabled)")?.focus();
  else if (event.key === "Delete" && node > 0) planner.removeCustomer(node);
  else return;
  event.preventDefault();
}
