// Lengths of legs and routes, measured as by the service, and formatted for people.

import { hasFreePlaces, isOnGlobe, nodeAt, placeOf } from "./instance.js";
import { formatCost } from "./numbers.js";
import { radians, roundUp } from "./view.js";

const EARTH_RADIUS = 6_371_008.8; // metres; the mean radius of WGS 84

const ROUNDINGS = { nearest: (length) => Math.floor(length + 0.5), up: Math.ceil };

/** Whether lengths are metres. */
function isInMetres(instance) {
  return isOnGlobe(instance) && hasFreePlaces(instance);
}

/** A length or a cost with its unit, where that is known. */
export function formatLength(instance, length) {
  if (!isInMetres(instance)) return formatCost(length);
  if (Math.abs(length) < 1000) return `${Math.round(length).toLocaleString("en")} m`;
  const digits = Math.abs(length) < 100_000 ? 2 : 1;
  const settings = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(length / 1000).toLocaleString("en", settings)} km`;
}

/** Length of a leg between two nodes. */
export function legLength(instance, start, end) {
  if (!hasFreePlaces(instance)) return instance.distances[start][end];
  const round = ROUNDINGS[instance.rounding] ?? ((length) => length);
  const [from, to] = [nodeAt(instance, start), nodeAt(instance, end)];
  return round(isOnGlobe(instance) ? greatCircle(from, to) : straightLine(from, to));
}

export function routeLength(instance, stops) {
  const nodes = [0, ...stops, 0];
  return nodes.slice(1).reduce((sum, node, index) => sum + legLength(instance, nodes[index], node), 0);
}

/** Lengths from the depot to each stop, and back to the depot. */
export function distancesSoFar(instance, stops) {
  let driven = 0;
  return [...stops, 0].map((node, index) => (driven += legLength(instance, index === 0 ? 0 : stops[index - 1], node)));
}

export function routeLoad(instance, stops) {
  return Number(stops.reduce((sum, stop) => sum + instance.customers[stop - 1].demand, 0).toPrecision(12));
}

/** A round number of metres about so many pixels long: {pixels, text}. */
export function scaleBar(view, wanted) {
  const [, latitude] = view.toPlace([view.width / 2, view.height / 2]);
  const metresAPixel = (radians(1) * EARTH_RADIUS * Math.cos(radians(latitude))) / view.scale;
  const metres = roundUp((wanted * metresAPixel) / 2);
  return { pixels: metres / metresAPixel, text: metres < 1000 ? `${metres} m` : `${metres / 1000} km` };
}

function straightLine(from, to) {
  return Math.hypot(from.x - to.x, from.y - to.y);
}

function greatCircle(from, to) {
  const [[lon, lat], [otherLon, otherLat]] = [placeOf(from), placeOf(to)].map((place) => place.map(radians));
  const part = Math.sin((otherLat - lat) / 2) ** 2;
  const near = part + Math.cos(lat) * Math.cos(otherLat) * Math.sin((otherLon - lon) / 2) ** 2;
  return Number((2 * EARTH_RADIUS * Math.atan2(Math.sqrt(near), Math.sqrt(1 - near))).toFixed(6));
}
