// Changes routes by hand: moves a stop to another route or within its own. Independent of the page.

import { legLength, routeLength, routeLoad } from "./lengths.js";

/** Move a stop to a route, at the position `place`, or at the cheapest position if that is null. */
export function withStopMoved(instance, routes, stop, target, place = null) {
  const source = routes.findIndex((route) => route.includes(stop));
  const old = routes[source].indexOf(stop);
  const without = routes.map((route) => route.filter((other) => other !== stop));
  const shifted = place !== null && source === target && place > old ? place - 1 : place;
  const at = shifted ?? cheapestPlace(instance, without[target] ?? [], stop);
  const route = without[target] ?? [];
  without[target] = [...route.slice(0, at), stop, ...route.slice(at)];
  return without.filter((stops) => stops.length > 0);
}

/** The cheapest position of a stop in a route. */
function cheapestPlace(instance, route, stop) {
  const nodes = [0, ...route, 0];
  let best = 0;
  let least = Infinity;
  for (let place = 0; place <= route.length; place += 1) {
    const [before, after] = [nodes[place], nodes[place + 1]];
    const added = legLength(instance, before, stop) + legLength(instance, stop, after);
    const cost = added - legLength(instance, before, after);
    if (cost < least) [best, least] = [place, cost];
  }
  return best;
}

/** Loads, lengths and total cost of routes. */
export function figuresOf(instance, routes) {
  const lengths = routes.map((route) => routeLength(instance, route));
  const loads = routes.map((route) => routeLoad(instance, route));
  return { loads, lengths, cost: lengths.reduce((sum, length) => sum + length, 0) };
}

/**
 * The problem without the customers of locked routes, and the way back: {instance, whole}, where `whole` turns an answer
 * for the part into one for the whole, the locked routes in their places.
 */
export function withoutLocked(instance, locked) {
  const fixed = new Set(locked.flatMap(({ stops }) => stops));
  const free = instance.customers.map((_, index) => index + 1).filter((customer) => !fixed.has(customer));
  const part = { ...instance, customers: free.map((customer) => instance.customers[customer - 1]) };
  if (instance.distances) {
    const nodes = [0, ...free];
    part.distances = nodes.map((row) => nodes.map((column) => instance.distances[row][column]));
  }
  const figures = figuresOf(instance, locked.map(({ stops }) => stops));
  const whole = (answer) => {
    const routes = answer.routes.map((route) => route.map((stop) => free[stop - 1]));
    const [loads, lengths] = [[...answer.loads], [...answer.route_costs]];
    locked.forEach(({ stops, place }, index) => {
      routes.splice(place, 0, stops);
      loads.splice(place, 0, figures.loads[index]);
      lengths.splice(place, 0, figures.lengths[index]);
    });
    const trace = (answer.trace ?? []).map((point) => ({ ...point, cost: point.cost + figures.cost }));
    return { ...answer, routes, loads, route_costs: lengths, cost: answer.cost + figures.cost, trace };
  };
  return { instance: part, whole };
}
