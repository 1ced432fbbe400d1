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
