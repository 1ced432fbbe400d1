// Numbers, lengths and times as people read them.

import { isOnGlobe } from "./instance.js";

/** A cost or a length: whole where it is whole, else with enough digits to tell two plans apart. */
export function formatCost(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const digits = Math.abs(value) >= 1000 ? 1 : Math.abs(value) >= 100 ? 2 : 3;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A length with its unit, where that is known. */
export function formatLength(instance, length) {
  if (!isOnGlobe(instance) || (instance.distances && instance.unit !== "m")) return formatCost(length);
  if (Math.abs(length) < 1000) return `${Math.round(length).toLocaleString("en")} m`;
  const digits = Math.abs(length) < 100_000 ? 2 : 1;
  const settings = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(length / 1000).toLocaleString("en", settings)} km`;
}

/** Whether plans cost money, not length: something has a price. */
export function isPriced({ vehicles, customers }) {
  const prices = ["fixed_cost", "time_cost", "overtime"];
  const isDear = (each) => prices.some((key) => each[key]) || (each.distance_cost ?? 1) !== 1;
  return (vehicles ?? []).some(isDear) || customers.some(({ late_cost: price }) => price);
}

/** What a plan or a route costs: money, or its length. */
export function formatPrice(instance, cost) {
  return isPriced(instance) ? formatCost(Number(cost.toFixed(2))) : formatLength(instance, cost);
}

export function formatAmount(value) {
  return Number(value.toPrecision(12)).toLocaleString("en", { maximumFractionDigits: 6 });
}

export function formatSeconds(seconds) {
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
}

export function countOf(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A time of the day to the minute: 28800 is 08:00; empty for none. */
export function formatClock(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const minutes = Math.round(seconds / 60);
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

/** A duration: 5 min, or 1:05 h. */
export function formatMinutes(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const minutes = Math.round(Math.abs(seconds) / 60);
  const sign = seconds < 0 && minutes > 0 ? "−" : "";
  if (minutes < 100) return `${sign}${minutes} min`;
  return `${sign}${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")} h`;
}

export function formatHours(seconds) {
  return seconds === null || seconds === undefined ? "" : `${(seconds / 3600).toFixed(1)} h`;
}

/** The windows of a stop in a timetable: 08:00-12:00; empty if it may come at any time. */
export function formatWindows(windows) {
  return windows.map(([opens, closes]) => formatWindow(opens, closes)).join(", ");
}

/** A window of the instance, which may be text that the user wrote. */
export function formatGivenWindow(window) {
  if (!Array.isArray(window)) return window ?? "";
  const [opens, closes] = window.map((time) => (typeof time === "number" ? formatClock(time) : time));
  if (closes === null || closes === undefined) return `from ${opens}`;
  return window[0] ? `${opens}-${closes}` : `until ${closes}`;
}

function formatWindow(opens, closes) {
  if (closes === null) return opens > 0 ? `from ${formatClock(opens)}` : "";
  return opens > 0 ? `${formatClock(opens)}–${formatClock(closes)}` : `until ${formatClock(closes)}`;
}
