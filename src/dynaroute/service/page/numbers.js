// Numbers as people read them.

/** A cost or a length: whole where it is whole, else with enough digits to tell two runs apart. */
export function formatCost(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const digits = Math.abs(value) >= 1000 ? 1 : Math.abs(value) >= 100 ? 2 : 3;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function formatAmount(value) {
  return Number(value.toPrecision(12)).toLocaleString("en", { maximumFractionDigits: 6 });
}

export function formatPlace(value) {
  return String(Number(value.toPrecision(6)));
}

export function formatSeconds(seconds) {
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
}

export function formatShare(share) {
  const percent = 100 * share;
  return `${percent > 0 ? "+" : percent < 0 ? "−" : "±"}${Math.abs(percent).toFixed(2)} %`;
}

export function countOf(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A time of the day to the minute: 28800 is 08:00. */
export function formatClock(seconds) {
  const minutes = Math.round(seconds / 60);
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}
