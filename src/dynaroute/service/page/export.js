// Files to save: the plan, the solution as .sol, the whole run as JSON, the map as PNG.

import { byId } from "./dom.js";
import { typesOf } from "./instance.js";
import { announce } from "./notices.js";
import { drawPicture } from "./picture.js";
import { findRun } from "./state.js";
import { unservedOf } from "./unserved.js";

export function wireExport(store) {
  const save = (id, suffix, makeBlob) =>
    byId(id).addEventListener("click", async () => {
      const run = findRun(store.state, store.state.shownRun);
      const name = `${fileStem(run.instance)}${suffix}`;
      download(name, await makeBlob(run));
      announce(`Saved ${name}.`);
    });
  save("export-sol", ".sol", (run) => new Blob([formatSol(run)], { type: "text/plain" }));
  save("export-json", ".solution.json", (run) => new Blob([formatJson(run)], { type: "application/json" }));
  save("export-plan", ".plan.json", (run) => new Blob([formatPlan(run)], { type: "application/json" }));
  save("export-png", ".png", drawPicture);
}

export function saveInstance(instance) {
  const name = `${fileStem(instance)}.json`;
  download(name, new Blob([`${JSON.stringify(instance, null, 1)}\n`], { type: "application/json" }));
  return name;
}

/** A name for files that every system takes. */
export function fileStem(instance) {
  return (instance.name || "problem").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "") || "problem";
}

/** The solution as CVRPLIB writes it. */
function formatSol(run) {
  const lines = run.routes.map((route, index) => `Route #${index + 1}: ${route.join(" ")}`);
  return `${[...lines, `Cost ${run.cost}`].join("\n")}\n`;
}

function formatJson(run) {
  const { instance, seconds, method, model, trace } = run;
  const solution = { instance: instance.name ?? "", ...describeRoutes(run), seconds, method, model };
  return `${JSON.stringify({ ...solution, trace, problem: instance }, null, 1)}\n`;
}

/** Problem and routes together, as `dynaroute insert`, `convert` and `check` take them. */
function formatPlan(run) {
  return `${JSON.stringify({ instance: run.instance, ...describeRoutes(run) }, null, 1)}\n`;
}

/**
 * The keys of a solution; `vehicles` only where there are types, `unserved` only where customers are on no route,
 * `violations` only where something is wrong: a plan that hides it would be refused.
 */
function describeRoutes(run) {
  const { cost, routes, loads, lengths } = run;
  const violations = run.violations ?? [];
  const [types, unserved] = [typesOf(run), unservedOf(run).map(({ customer }) => customer)];
  return {
    routes,
    cost,
    ...(types === null ? {} : { vehicles: types }),
    loads,
    ...(unserved.length === 0 ? {} : { unserved }),
    ...(violations.length === 0 ? {} : { violations }),
    route_costs: lengths,
  };
}

function download(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000); // the browser reads it after the click
}
