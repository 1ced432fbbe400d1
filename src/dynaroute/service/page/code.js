// The Code tab: shell and Python code that repeats the last run.

import { make } from "./dom.js";
import { fileStem, saveInstance } from "./export.js";
import { announce } from "./notices.js";
import { optionsOf } from "./solve.js";
import { findRun } from "./state.js";

export class CodePanel {
  #place;
  #store;

  constructor(place, store) {
    this.#place = place;
    this.#store = store;
  }

  show() {
    const run = findRun(this.#store.state, this.#store.state.shownRun);
    if (run === null || run.request === null) {
      const text = "Solve the problem to see shell and Python code that does the same.";
      this.#place.replaceChildren(make("p", { class: "empty", text }));
      return;
    }
    const file = `${fileStem(run.instance)}.json`;
    const save = make("button", { type: "button", class: "button small", id: "save-instance", text: `Save ${file}` });
    save.addEventListener("click", () => announce(`Saved ${saveInstance(run.instance)}.`));
    this.#place.replaceChildren(
      make("p", { class: "hint", text: "The current problem, for the code below:" }),
      save,
      ...listing("curl", "code-curl", curlLines(run.request, file)),
      ...listing("Python", "code-python", pythonLines(run.request, file)),
    );
  }
}

/** The same over HTTP. A search is a job whose events are watched. */
function curlLines(request, file) {
  const query = new URLSearchParams(optionsOf(request)).toString();
  const address = (path) => `'${location.origin}${path}${query ? `?${query}` : ""}'`;
  const body = `  -H 'Content-Type: application/json' --data-binary '@${file}'`;
  if (request.method !== "search") return `curl -sS ${address("/v1/solve")} \\\n${body}`;
  const readId = `python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'`;
  return [
    `job=$(curl -sS ${address("/v1/jobs")} \\\n${body} \\\n  | ${readId})`,
    `curl -sSN "${location.origin}/v1/jobs/$job/events"   # improvements as they come`,
    `curl -sS "${location.origin}/v1/jobs/$job"           # the result`,
  ].join("\n");
}

/** The same in Python, without a server. */
function pythonLines(request, file) {
  const settings = Object.entries(optionsOf(request)).map(([name, value]) => `, ${name}=${pythonValue(value)}`);
  return [
    "import dynaroute",
    "",
    `instance = dynaroute.read("${file}")`,
    `result = dynaroute.solve(instance${settings.join("")})`,
    "assert dynaroute.check(instance, result.solution) == []",
    "print(result.cost, result.solution.routes)",
  ].join("\n");
}

function pythonValue(value) {
  if (value === true) return "True";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function listing(title, id, text) {
  const label = `Copy the code for ${title}`;
  const copy = make("button", { type: "button", class: "button small", "aria-label": label, text: "Copy" });
  copy.addEventListener("click", async () => {
    await copyText(text);
    copy.textContent = "Copied";
    announce(`Code for ${title} copied.`);
  });
  const head = make("div", { class: "listing-head" }, make("h3", { text: title }), copy);
  return [head, make("pre", { class: "listing", id, tabindex: 0, text })];
}

async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // without https, except on this machine, browsers only support the old way
  const area = make("textarea", { class: "visually-hidden" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
