// Files to save, printing the drivers' sheets, and keeping the day over a reload of the page.

import { curlLines, pythonLines } from "./code.js";
import { byId } from "./dom.js";
import { announce } from "./notices.js";
import { planOf } from "./plan.js";
import { loadDay, shownRun } from "./state.js";
import { keep, recall } from "./storage.js";

const KEY = "dynaroute.day";
const CODE = { sh: curlLines, py: pythonLines };
const SAVE_AFTER = 400; // milliseconds without changes
const PRINT_AFTER = 900;

export function wireSaving(store, api, fail) {
  const saved = byId("save-format");
  saved.addEventListener("change", async () => {
    const format = saved.value;
    saved.value = "";
    const run = shownRun(store.state);
    const name = `${fileStem(run.instance)}.${format}`;
    try {
      const code = CODE[format]?.(`${fileStem(run.instance)}.plan.json`, run.options ?? {});
      download(name, code === undefined ? await api.exportPlan(planOf(run), format) : new Blob([code]));
      announce(`Saved ${name}.`);
    } catch (error) {
      fail(error);
    }
  });
  byId("save-plan").addEventListener("click", () => {
    const run = shownRun(store.state);
    download(`${fileStem(run.instance)}.plan.json`, asBlob(planOf(run)));
  });
}

/** The sheets are those of the service, as in the PDF; they are fetched beforehand, because a browser prints at once. */
export function wirePrinting(store, api, fail) {
  const sheets = byId("sheets");
  let timer = null;
  let printed = null; // the plan that the sheets show
  const prepare = async () => {
    const run = shownRun(store.state);
    if (run === null || run.timetable === null || run === printed) return;
    const text = await (await api.exportPlan(planOf(run), "html")).text();
    const [element, style] = /<style>([^]*?)<\/style>/.exec(text);
    const paper = new CSSStyleSheet({ media: "print" }); // the content policy allows no style element
    paper.replaceSync(style);
    document.adoptedStyleSheets = [paper];
    const { body } = new DOMParser().parseFromString(text.replace(element, ""), "text/html");
    sheets.replaceChildren(...body.children);
    printed = run;
  };
  store.watch(["runs", "shownRun"], () => {
    clearTimeout(timer);
    if (shownRun(store.state) !== printed) sheets.replaceChildren();
    timer = setTimeout(() => prepare().catch(() => {}), PRINT_AFTER); // the button says what is wrong
  });
  byId("print").addEventListener("click", async () => {
    try {
      await prepare();
      window.print();
    } catch (error) {
      fail(error);
    }
  });
}

/** Keep the day and its plan in this browser; returns whether an earlier one was there. */
export function wireAutosave(store) {
  const kept = readKept();
  if (kept !== null) {
    loadDay(store, kept.instance, kept.run === null ? null : { ...kept.run, instance: kept.instance });
    store.update({ tightMinutes: kept.tightMinutes ?? store.state.tightMinutes });
  }
  let timer = null;
  const write = () => {
    const { instance, tightMinutes } = store.state;
    const run = shownRun(store.state);
    if (instance === null || run?.isPending) return;
    const { instance: _, trace, ...rest } = run ?? {};
    keep("localStorage", KEY, JSON.stringify({ instance, run: run === null ? null : { ...rest, trace: [] }, tightMinutes }));
  };
  store.watch(["instance", "runs", "shownRun", "tightMinutes"], () => {
    clearTimeout(timer);
    timer = setTimeout(write, SAVE_AFTER);
  });
  window.addEventListener("pagehide", write);
  return kept !== null;
}

function readKept() {
  try {
    const kept = JSON.parse(recall("localStorage", KEY));
    return Array.isArray(kept?.instance?.customers) ? kept : null;
  } catch {
    return null; // of another version
  }
}

/** A name for files that every system takes. */
function fileStem(instance) {
  return (instance.name || "plan").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "") || "plan";
}

function asBlob(document) {
  return new Blob([`${JSON.stringify(document, null, 1)}\n`], { type: "application/json" });
}

function download(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000); // the browser reads it after the click
}
