// The map as a picture, drawn on a canvas in the colours of the theme: routes, stop numbers, a legend, a scale.

import { colourValue, dashOf, themeValue } from "./colours.js";
import { boundsOf, capacityOf, placedNodes, placeOf } from "./instance.js";
import { formatLength, scaleBar } from "./lengths.js";
import { projectionOf } from "./map.js";
import { countOf, formatAmount } from "./numbers.js";
import { listWarnings, unservedOf } from "./unserved.js";
import { GLOBE, View } from "./view.js";

const WIDTH = 1200;
const HEIGHT = 1000;
const TITLE = 70; // height kept for it
const LEGEND = 250; // width kept for it
const LINE = 22; // height of a line of it
const MOST_NUMBERED = 150; // customers; more numbers would hide the map
const MOST_WARNINGS = 8; // customers that are not served, or faults, named above the map
const DENSITY = 2;

/** A PNG of a run's routes. */
export function drawPicture(run) {
  const canvas = document.createElement("canvas");
  const warnings = listWarnings(run, MOST_WARNINGS);
  const above = LINE * warnings.length;
  canvas.width = WIDTH * DENSITY;
  canvas.height = (HEIGHT + above) * DENSITY;
  const pen = canvas.getContext("2d", { willReadFrequently: true }); // drawn once and read: not worth the GPU
  pen.scale(DENSITY, DENSITY);
  pen.fillStyle = themeValue("--surface");
  pen.fillRect(0, 0, WIDTH, HEIGHT + above);
  drawWarnings(pen, warnings);
  pen.translate(0, above);
  drawTitle(pen, run);
  drawLegend(pen, run);
  drawMap(pen, run);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function drawWarnings(pen, warnings) {
  pen.font = "15px system-ui, sans-serif";
  pen.fillStyle = themeValue("--danger");
  warnings.forEach((text, index) => pen.fillText(text, 28, 28 + LINE * index, WIDTH - 56));
}

function drawTitle(pen, run) {
  const name = run.instance.name ? `${run.instance.name}: ` : "";
  pen.font = "600 24px system-ui, sans-serif";
  pen.fillStyle = themeValue("--text");
  const cost = formatLength(run.instance, run.cost);
  pen.fillText(`${name}${cost}, ${countOf(run.routes.length, "route")}`, 28, 46, WIDTH - LEGEND - 56);
  pen.font = "16px system-ui, sans-serif";
  pen.fillStyle = themeValue("--text-soft");
  pen.fillText(run.label, WIDTH - LEGEND, 46, LEGEND - 20);
}

/** Number, load and length of each route, as far as there is room. */
function drawLegend(pen, run) {
  const room = Math.floor((HEIGHT - TITLE - 2 * LINE) / LINE);
  pen.font = "15px system-ui, sans-serif";
  run.routes.slice(0, room).forEach((_, route) => {
    const y = TITLE + LINE * (route + 1);
    pen.strokeStyle = colourValue(route);
    pen.setLineDash(dashOf(route).split(" ").filter(Boolean).map(Number));
    drawLine(pen, [[WIDTH - LEGEND, y - 5], [WIDTH - LEGEND + 26, y - 5]], 3, 1);
    pen.setLineDash([]);
    pen.fillStyle = themeValue("--text");
    const load = `${formatAmount(run.loads[route])}/${formatAmount(capacityOf(run, route))}`;
    const text = `${route + 1}   ${load}   ${formatLength(run.instance, run.lengths[route])}`;
    pen.fillText(text, WIDTH - LEGEND + 36, y, LEGEND - 50);
  });
  if (run.routes.length <= room) return;
  pen.fillStyle = themeValue("--text-soft");
  pen.fillText(`and ${run.routes.length - room} more`, WIDTH - LEGEND + 36, TITLE + LINE * (room + 1));
}

function drawMap(pen, run) {
  const projection = projectionOf(run.instance);
  const view = new View(projection);
  view.resize(WIDTH - LEGEND, HEIGHT - TITLE);
  const nodes = placedNodes(run.instance);
  view.fit(boundsOf(nodes));
  const places = nodes.map((node) => {
    const [x, y] = view.toScreen(placeOf(node));
    return [x, y + TITLE];
  });
  run.routes.forEach((route, index) => drawRoute(pen, route.map((stop) => places[stop]), places[0], index));
  const isNumbered = nodes.length <= MOST_NUMBERED;
  const radius = isNumbered ? 9 : Math.min(7, Math.max(2.5, 60 / Math.sqrt(nodes.length)));
  run.routes.forEach((route, index) => {
    route.forEach((stop, place) => {
      drawPoint(pen, places[stop], radius, colourValue(index));
      if (isNumbered) drawNumber(pen, places[stop], place + 1);
    });
  });
  for (const { customer } of unservedOf(run)) drawRing(pen, places[customer], radius);
  pen.fillStyle = themeValue("--text");
  pen.fillRect(places[0][0] - 9, places[0][1] - 9, 18, 18);
  if (projection === GLOBE) drawScale(pen, scaleBar(view, 160));
}

function drawScale(pen, { pixels, text }) {
  const [x, y] = [28, HEIGHT - 24];
  pen.strokeStyle = themeValue("--text");
  drawLine(pen, [[x, y - 7], [x, y], [x + pixels, y], [x + pixels, y - 7]], 2, 1);
  pen.font = "15px system-ui, sans-serif";
  pen.fillStyle = themeValue("--text");
  pen.fillText(text, x + pixels + 10, y);
}

function drawRoute(pen, stops, depot, index) {
  pen.strokeStyle = colourValue(index);
  pen.lineJoin = "round";
  pen.setLineDash(dashOf(index).split(" ").filter(Boolean).map(Number));
  drawLine(pen, [depot, stops[0]], 1.5, 0.4);
  drawLine(pen, [stops.at(-1), depot], 1.5, 0.4);
  drawLine(pen, stops, 2.5, 1);
  pen.setLineDash([]);
}

function drawLine(pen, places, width, opacity) {
  pen.globalAlpha = opacity;
  pen.lineWidth = width;
  pen.beginPath();
  places.forEach(([x, y]) => pen.lineTo(x, y));
  pen.stroke();
  pen.globalAlpha = 1;
}

function drawPoint(pen, [x, y], radius, colour) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = colour;
  pen.fill();
  pen.lineWidth = 1.5;
  pen.strokeStyle = themeValue("--surface");
  pen.stroke();
}

/** A customer on no route. */
function drawRing(pen, [x, y], radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.lineWidth = 2.5;
  pen.strokeStyle = themeValue("--danger");
  pen.stroke();
}

function drawNumber(pen, [x, y], number) {
  pen.font = "600 10px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = themeValue("--surface");
  pen.fillText(String(number), x, y + 0.5);
  pen.textAlign = "start";
  pen.textBaseline = "alphabetic";
}
