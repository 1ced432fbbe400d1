// Plans: what the service found or the user made of it. The service judges every change, and tells its times and loads.

import { ApiError } from "./api.js";
import { legLength, withCustomer, withoutCustomers } from "./instance.js";
import { formatLength } from "./numbers.js";
import { changeDay, replaceRun, shownRun, undo } from "./state.js";

const LOCKED = { message: "the route is locked.", remedy: "Unlock it in the list of routes." };
const MOST_JUDGED = 4; // places of a stop that the service compares

let count = 0;

/** A plan of the page; `answer` has the keys of an answer of the service, or of a plan in JSON. */
export function makeRun(instance, answer, label, more = {}) {
  count += 1;
  return {
    id: `plan-${Date.now()}-${count}`,
    instance,
    label,
    routes: answer.routes,
    types: typesOf(instance, answer.vehicles),
    cost: answer.cost,
    seconds: answer.seconds ?? 0,
    model: answer.model ?? null,
    messages: answer.messages ?? [],
    trace: (answer.trace ?? []).map(({ seconds, cost }) => [seconds, cost]),
    isByHand: false,
    timetable: null, // each route, stop by stop, once the service has judged it
    ...more,
  };
}

/** The plan with what the service's independent judge says of it, and its timetable. */
export async function judged(api, run) {
  const found = await api.check(run);
  const violations = found.violations.filter(({ kind }) => kind !== "missing"); // who is missing is in `unserved`
  const { cost, timetable } = found;
  return { ...run, cost: cost ?? run.cost, timetable: timetable ?? null, unserved: found.unserved ?? [], violations };
}

/** The plan as JSON, as the command line and the service take it; it states its faults, or it would be refused. */
export function planOf(run) {
  const { instance, routes, types, cost, unserved = [], violations = [] } = run;
  return {
    instance,
    routes,
    cost,
    ...(types === null ? {} : { vehicles: types }),
    ...(unserved.length === 0 ? {} : { unserved: unserved.map(({ customer }) => customer) }),
    ...(violations.length === 0 ? {} : { violations }),
  };
}

/** The name of each route's vehicle, as its timetable prints it. */
export function vehicleOf(run, route) {
  return run.timetable?.[route]?.called ?? `Route ${route + 1}`;
}

export function routeOfStop(run, stop) {
  return run?.routes.findIndex((route) => route.includes(stop)) ?? -1;
}

/** Customers on no route, with the reasons. */
export function unservedOf(run) {
  return run.unserved ?? [];
}

/** Changes the shown day and its plan; whatever is changed is judged at once, and can be undone. */
export class Planner {
  #store;
  #api;
  #tell; // called with a sentence about what has changed
  #fail; // called with an error of the service

  constructor(store, api, tell, fail) {
    this.#store = store;
    this.#api = api;
    this.#tell = tell;
    this.#fail = fail;
  }

  /** Move a stop to a route, at `place` or, if that is null, where it is cheapest; a route after the last is new. */
  moveStop(stop, target, place = null) {
    const run = shownRun(this.#store.state);
    if (run === null || target < 0 || target > run.routes.length) return;
    const source = routeOfStop(run, stop);
    if (run.locked?.[target] || run.locked?.[source]) {
      this.#fail(new ApiError(LOCKED));
      return;
    }
    if (place === null) {
      if (source !== target) this.#insert(this.#without(run, stop), stop, target);
      return;
    }
    const old = source < 0 ? -1 : run.routes[source].indexOf(stop);
    const at = source === target && place > old ? place - 1 : place;
    if (source === target && at === old) return;
    const routes = run.routes.map((route) => route.filter((other) => other !== stop));
    if (target === routes.length) routes.push([]);
    routes[target].splice(at, 0, stop);
    this.#show({ ...run, routes, types: this.#typesFor(run, routes) }, stop);
  }

  /** Lock a route, so that searches and moves leave it as it is, or unlock it. */
  toggleLock(route) {
    const run = shownRun(this.#store.state);
    const locked = run.routes.map((_, index) => (run.locked?.[index] ?? false) !== (index === route));
    replaceRun(this.#store, { ...run, locked });
  }

  /** Leave a stop out, though it stays a customer of the day. */
  leaveOut(stop) {
    const run = shownRun(this.#store.state);
    const route = routeOfStop(run, stop);
    if (run?.locked?.[route]) this.#fail(new ApiError(LOCKED));
    else if (route >= 0) this.#show(this.#without(run, stop), stop);
  }

  /** Add a customer, into the plan where it costs least. */
  async addCustomer(customer) {
    const { state } = this.#store;
    const run = shownRun(state);
    const instance = withCustomer(state.instance, customer);
    const node = instance.customers.length;
    if (run === null) return this.changeInstance(instance, node);
    const later = (stop) => (stop < node ? stop : stop + 1); // places to load at follow the customers
    const kept = { ...run, instance, routes: run.routes.map((route) => route.map(later)) };
    if (instance.distances || run.locked?.includes(true)) return this.#insertAnywhere(kept, node);
    try {
      const found = await this.#api.insert(planOf(run), [customer]);
      const notes = found.messages.filter((text) => !text.includes("as it says itself")); // the faults are shown anyway
      await this.#show({ ...kept, routes: found.routes, types: found.vehicles ?? run.types }, node, notes);
    } catch (error) {
      if (error.status !== 422 || error.where?.field?.startsWith("customers")) return this.#fail(error);
      await this.#show(kept, node, ["The stop is on no route yet: drag it to one, or plan again."]);
    }
  }

  removeCustomer(node) {
    const { instance } = this.#store.state;
    const run = shownRun(this.#store.state);
    const fewer = withoutCustomers(instance, new Set([node]));
    if (run === null) return this.changeInstance(fewer, null);
    const left = this.#without(run, node);
    const routes = left.routes.map((route) => route.map((stop) => (stop > node ? stop - 1 : stop)));
    return this.#show({ ...left, instance: fewer, routes }, null);
  }

  /** Show the day with other data; its routes stay, and are judged anew. */
  changeInstance(instance, selectedNode = this.#store.state.selectedNode) {
    const run = shownRun(this.#store.state);
    if (run !== null && hasTypes(run.types, instance)) return this.#show({ ...run, instance }, selectedNode);
    return changeDay(this.#store, instance, null, selectedNode);
  }

  /** Show the day with other vehicle types; routes keep theirs unless one of them drives the removed type. */
  changeFleet(instance, removed) {
    const run = shownRun(this.#store.state);
    const old = run === null ? null : (run.types ?? (instance.vehicles ? run.routes.map(() => 0) : null));
    if (run === null || (removed !== null && old.includes(removed))) return changeDay(this.#store, instance, null);
    const types = instance.vehicles ? old.map((type) => (removed !== null && type > removed ? type - 1 : type)) : null;
    return this.#show({ ...run, instance, types }, null);
  }

  /** Insert a stop into a route where it is cheapest, or least wrong: the shortest detours are judged by the service. */
  #insert(run, stop, target) {
    const detours = shortestDetours(run.instance, run.routes[target] ?? [], stop).slice(0, MOST_JUDGED);
    return this.#insertBest(run, stop, detours.map((detour) => ({ ...detour, target })));
  }

  #insertAnywhere(run, stop) {
    const targets = [...run.routes.keys(), run.routes.length].filter((target) => !run.locked?.[target]);
    const detours = targets.flatMap((target) => {
      const [best] = shortestDetours(run.instance, run.routes[target] ?? [], stop);
      return { ...best, target };
    });
    return this.#insertBest(run, stop, detours.sort((one, other) => one.length - other.length).slice(0, 2 * MOST_JUDGED));
  }

  async #insertBest(run, stop, detours) {
    const candidates = detours.map(({ target, place }) => {
      const routes = run.routes.map((route) => [...route]);
      if (target === routes.length) routes.push([]);
      routes[target].splice(place, 0, stop);
      return { ...run, routes, types: this.#typesFor(run, routes) };
    });
    try {
      const found = await Promise.all(candidates.map((each) => judged(this.#api, each)));
      const [best] = found.sort((one, other) => one.violations.length - other.violations.length || one.cost - other.cost);
      await this.#show(best, stop);
    } catch (error) {
      this.#fail(error);
    }
  }

  #without(run, stop) {
    const routes = run.routes.map((route) => route.filter((other) => other !== stop));
    return { ...run, routes };
  }

  /** The types of the routes; a new route gets the first type with a vehicle left. */
  #typesFor(run, routes) {
    if (run.types === null) return null;
    const fleet = run.instance.vehicles;
    const types = [...run.types];
    while (types.length < routes.length) {
      const free = fleet.findIndex(({ count: most }, type) => !most || types.filter((each) => each === type).length < most);
      types.push(Math.max(0, free));
    }
    return types;
  }

  /** Show a changed plan, judge it, and say what the change costs. */
  async #show(changed, selectedNode, messages = []) {
    const before = shownRun(this.#store.state);
    const kept = changed.routes.map((route) => route.length > 0);
    const routes = changed.routes.filter((_, index) => kept[index]);
    const types = changed.types?.filter((_, index) => kept[index]) ?? null;
    const locked = changed.locked?.filter((_, index) => kept[index]);
    const run = makeRun(changed.instance, { routes, cost: changed.cost }, "Changed by hand", { types, locked, isByHand: true });
    changeDay(this.#store, run.instance, { ...run, isPending: true }, selectedNode);
    try {
      const checked = await judged(this.#api, run);
      const told = describeChange(before, checked);
      replaceRun(this.#store, { ...checked, messages: [told, ...messages] });
      this.#tell([told, ...messages].join(" "));
    } catch (error) {
      if (error.status === 422) undo(this.#store); // what was entered cannot be read
      else replaceRun(this.#store, run);
      this.#fail(error);
    }
  }
}

/** The places in a route where a stop adds least length, the best first. */
function shortestDetours(instance, stops, stop) {
  const nodes = [0, ...stops, 0];
  const added = nodes.slice(1).map((next, place) => {
    const before = nodes[place];
    const length = legLength(instance, before, stop) + legLength(instance, stop, next) - legLength(instance, before, next);
    return { place, length };
  });
  return added.sort((one, other) => one.length - other.length);
}

function describeChange(before, after) {
  const change = after.cost - before.cost;
  const shown = formatLength(after.instance, Math.abs(change));
  return `Changed: ${change < 0 ? "−" : "+"}${shown}, now ${formatLength(after.instance, after.cost)}.`;
}

/** The vehicle type of each route by number, null where there are no types. */
export function typesOf(instance, vehicles) {
  if (!vehicles || !instance.vehicles) return null;
  return vehicles.map((type) => (typeof type === "string" ? instance.vehicles.findIndex(({ name }) => name === type) : type));
}

function hasTypes(types, instance) {
  return (types === null) === !instance.vehicles && (types ?? []).every((type) => type < instance.vehicles.length);
}
