// Customers on no route: who they are, and why, in the words of the service.

import { countOf } from "./numbers.js";

const UNEXPLAINED = "no route visits it"; // until the service has said more

/** The customers on no route: {customer, id, reason}. */
export function unservedOf(run) {
  const served = new Set(run.routes.flat());
  const reasons = new Map((run.unserved ?? []).map(({ customer, reason }) => [customer, reason]));
  return run.instance.customers
    .map(({ id }, index) => ({ customer: index + 1, id: String(id ?? index + 1) }))
    .filter(({ customer }) => !served.has(customer))
    .map((found) => ({ ...found, reason: reasons.get(found.customer) ?? UNEXPLAINED }));
}

export function countUnserved(count) {
  return `${countOf(count, "customer")} ${count === 1 ? "is" : "are"} not served`;
}

/** What a reader must know before using the routes: who is not served, and what is wrong; `most` of each are named. */
export function listWarnings(run, most) {
  const unserved = unservedOf(run);
  const head = unserved.length > 0 ? [`${countUnserved(unserved.length)}:`] : [];
  const faults = (run.violations ?? []).map(({ message }) => message);
  return [...head, ...shorten(unserved.map(({ id, reason }) => `${id}: ${reason}`), most), ...shorten(faults, most)];
}

function shorten(lines, most) {
  return lines.length <= most ? lines : [...lines.slice(0, most), `and ${lines.length - most} more`];
}
