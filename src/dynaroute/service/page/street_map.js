// A street map behind the routes, made of tiles from a server that the service names. Off until the user turns it on.

import { byId, makeSvg } from "./dom.js";
import { GLOBE } from "./view.js";

const TILE = 256; // pixels
const MOST_TILES = 120;
const DEEPEST = 19;

/** The service's street map: {tiles, attribution}; tiles is null if there is none. */
async function readStreetMap() {
  const nothing = { tiles: null, attribution: "" };
  try {
    const response = await fetch("/page/street_map.json");
    return response.ok ? await response.json() : nothing;
  } catch {
    return nothing;
  }
}

/** Offer the street map, if there is one. */
export async function wireStreetMap(map) {
  const settings = await readStreetMap();
  const choice = byId("streets");
  if (settings.tiles === null) return;
  byId("streets-field").hidden = false;
  choice.addEventListener("change", () => {
    map.showStreets(choice.checked ? settings : null);
    byId("attribution").textContent = choice.checked ? settings.attribution : "";
  });
}

export class StreetMap {
  element = makeSvg("g", { class: "streets", "aria-hidden": "true" });
  #tiles = null;
  #pictures = new Map(); // by their addresses

  choose(settings) {
    this.#tiles = settings?.tiles ?? null;
  }

  /** Cover a view, whose scale is in pixels per degree. */
  draw(view, isOnGlobe) {
    const wanted = this.#tiles === null || !isOnGlobe ? [] : tilesOf(view);
    const addresses = new Set(wanted.map((tile) => this.#addressOf(tile)));
    for (const [address, picture] of this.#pictures) {
      if (addresses.has(address)) continue;
      picture.remove();
      this.#pictures.delete(address);
    }
    for (const tile of wanted) this.#place(tile, view);
  }

  #place({ zoom, column, row }, view) {
    const address = this.#addressOf({ zoom, column, row });
    const size = (360 / 2 ** zoom) * view.scale;
    const [x, y] = view.toScreen([(column * 360) / 2 ** zoom - 180, GLOBE.down(180 - (row * 360) / 2 ** zoom)]);
    let picture = this.#pictures.get(address);
    if (picture === undefined) {
      picture = makeSvg("image", { href: address, preserveAspectRatio: "none" });
      this.#pictures.set(address, picture);
      this.element.append(picture);
    }
    for (const [name, value] of Object.entries({ x, y, width: size + 0.5, height: size + 0.5 })) {
      picture.setAttribute(name, value.toFixed(2));
    }
  }

  #addressOf({ zoom, column, row }) {
    const values = { z: zoom, x: column, y: row };
    return this.#tiles.replace(/\{([zxy])\}/g, (_, name) => values[name]);
  }
}

/** The tiles that cover a view, at most twice as fine as the screen. */
function tilesOf(view) {
  const zoom = Math.max(0, Math.min(DEEPEST, Math.round(Math.log2((view.scale * 360) / TILE))));
  const count = 2 ** zoom;
  const columnOf = (longitude) => Math.floor(((longitude + 180) / 360) * count);
  const rowOf = (latitude) => Math.floor(((180 - GLOBE.up(latitude)) / 360) * count);
  const [left, high] = view.toPlace([0, 0]);
  const [right, low] = view.toPlace([view.width, view.height]);
  const tiles = [];
  for (let column = Math.max(0, columnOf(left)); column <= Math.min(count - 1, columnOf(right)); column += 1) {
    for (let row = Math.max(0, rowOf(high)); row <= Math.min(count - 1, rowOf(low)); row += 1) {
      tiles.push({ zoom, column, row });
    }
  }
  return tiles.slice(0, MOST_TILES);
}
