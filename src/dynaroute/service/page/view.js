// Where a place of the problem lies on the screen, and back.

const MARGIN = 26; // pixels kept free around the points
const FINEST = 1e-10; // of a coordinate, that a pixel may be wide: numbers have no more digits to tell places apart

/** A window onto the plane: one scale for both axes, y upwards. */
export class View {
  constructor() {
    this.width = 1;
    this.height = 1;
    this.scale = 1; // pixels a unit
    this.centre = [0, 0];
    this.frame = null; // the part of the plane that is to be seen, whatever the size of the screen
  }

  /** Show the same part of the plane on a screen of another size. */
  resize(width, height) {
    this.width = Math.max(width, 1);
    this.height = Math.max(height, 1);
    if (this.frame !== null) this.fit(this.frame);
  }

  fit(frame) {
    this.frame = frame;
    const { left, right, low, high } = frame;
    const across = Math.max(this.width - 2 * MARGIN, 10) / Math.max(right - left, 1e-12);
    const up = Math.max(this.height - 2 * MARGIN, 10) / Math.max(high - low, 1e-12);
    const scale = Math.min(across, up);
    this.scale = Number.isFinite(scale) && scale < 1e11 ? scale : Math.min(this.width, this.height) / 2;
    this.centre = [(left + right) / 2, (low + high) / 2];
  }

  toScreen([x, y]) {
    return [this.width / 2 + (x - this.centre[0]) * this.scale, this.height / 2 - (y - this.centre[1]) * this.scale];
  }

  toPlace([x, y]) {
    return [this.centre[0] + (x - this.width / 2) / this.scale, this.centre[1] - (y - this.height / 2) / this.scale];
  }

  pan(dx, dy) {
    this.centre = [this.centre[0] - dx / this.scale, this.centre[1] + dy / this.scale];
    this.#takeFrame();
  }

  /** Zoom so that the place under `anchor` stays under it. */
  zoom(factor, anchor = [this.width / 2, this.height / 2]) {
    const [x, y] = this.toPlace(anchor);
    const isTooFine = this.scale * factor * FINEST * Math.max(Math.abs(x), Math.abs(y), 1e-3) > 1;
    if (factor > 1 && isTooFine) return;
    this.scale *= factor;
    const [movedX, movedY] = this.toPlace(anchor);
    this.centre = [this.centre[0] + x - movedX, this.centre[1] + y - movedY];
    this.#takeFrame();
  }

  /** A step about `pixels` wide, as a power of ten: places set by hand get no more digits than the eye can aim. */
  roundStep(pixels) {
    return 10 ** Math.floor(Math.log10(pixels / this.scale));
  }

  /** Round a place to what can be aimed at. */
  snap(place) {
    const step = this.roundStep(2);
    return place.map((value) => Number((Math.round(value / step) * step).toPrecision(12)));
  }

  /** Distance between the lines of the grid: 1, 2 or 5 times a power of ten, some 70 pixels. */
  gridStep() {
    const wanted = 70 / this.scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted);
  }

  #takeFrame() {
    const [left, high] = this.toPlace([MARGIN, MARGIN]);
    const [right, low] = this.toPlace([this.width - MARGIN, this.height - MARGIN]);
    this.frame = { left, right, low, high };
  }
}
