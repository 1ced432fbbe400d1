// Converts between coordinates of the problem and the screen.

const MARGIN = 26; // pixels kept free around the points
const FINEST = 1e-10; // smallest width of a pixel, relative to a coordinate: numbers have no more digits
const MOST_LATITUDE = 85.05; // the limit of Mercator maps

/** No projection. */
export const PLANE = { up: (y) => y, down: (height) => height };

/** Mercator's projection of degrees, as in street maps: shapes are not distorted. */
export const GLOBE = {
  up: (latitude) => degrees(Math.asinh(Math.tan(radians(clamp(latitude))))),
  down: (height) => degrees(Math.atan(Math.sinh(radians(height)))),
};

/** A window onto the plane: one scale for both axes, y upwards. */
export class View {
  constructor(projection = PLANE) {
    this.projection = projection;
    this.width = 1;
    this.height = 1;
    this.scale = 1; // pixels per unit
    this.centre = [0, 0]; // as projected
    this.frame = null; // the part of the plane to show, for any size of the screen
  }

  /** Show the same part of the plane on a screen of another size. */
  resize(width, height) {
    this.width = Math.max(width, 1);
    this.height = Math.max(height, 1);
    if (this.frame !== null) this.fit(this.frame);
  }

  fit(frame) {
    this.frame = frame;
    const { left, right } = frame;
    const [low, high] = [frame.low, frame.high].map(this.projection.up);
    const across = Math.max(this.width - 2 * MARGIN, 10) / Math.max(right - left, 1e-12);
    const up = Math.max(this.height - 2 * MARGIN, 10) / Math.max(high - low, 1e-12);
    const scale = Math.min(across, up);
    this.scale = Number.isFinite(scale) && scale < 1e11 ? scale : Math.min(this.width, this.height) / 2;
    this.centre = [(left + right) / 2, (low + high) / 2];
  }

  toScreen([x, y]) {
    const height = this.projection.up(y);
    const [left, top] = [(x - this.centre[0]) * this.scale, (height - this.centre[1]) * this.scale];
    return [this.width / 2 + left, this.height / 2 - top];
  }

  toPlace(at) {
    const [x, height] = this.#project(at);
    return [x, this.projection.down(height)];
  }

  pan(dx, dy) {
    this.centre = [this.centre[0] - dx / this.scale, this.centre[1] + dy / this.scale];
    this.#takeFrame();
  }

  /** Zoom so that the place under `anchor` stays under it. */
  zoom(factor, anchor = [this.width / 2, this.height / 2]) {
    const [x, y] = this.#project(anchor);
    const isTooFine = this.scale * factor * FINEST * Math.max(Math.abs(x), Math.abs(y), 1e-3) > 1;
    if (factor > 1 && isTooFine) return;
    this.scale *= factor;
    const [movedX, movedY] = this.#project(anchor);
    this.centre = [this.centre[0] + x - movedX, this.centre[1] + y - movedY];
    this.#takeFrame();
  }

  /** A power of ten of about `pixels`, the precision of points placed by hand. */
  roundStep(pixels) {
    return 10 ** Math.floor(Math.log10(pixels / this.scale));
  }

  /** Round a position to that precision. */
  snap(place) {
    const step = this.roundStep(2);
    return place.map((value) => Number((Math.round(value / step) * step).toPrecision(12)));
  }

  /** Distance between grid lines: 1, 2 or 5 times a power of ten, about 70 pixels. */
  gridStep() {
    return roundUp(70 / this.scale);
  }

  /** The projected position at a point of the screen. */
  #project([x, y]) {
    return [this.centre[0] + (x - this.width / 2) / this.scale, this.centre[1] - (y - this.height / 2) / this.scale];
  }

  #takeFrame() {
    const [left, high] = this.toPlace([MARGIN, MARGIN]);
    const [right, low] = this.toPlace([this.width - MARGIN, this.height - MARGIN]);
    this.frame = { left, right, low, high };
  }
}

/** Round up to 1, 2 or 5 times a power of ten. */
export function roundUp(wanted) {
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted);
}

export function radians(angle) {
  return (angle * Math.PI) / 180;
}

function degrees(angle) {
  return (angle * 180) / Math.PI;
}

function clamp(latitude) {
  return Math.max(-MOST_LATITUDE, Math.min(MOST_LATITUDE, latitude));
}
