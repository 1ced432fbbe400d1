// The cost over time of a search, as a falling staircase.

import { makeSvg } from "./dom.js";
import { formatSeconds } from "./numbers.js";

const WIDTH = 320;
const HEIGHT = 84;
const PADDING = { left: 6, right: 6, top: 16, bottom: 16 };

/** Draw `trace`, pairs of seconds and cost, up to `end` seconds; `formatCost` writes costs. */
export function drawCurve(svg, trace, end, formatCost) {
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  const [first, last] = [trace[0][1], trace.at(-1)[1]];
  const x = (seconds) => PADDING.left + (Math.min(seconds / end, 1) || 0) * (WIDTH - PADDING.left - PADDING.right);
  const span = first - last || 1;
  const y = (cost) => PADDING.top + ((first - cost) / span) * (HEIGHT - PADDING.top - PADDING.bottom);
  let path = `M${x(trace[0][0]).toFixed(1)} ${y(first).toFixed(1)}`;
  for (const [seconds, cost] of trace.slice(1)) path += `H${x(seconds).toFixed(1)}V${y(cost).toFixed(1)}`;
  const [tipX, tipY] = [x(trace.at(-1)[0]), y(last)];
  svg.setAttribute("aria-label", `Cost over time: from ${formatCost(first)} to ${formatCost(last)}.`);
  const line = `${path}H${WIDTH - PADDING.right}`;
  svg.replaceChildren(
    makeSvg("path", { class: "curve-area", d: `${line}V${HEIGHT - PADDING.bottom}H${x(trace[0][0]).toFixed(1)}Z` }),
    makeSvg("path", { class: "curve-line", d: line }),
    makeSvg("circle", { class: "curve-tip", cx: tipX.toFixed(1), cy: tipY.toFixed(1), r: 3 }),
    makeSvg("text", { x: PADDING.left, y: 11, text: formatCost(first) }),
    makeSvg("text", { x: WIDTH - PADDING.right, y: 11, "text-anchor": "end", text: formatCost(last) }),
    makeSvg("text", { x: PADDING.left, y: HEIGHT - 3, text: "0 s" }),
    makeSvg("text", { x: WIDTH - PADDING.right, y: HEIGHT - 3, "text-anchor": "end", text: formatSeconds(end) }),
  );
}
