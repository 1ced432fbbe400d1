// The map as a picture, drawn on a canvas in the colours of the theme.

import { colourValue, dashOf, themeValue } from "./colours.js";
import { boundsOf, placedNodes, placeOf } from "./instance.js";
import { countOf, formatCost } from "./numbers.js";
import { View } from "./view.js";

const WIDTH = 1200;
const HEIGHT = 1000;
const TITLE = 70; // height kept for it
const DENSITY = 2;

/** A PNG of a run's routes. */
export function drawPicture(run) {
  const canvas = document.createElement("canvas");
  canvas.width = WIDTH * DENSITY;
  canvas.height = HEIGHT * DENSITY;
  const pen = canvas.getContext("2d", { willReadFrequently: true }); // drawn once and read: not worth the GPU
  pen.scale(DENSITY, DENSITY);
  pen.fillStyle = themeValue("--surface");
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  drawTitle(pen, run);
  drawMap(pen, run);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function drawTitle(pen, run) {
  const name = run.instance.name ? `${run.instance.name}: ` : "";
  pen.font = "600 24px system-ui, sans-serif";
  pen.fillStyle = themeValue("--text");
  pen.fillText(`${name}cost ${formatCost(run.cost)}, ${countOf(run.routes.length, "route")}`, 28, 46);
  pen.font = "16px system-ui, sans-serif";
  pen.fillStyle = themeValue("--text-soft");
  const how = `${run.label}, ${run.model ?? "savings"}`;
  pen.fillText(how, WIDTH - 28 - pen.measureText(how).width, 46);
}

function drawMap(pen, run) {
  const view = new View();
  view.resize(WIDTH, HEIGHT - TITLE);
  const nodes = placedNodes(run.instance);
  view.fit(boundsOf(nodes));
  const places = nodes.map((node) => {
    const [x, y] = view.toScreen(placeOf(node));
    return [x, y + TITLE];
  });
  run.routes.forEach((route, index) => drawRoute(pen, route.map((stop) => places[stop]), places[0], index));
  const radius = Math.min(7, Math.max(2.5, 60 / Math.sqrt(nodes.length)));
  run.routes.forEach((route, index) => {
    for (const stop of route) drawPoint(pen, places[stop], radius, colourValue(index));
  });
  pen.fillStyle = themeValue("--text");
  pen.fillRect(places[0][0] - 9, places[0][1] - 9, 18, 18);
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
