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
    future: [], // those that were undone, the next last
    loads: 0, // how many days were opened, edits not counted
    runs: [], // plans of this day, each with its own instance
    shownRun: null, // id of the plan on the map
    comparedRun: null, // id of the plan it is compared with
    search: null, // the running search
    selectedNode: null, // 0 is the depot
    hoveredRoute: null,
    pinnedRoute: null,
    film: null, // what the film shows on the map, {routes, open}
    tool: "select",
    tightMinutes: 10, // stops with less slack are marked
  });
}

/** Replace the day by a newly opened one, with a plan if it has one, and forget what could be undone. */
export function loadDay(store, instance, run = null) {
  const runs = run === null ? [] : [run];
  const { loads } = store.state;
  store.update({ ...cleared(), instance, past: [], future: [], runs, shownRun: run?.id ?? null, loads: loads + 1 });
}

/** Show the day as it was changed, with its plan, if there is one; the change can be undone. */
export function changeDay(store, instance, run = null, selectedNode = store.state.selectedNode) {
  const { runs } = store.state;
  const past = [...store.state.past, momentOf(store.state)].slice(-LONGEST_PAST);
  const shown = { shownRun: run?.id ?? null, runs: run === null ? runs : [...runs, run] };
  store.update({ ...cleared(), instance, past, future: [], ...shown, selectedNode });
}

export function undo(store) {
  travel(store, "past", "future");
}

export function redo(store) {
  travel(store, "future", "past");
}

/** Keep a plan that was found, and show it if its day is still shown. */
export function keepRun(store, run) {
  if (run.instance === store.state.instance) changeDay(store, run.instance, run);
  else store.update({ runs: [...store.state.runs, run] });
}

export function replaceRun(store, run) {
  store.update({ runs: store.state.runs.map((other) => (other.id === run.id ? run : other)) });
}

export function findRun(state, id) {
  return state.runs.find((run) => run.id === id) ?? null;
}

export function shownRun(state) {
  return findRun(state, state.shownRun);
}

/** Whether a search of the shown day is running. */
export function isSearching(state) {
  return state.search !== null && state.search.instance === state.instance;
}

/** The plan to speak of: the search under way, or the shown plan; null for none. */
export function runToShow(state) {
  if (isSearching(state) && state.search.routes.length > 0) return state.search;
  return shownRun(state);
}

/** The plans that can be compared: those that were found or opened, and the shown one. */
export function listedRuns(state) {
  return state.runs.filter((run) => !run.isByHand || [state.shownRun, state.comparedRun].includes(run.id));
}

function momentOf({ instance, shownRun }) {
  return { instance, shownRun };
}

function travel(store, from, to) {
  const left = [...store.state[from]];
  const moment = left.pop();
  if (moment === undefined) return;
  store.update({ ...cleared(), ...moment, [from]: left, [to]: [...store.state[to], momentOf(store.state)] });
}

function cleared() {
  return { comparedRun: null, selectedNode: null, hoveredRoute: null, pinnedRoute: null };
}
