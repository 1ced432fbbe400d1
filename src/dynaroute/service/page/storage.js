// What the browser keeps for the page, where it lets us.

/** A kept text, or null. `area` is "localStorage" or "sessionStorage". */
export function recall(area, key) {
  try {
    return window[area].getItem(key);
  } catch {
    return null; // storage may be forbidden
  }
}

export function keep(area, key, text) {
  try {
    window[area].setItem(key, text);
  } catch {
    // then it lasts as long as the page
  }
}
