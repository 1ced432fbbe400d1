// Routes keep their colours while a search changes them: each new route takes the place of the old one whose
// customers it mostly serves.

/** For each place, which of the new routes stands there. */
export function alignedOrder(before, after) {
  const places = new Array(Math.max(before.length, after.length)).fill(null);
  const isPlaced = new Array(after.length).fill(false);
  for (const { place, route } of overlaps(before, after)) {
    if (places[place] !== null || isPlaced[route]) continue;
    places[place] = route;
    isPlaced[route] = true;
  }
  const rest = [...after.keys()].filter((route) => !isPlaced[route]);
  return withoutGaps(places.map((route) => route ?? rest.shift() ?? null));
}

/** Routes and their figures in the order that fits what was shown before. */
export function aligned(before, found) {
  const order = alignedOrder(before, found.routes);
  const pick = (values) => order.map((route) => values[route]);
  const vehicles = found.vehicles ? { vehicles: pick(found.vehicles) } : {};
  return { ...found, ...vehicles, routes: pick(found.routes), route_costs: pick(found.route_costs) };
}

/** Pairs of an old and a new route that share customers, those that share most first. */
function overlaps(before, after) {
  const placeOf = new Map(before.flatMap((route, place) => route.map((customer) => [customer, place])));
  const pairs = after.flatMap((route, index) => {
    const counts = new Map();
    for (const customer of route) counts.set(placeOf.get(customer), (counts.get(placeOf.get(customer)) ?? 0) + 1);
    counts.delete(undefined);
    return [...counts].map(([place, count]) => ({ place, route: index, count }));
  });
  return pairs.sort((one, other) => other.count - one.count);
}

/** With fewer routes than before, the last ones move up into the places that are free. */
function withoutGaps(places) {
  const packed = [...places];
  for (let place = 0; place < packed.length; place += 1) {
    while (packed.length > place && packed.at(-1) === null) packed.pop();
    if (place < packed.length && packed[place] === null) packed[place] = packed.pop();
  }
  return packed;
}
