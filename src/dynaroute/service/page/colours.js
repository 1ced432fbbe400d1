// Ten colours that the colour-blind can tell apart (theme.css holds them), times four kinds of line: forty routes
// differ, and every route carries its number besides.

const COLOURS = 10;
const DASHES = ["", "7 4", "1.5 4", "10 4 2 4"];

export function colourIndex(route) {
  return route % COLOURS;
}

export function dashOf(route) {
  return DASHES[Math.floor(route / COLOURS) % DASHES.length];
}

/** The colour as the theme has it now, for drawing on a canvas. */
export function colourValue(route) {
  return themeValue(`--route-${colourIndex(route)}`);
}

export function themeValue(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
