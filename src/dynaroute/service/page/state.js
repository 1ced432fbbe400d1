// The state of the page, in one place. Parts of the page read it, change it with `update`, and watch for changes.

const LONGEST_PAST = 200;

/** A record with listeners for changes of certain keys. */
class Store {
  #state;
  #listeners = [];

  constructor(state) {
    this.#state = state;
  }

  get state() {
    return this.#state;
  }

  update(changes) {
    const before = this.#state;
    const changed = Object.keys(changes).filter((key) => before[key] !== changes[key]);
    if (changed.length === 0) return;
    this.#state = { ...before, ...changes };
    for (const { keys, listener } of this.#listeners) {
      if (keys.some((key) => changed.includes(key))) listener(this.#state);
    }
  }

  /** Call `listener` now, and whenever one of `keys` changes. */
  watch(keys, listener) {
    this.#listeners.push({ keys, listener });
    listener(this.#state);
  }
}

export function createStore() {
  return new Store({
    instance: null, // the JSON instance of the API; never changed in place
    past: [], // earlier {instance, shownRun}, newest last
    loads: 0, // how many problems were loaded, edits not counted
    runs: [], // finished runs of all instances; each has its own instance
    shownRun: null, // id of the run on the map
    comparedRun: null, // id of the run on the second map
    search: null, // the running search
    playback: null, // {routes, tip} at the moment being played; tip: where the vehicle of the last route is
    selectedNode: null, // 0 is the depot
    hoveredRoute: null,
    pinnedRoute: null,
    lockedRoutes: [], // stops of the routes that a search leaves alone
    tool: "select",
    newDemand: 5,
  });
}

/** Replace the problem by a newly loaded one, and clear the undo list. */
export function loadInstance(store, instance) {
  store.update({ ...cleared(), instance, past: [], runs: [], loads: store.state.loads + 1 });
}

/** Replace the problem by an edited one. Runs belong to their problem, and reappear when an edit is undone. */
export function editInstance(store, instance, selectedNode = store.state.selectedNode) {
  store.update({ ...cleared(), instance, past: pastWith(store.state), selectedNode });
}

/** Show routes that were changed by hand; undo restores the earlier ones. */
export function editRoutes(store, run) {
  const { lockedRoutes, selectedNode } = store.state;
  const past = pastWith(store.state);
  store.update({ runs: [...store.state.runs, run] });
  store.update({ ...cleared(), past, shownRun: run.id, lockedRoutes, selectedNode });
}

export function undoEdit(store) {
  const past = [...store.state.past];
  const before = past.pop();
  if (before === undefined) return;
  const { instance } = before;
  const shownRun = before.shownRun ?? lastRunOf(store.state, instance)?.id ?? null;
  const lockedRoutes = instance === store.state.instance ? store.state.lockedRoutes : [];
  store.update({ ...cleared(), instance, past, shownRun, lockedRoutes });
}

/** Whether a search leaves these stops alone, as one route. */
export function isLocked({ lockedRoutes }, stops) {
  return lockedRoutes.some((locked) => sameStops(locked, stops));
}

export function toggleLock(store, stops) {
  const { lockedRoutes } = store.state;
  const others = lockedRoutes.filter((locked) => !sameStops(locked, stops));
  store.update({ lockedRoutes: others.length < lockedRoutes.length ? others : [...lockedRoutes, stops] });
}

/** Keep a run, and show it. */
export function keepRun(store, run) {
  store.update({ runs: [...store.state.runs, run] });
  if (run.instance !== store.state.instance) return;
  store.update({ shownRun: run.id, playback: null, pinnedRoute: null, hoveredRoute: null });
}

/** The runs of the problem on the map, including only the shown one of those changed by hand. */
export function runsOfInstance(state) {
  const isListed = (run) => run.request !== null || run.id === state.shownRun || run.id === state.comparedRun;
  return state.runs.filter((run) => run.instance === state.instance && isListed(run));
}

export function findRun(state, id) {
  return state.runs.find((run) => run.id === id) ?? null;
}

/** What to draw, {routes, tip}: the routes being found, those being played, or those of the chosen run. */
export function drawingOf(state) {
  if (isSearching(state)) return { routes: state.search.routes, tip: null };
  if (state.playback !== null) return state.playback;
  return { routes: findRun(state, state.shownRun)?.routes ?? [], tip: null };
}

/** Whether a search of the problem on the map is running. */
export function isSearching(state) {
  return state.search !== null && state.search.instance === state.instance;
}

function cleared() {
  return {
    shownRun: null,
    comparedRun: null,
    playback: null,
    selectedNode: null,
    hoveredRoute: null,
    pinnedRoute: null,
    lockedRoutes: [],
  };
}

function pastWith({ past, instance, shownRun }) {
  return [...past, { instance, shownRun }].slice(-LONGEST_PAST);
}

function sameStops(one, other) {
  return one.length === other.length && one.every((stop, index) => stop === other[index]);
}

function lastRunOf(state, instance) {
  return state.runs.filter((run) => run.instance === instance).at(-1);
}
