// Locked routes: a search plans the other stops for the vehicles that are left.

import { ApiError } from "./api.js";
import { withoutCustomers } from "./instance.js";
import { typesOf } from "./plan.js";

const NOTHING_LEFT = { message: "no stop or no vehicle is left to plan.", remedy: "Unlock a route." };

/** The day to plan beside the locked routes of a plan, their stops, and `whole`, which puts them into an answer. */
export function withoutLocked(instance, run) {
  const locked = (run?.routes ?? []).flatMap((stops, route) => (run.locked?.[route] ? [{ stops, route }] : []));
  if (locked.length === 0) return { instance, fixed: new Set(), whole: (answer) => answer };
  const fixed = new Set(locked.flatMap(({ stops }) => stops));
  const free = instance.customers.map((_, index) => index + 1).filter((node) => !fixed.has(node));
  const types = run.types ?? run.routes.map(() => 0);
  const countUsed = (type) => locked.filter(({ route }) => types[route] === type).length;
  const fleet = instance.vehicles
    ?.map((each, type) => ({ type, vehicle: each.count ? { ...each, count: each.count - countUsed(type) } : each }))
    .filter(({ vehicle }) => vehicle.count !== 0);
  if (free.length === 0 || fleet?.length === 0) throw new ApiError(NOTHING_LEFT);
  const part = { ...withoutCustomers(instance, fixed), ...(fleet ? { vehicles: fleet.map(({ vehicle }) => vehicle) } : {}) };
  const whole = (answer) => {
    const vehicles = typesOf(part, answer.vehicles)?.map((type) => fleet[type].type);
    const later = instance.customers.length - free.length; // places to load at follow the customers
    const routes = answer.routes.map((stops) => stops.map((stop) => free[stop - 1] ?? stop + later));
    const lengths = [...answer.route_costs];
    let { cost } = answer;
    for (const { stops, route } of locked) {
      routes.splice(route, 0, stops);
      lengths.splice(route, 0, run.timetable?.[route].distance ?? 0);
      vehicles?.splice(route, 0, types[route]);
      cost += run.timetable?.[route].cost ?? 0;
    }
    const trace = answer.trace?.map((each) => ({ ...each, cost: each.cost + cost - answer.cost }));
    return { ...answer, routes, cost, trace, route_costs: lengths, ...(vehicles ? { vehicles } : {}) };
  };
  return { instance: part, fixed, whole };
}
