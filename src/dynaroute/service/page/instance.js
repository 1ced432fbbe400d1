// Reads and changes a JSON instance. Every change makes a new one. Independent of the page.

/** The instance of an empty map: a depot comes first, so there is none yet. */
export function emptyInstance() {
  return { name: "drawn", capacity: 40, depot: null, customers: [] };
}

export function isOnGlobe(instance) {
  return nodesOf(instance).some((node) => node.lat !== undefined);
}

/** Whether points may be moved, added and removed: a distance matrix speaks of the places as they were. */
export function hasFreePlaces(instance) {
  return instance.distances === undefined || instance.distances === null;
}

export function hasPlaces(instance) {
  return nodesOf(instance).every(hasPlace);
}

export function hasPlace(node) {
  return placeOf(node).every(Number.isFinite);
}

/** Depot and customers; the depot is node 0. */
export function nodesOf(instance) {
  return instance.depot === null ? [] : [instance.depot, ...instance.customers];
}

export function nodeAt(instance, node) {
  return node === 0 ? instance.depot : instance.customers[node - 1];
}

/** All nodes with places to draw them at: without any, on a circle, where one sees at least who shares a route. */
export function placedNodes(instance) {
  if (hasPlaces(instance)) return nodesOf(instance);
  const customers = instance.customers.map((customer, index) => {
    const angle = (2 * Math.PI * index) / instance.customers.length;
    return { ...customer, x: Math.cos(angle), y: Math.sin(angle) };
  });
  return [{ x: 0, y: 0 }, ...customers];
}

export function axesOf(node) {
  return node.lat === undefined ? ["x", "y"] : ["lon", "lat"];
}

export function placeOf(node) {
  const [across, up] = axesOf(node);
  return [node[across], node[up]];
}

export function nameOf(instance, node) {
  if (node === 0) return "Depot";
  return `Customer ${instance.customers[node - 1].id ?? node}`;
}

/** What the vehicle of a route holds; `vehicles` are the names or numbers of the routes' types, where there are types. */
export function capacityOf({ instance, vehicles }, route) {
  const type = vehicles?.[route];
  const found = instance.vehicles?.find(({ name }, index) => (name || index) === type);
  return found?.capacity ?? instance.capacity;
}

/** The type of each route's vehicle, by number from 0; null where any type may drive it. */
export function typesOf({ instance, vehicles }) {
  return vehicles?.map((type) => (typeof type === "string" ? instance.vehicles.findIndex(({ name }) => name === type) : type)) ?? null;
}

/** Whether a route ends at its last customer, with some vehicle. */
export function hasOpenRoutes(instance) {
  return instance.vehicles?.some(({ end }) => end === "open") ?? false;
}

/** What vehicles there are, in words. */
export function describeFleet(instance) {
  if (!instance.vehicles) return "The fleet is unlimited.";
  const types = instance.vehicles.map(({ name, count }, index) => `${count ?? "any number of"} ${name || `type ${index + 1}`}`);
  return `Vehicles: ${types.join(", ")}.`;
}

export function totalDemand(instance) {
  return round(instance.customers.reduce((sum, customer) => sum + customer.demand, 0));
}

export function leastRoutes(instance) {
  return Math.max(1, Math.ceil(round(totalDemand(instance) / instance.capacity)));
}

/** The smallest box around all points; a square of 100 around one or none, so that there is room to draw. */
export function boundsOf(nodes) {
  if (nodes.length === 0) return { left: 0, right: 100, low: 0, high: 100 };
  if (nodes.length === 1) {
    const [x, y] = placeOf(nodes[0]);
    return { left: x - 50, right: x + 50, low: y - 50, high: y + 50 };
  }
  const bounds = { left: Infinity, right: -Infinity, low: Infinity, high: -Infinity };
  for (const node of nodes) {
    const [x, y] = placeOf(node);
    bounds.left = Math.min(bounds.left, x);
    bounds.right = Math.max(bounds.right, x);
    bounds.low = Math.min(bounds.low, y);
    bounds.high = Math.max(bounds.high, y);
  }
  return bounds;
}

export function withCapacity(instance, capacity) {
  return { ...instance, capacity };
}

/** The same with a speed in km/h; a problem knows metres a second. */
export function withSpeed(instance, speed) {
  return { ...instance, speed: speed / 3.6 };
}

/** In km/h, or null while nobody has said it. */
export function speedOf(instance) {
  return instance.speed ? round(instance.speed * 3.6) : null;
}

/** Whether times matter, and a speed on the globe is what says how long legs take. */
export function goesBySpeed(instance) {
  const isTimed = ({ window, shift, max_duration: longest }) => [window, shift, longest].some((limit) => limit != null);
  const nodes = nodesOf(instance);
  return nodes[0]?.lat !== undefined && !instance.durations && [...nodes, ...(instance.vehicles ?? [])].some(isTimed);
}

export function withDepot(instance, place) {
  return { ...instance, depot: makeNode(instance, place) };
}

export function withCustomer(instance, place, demand) {
  const customer = { ...makeNode(instance, place), demand };
  if (instance.customers.some((other) => other.id !== undefined)) customer.id = freeName(instance);
  return { ...instance, customers: [...instance.customers, customer] };
}

export function withoutCustomer(instance, node) {
  return { ...instance, customers: instance.customers.filter((_, index) => index !== node - 1) };
}

export function withPlace(instance, node, place) {
  const moved = (old) => {
    const [across, up] = axesOf(old);
    return { ...old, [across]: place[0], [up]: place[1] };
  };
  return node === 0 ? { ...instance, depot: moved(instance.depot) } : withNode(instance, node, moved);
}

export function withDemand(instance, node, demand) {
  return withNode(instance, node, (old) => ({ ...old, demand }));
}

function withNode(instance, node, change) {
  const customers = instance.customers.map((customer, index) => (index === node - 1 ? change(customer) : customer));
  return { ...instance, customers };
}

function makeNode(instance, [x, y]) {
  return isOnGlobe(instance) ? { lat: y, lon: x } : { x, y };
}

function freeName(instance) {
  const names = new Set(instance.customers.map((customer) => String(customer.id)));
  let number = instance.customers.length + 1;
  while (names.has(String(number))) number += 1;
  return String(number);
}

/** Decimal demands are exact; sums of binary fractions are not. */
function round(value) {
  return Number(value.toPrecision(12));
}
