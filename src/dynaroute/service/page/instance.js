// Reads and changes a JSON instance. Every change makes a new one. Independent of the page.

const NO_DEPOT = { x: 0, y: 0 };
const EARTH_RADIUS = 6_371_008.8; // metres; the mean radius of WGS 84

/** The instance of an empty map: a depot comes first, so there is none yet. */
export function emptyInstance() {
  return { name: "new day", capacity: 40, depot: null, customers: [] };
}

export function isOnGlobe(instance) {
  return nodesOf(instance).some((node) => node.lat !== undefined);
}

/** Whether points may be moved and added: a matrix speaks of the places as they were, unless it only adds a detour. */
export function hasFreePlaces(instance) {
  return !instance.durations && (!instance.distances || detourOf(instance) !== null);
}

/** The factor of a matrix that holds straight lines times a detour; null for any other matrix. */
export function detourOf(instance) {
  const { distances, customers } = instance;
  if (!distances || !isOnGlobe(instance) || instance.places) return null;
  const nodes = nodesOf(instance);
  const pairs = customers.map((_, index) => [index, index + 1]).slice(0, 40);
  const straight = pairs.map(([from, to]) => greatCircle(nodes[from], nodes[to]));
  const longest = straight.indexOf(Math.max(...straight));
  const factor = Number((distances[longest][longest + 1] / straight[longest]).toFixed(3));
  const isStraight = pairs.every(([from, to], index) => Math.abs(distances[from][to] - factor * straight[index]) < 1 + straight[index] / 1000);
  return isStraight ? factor : null;
}

/** The same with the legs of a node in its detour matrix measured anew, if it has one. */
function withLegs(instance, node, factor) {
  if (factor === null) return instance;
  const nodes = nodesOf(instance);
  const row = nodes.map((other) => Number((factor * greatCircle(nodes[node], other)).toFixed(1)));
  const distances = nodes.map((_, from) => (from === node ? row : [...(instance.distances[from] ?? []).slice(0, nodes.length)]));
  distances.forEach((legs, from) => (legs[node] = row[from]));
  return { ...instance, distances };
}

/** Metres between two places in degrees, as the service measures them. */
function greatCircle(from, to) {
  const [[lon, lat], [otherLon, otherLat]] = [from, to].map((node) => placeOf(node).map((value) => (value * Math.PI) / 180));
  const part = Math.sin((otherLat - lat) / 2) ** 2;
  const near = part + Math.cos(lat) * Math.cos(otherLat) * Math.sin((otherLon - lon) / 2) ** 2;
  return 2 * EARTH_RADIUS * Math.atan2(Math.sqrt(near), Math.sqrt(1 - near));
}

export function hasPlaces(instance) {
  return nodesOf(instance).every((node) => placeOf(node).every(Number.isFinite));
}

/** Depot and customers; the depot is node 0. */
export function nodesOf(instance) {
  return instance.depot === null ? [] : [instance.depot ?? NO_DEPOT, ...instance.customers];
}

export function nodeAt(instance, node) {
  return node === 0 ? instance.depot : instance.customers[node - 1];
}

/** All nodes with places to draw them at, further depots last; without any, customers lie on a circle. */
export function placedNodes(instance) {
  if (hasPlaces(instance)) return [...nodesOf(instance), ...(instance.places ?? [])];
  const customers = instance.customers.map((customer, index) => {
    const angle = (2 * Math.PI * index) / instance.customers.length;
    return { ...customer, x: Math.cos(angle), y: Math.sin(angle) };
  });
  return [NO_DEPOT, ...customers];
}

export function axesOf(node) {
  return node.lat === undefined ? ["x", "y"] : ["lon", "lat"];
}

export function placeOf(node) {
  const [across, up] = axesOf(node);
  return [node[across], node[up]];
}

const NAME_COLUMN = /^((customer|stop|client|company|kunden?|stopp?)[ _-]?)?name$|^(customer|client|company|kunde|firma|nom|nombre|cliente)$/i;

/** What people call a stop: its name among the other columns of the file, its id, or its number. */
export function nameOf(instance, node) {
  if (node === 0) return String(instance.depot?.id ?? "Depot");
  const own = instance.customers[node - 1];
  if (own === undefined) return String(instance.places?.[node - 1 - instance.customers.length]?.id ?? "Depot");
  return String(own.details?.[nameColumnOf(own)] || (own.id ?? node));
}

/** The column of a node's details that holds its name, or undefined. */
function nameColumnOf(own) {
  return Object.keys(own?.details ?? {}).find((column) => NAME_COLUMN.test(column));
}

/** What else the file says of a node, as [column, text] pairs. */
export function detailsOf(own) {
  return Object.entries(own.details ?? {}).filter(([column]) => column !== nameColumnOf(own));
}

/** The fields that give a customer another name: the column of names, where the day has one, or its id. */
export function nameFields(instance, node, name) {
  const column = instance.customers.map(nameColumnOf).find(Boolean);
  if (column === undefined) return { id: name };
  return { details: { ...instance.customers[node - 1].details, [column]: name } };
}

/** An amount as [dimension, number] pairs; the dimension is "" where there is only one. */
export function amountsOf(amount) {
  return amount !== null && typeof amount === "object" ? Object.entries(amount) : [["", amount ?? 0]];
}

/** About how long a leg is, to compare places in a route; the service measures exactly. */
export function legLength(instance, start, end) {
  if (instance.distances) return instance.distances[start][end];
  const nodes = placedNodes(instance);
  const [[x, y], [right, top]] = [placeOf(nodes[start]), placeOf(nodes[end])];
  const width = isOnGlobe(instance) ? Math.cos((y * Math.PI) / 180) : 1;
  return Math.hypot((right - x) * width, top - y);
}

/** Names of the dimensions of loads, [""] where there is only one. */
export function dimensionsOf(instance) {
  return amountsOf(instance.vehicles?.[0]?.capacity ?? instance.capacity).map(([name]) => name);
}

/** The vehicle types; without any, one of as many vehicles as are needed. */
export function fleetOf(instance) {
  return instance.vehicles ?? [{ name: "", capacity: instance.capacity }];
}

/** The same with other vehicle types; what only says a capacity stays a plain problem. */
export function withFleet(instance, fleet) {
  const [only] = fleet;
  const isPlain = fleet.length === 1 && Object.keys(only).every((key) => key === "capacity" || only[key] === "");
  const { vehicles: _, ...rest } = instance;
  if (isPlain) return { ...rest, capacity: only.capacity };
  return { ...rest, version: Math.max(2, instance.version ?? 2), capacity: undefined, vehicles: fleet };
}

/** In km/h on the globe, else in units an hour; null while nobody has said it. */
export function speedOf(instance) {
  return instance.speed ? round(instance.speed * (isOnGlobe(instance) ? 3.6 : 3600)) : null;
}

export function withSpeed(instance, speed) {
  return { ...instance, speed: speed === null ? undefined : speed / (isOnGlobe(instance) ? 3.6 : 3600) };
}

/** Whether times are limited although nothing tells how long legs take. */
export function lacksSpeed(instance) {
  if (instance.speed || instance.durations) return false;
  const isTimed = (each) => [each?.window, each?.windows, each?.shift, each?.max_duration].some((limit) => limit != null);
  return [...nodesOf(instance), ...fleetOf(instance)].some(isTimed);
}

export function withDepot(instance, place) {
  return { ...instance, depot: { ...instance.depot, ...makePlace(instance, place) } };
}

/** A customer at a place, with a name that is free, where customers have names. */
export function makeCustomer(instance, place, fields = {}) {
  const isNamed = instance.customers.some((other) => other.id !== undefined);
  const demand = Object.fromEntries(dimensionsOf(instance).map((name) => [name, 1]));
  const own = { ...makePlace(instance, place), demand: demand[""] ?? demand, ...fields };
  return isNamed && own.id === undefined ? { ...own, id: freeName(instance) } : own;
}

export function withCustomer(instance, customer) {
  const longer = { ...instance, customers: [...instance.customers, customer] };
  return withLegs(longer, longer.customers.length, detourOf(instance));
}

export function withoutCustomers(instance, nodes) {
  const isLeft = (_, node) => !nodes.has(node);
  const customers = instance.customers.filter((_, index) => !nodes.has(index + 1));
  const cut = (matrix) => matrix.filter(isLeft).map((row) => row.filter(isLeft));
  const matrices = ["distances", "durations"].filter((key) => instance[key]).map((key) => [key, cut(instance[key])]);
  return { ...instance, customers, ...Object.fromEntries(matrices) };
}

/** The same with some fields of a node changed; a field that becomes undefined is left out. */
export function withFields(instance, node, fields) {
  if (node === 0) return { ...instance, depot: { ...instance.depot, ...fields } };
  const customers = instance.customers.map((old, index) => (index === node - 1 ? { ...old, ...fields } : old));
  return { ...instance, customers };
}

export function withPlace(instance, node, [x, y]) {
  const [across, up] = axesOf(nodeAt(instance, node));
  return withLegs(withFields(instance, node, { [across]: x, [up]: y }), node, detourOf(instance));
}

function makePlace(instance, [x, y]) {
  const isGlobe = isOnGlobe(instance);
  return isGlobe ? { lat: y, lon: x } : { x, y };
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
