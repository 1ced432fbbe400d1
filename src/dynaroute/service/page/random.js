// Random problems of the paper's distribution: places uniform in the unit square, demands 1 to 9. The same seed
// draws the same problem, in every browser.

const LARGEST_DEMAND = 9;
const USUAL_SIZES = [10, 20, 50, 100, 200, 500, 1000];
const USUAL_CAPACITIES = [20, 30, 40, 50, 70, 100, 150];

export function drawInstance({ size, seed, capacity }) {
  const next = makeGenerator(seed);
  const place = () => ({ x: next(), y: next() });
  const depot = place();
  const demand = () => 1 + Math.floor(LARGEST_DEMAND * next());
  const customers = Array.from({ length: size }, () => ({ ...place(), demand: demand() }));
  return { name: `random-${size}-${seed}`, capacity: capacity ?? usualCapacity(size), depot, customers };
}

/** The capacity the field uses for a size: 30, 40, 50 for 20, 50, 100 customers, linear between the known sizes. */
function usualCapacity(size) {
  const last = USUAL_SIZES.length - 1;
  if (size >= USUAL_SIZES[last]) return USUAL_CAPACITIES[last] + Math.floor((size - USUAL_SIZES[last]) / 10);
  const upper = Math.max(1, USUAL_SIZES.findIndex((known) => size < known));
  const [low, high] = [USUAL_SIZES[upper - 1], USUAL_SIZES[upper]];
  const share = Math.max(0, (size - low) / (high - low));
  return Math.round(USUAL_CAPACITIES[upper - 1] + share * (USUAL_CAPACITIES[upper] - USUAL_CAPACITIES[upper - 1]));
}

/** Numbers uniform in [0, 1) by a counter and an avalanche of its bits, rounded so that they can be read. */
function makeGenerator(seed) {
  let counter = (Math.imul(seed, 0x9e3779b1) ^ Math.floor(seed / 2 ** 32)) >>> 0;
  return () => {
    counter = (counter + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(counter ^ (counter >>> 16), 0x7feb352d);
    bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
    return Math.round((((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32) * 1e5 - 0.5) / 1e5;
  };
}
