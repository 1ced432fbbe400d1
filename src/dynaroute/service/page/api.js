// Calls the service over HTTP. Every failure becomes an ApiError in the form of the service's errors.

import { keep, recall } from "./storage.js";

const TOKEN_KEY = "dynaroute.token";
const START_ATTEMPTS = 60;
const START_PAUSE = 500; // milliseconds
const NO_CONTACT = {
  code: "network",
  message: "the server cannot be reached.",
  where: null,
  remedy: "Check that dynaroute serve is running, then try again.",
};

export class ApiError extends Error {
  constructor({ code, message, where, remedy }, status = 0) {
    super(message);
    this.code = code ?? "error";
    this.where = where ?? null;
    this.remedy = remedy ?? "";
    this.status = status;
  }
}

export class Api {
  #askForToken;
  #token = recall("sessionStorage", TOKEN_KEY);

  /** `askForToken` resolves to a token, or to null if the user has none. */
  constructor(askForToken) {
    this.#askForToken = askForToken;
  }

  models() {
    return this.#getJson("/v1/models");
  }

  /** Turn a file into an instance; `options` are those of a file. */
  readFile(file, options = {}) {
    return this.#getJson("/v1/convert", { method: "POST", body: makeForm(file, options) });
  }

  /** Look at a table before it is read. */
  previewTable(file, options) {
    return this.#getJson("/v1/preview", { method: "POST", body: makeForm(file, options) });
  }

  /** The instance of JSON as the service writes it. */
  readInstance(instance) {
    return this.#getJson("/v1/convert", asJson(instance));
  }

  solve(request) {
    return this.#getJson("/v1/solve", asJson(request));
  }

  /** Check routes with the service's independent checker, and ask for their timetable. */
  check({ instance, routes, types }) {
    const solution = { routes, ...(types === null ? {} : { vehicles: types }) };
    return this.#getJson("/v1/check", asJson({ instance, solution, timetable: true }));
  }

  insert(plan, customers) {
    return this.#getJson("/v1/insert", asJson({ plan, customers }));
  }

  /** Where a customer could be in a plan, and what leaving it out would save. */
  explain(plan, id) {
    return this.#getJson("/v1/explain", asJson({ plan, id }));
  }

  compare(before, after) {
    return this.#getJson("/v1/compare", asJson({ before, after }));
  }

  /** Other days: {plan, vehicles?, without_window?, promises?, time_limit}. */
  askWhatIf(question) {
    return this.#getJson("/v1/what-if", asJson(question));
  }

  /** The rest of a day, planned again: {plan, now, cancel?, broken?}. */
  replan(change) {
    return this.#getJson("/v1/replan", asJson(change));
  }

  /** A plan as the content of a file. */
  async exportPlan(plan, format) {
    const response = await this.#fetch("/v1/export", asJson({ plan, format }));
    return response.blob();
  }

  startJob(request) {
    return this.#getJson("/v1/jobs", asJson(request));
  }

  job(id) {
    return this.#getJson(`/v1/jobs/${encodeURIComponent(id)}`);
  }

  /** Stop a job; the response contains its best result. */
  stopJob(id) {
    return this.#getJson(`/v1/jobs/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  /** The events of a job as they come: {name, data}. */
  async *events(id) {
    const response = await this.#fetch(`/v1/jobs/${encodeURIComponent(id)}/events`, {});
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await read(reader);
      if (done) return;
      const blocks = (text + value.replaceAll("\r\n", "\n")).split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event !== null) yield event;
      }
    }
  }

  /** Send a request, and repeat it while the service is loading its models. */
  async #getJson(path, options = {}) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await this.#fetch(path, options);
        return await response.json();
      } catch (error) {
        if (error.code !== "starting" || attempt === START_ATTEMPTS) throw error;
        await new Promise((resolve) => setTimeout(resolve, START_PAUSE));
      }
    }
  }

  async #fetch(path, options) {
    const response = await this.#send(path, options);
    if (response.status !== 401) return accept(response);
    const token = await this.#askForToken();
    if (token === null) return accept(response);
    this.#token = token;
    keep("sessionStorage", TOKEN_KEY, token);
    return accept(await this.#send(path, options));
  }

  async #send(path, options) {
    const headers = { Accept: "application/json, text/event-stream", ...options.headers };
    if (this.#token !== null) headers.Authorization = `Bearer ${this.#token}`;
    try {
      return await fetch(path, { ...options, headers });
    } catch {
      throw new ApiError(NO_CONTACT);
    }
  }
}

function makeForm(file, options) {
  const form = new FormData();
  form.set("file", file, file.name);
  for (const [name, value] of Object.entries(options)) {
    for (const each of [value].flat()) form.append(name, each);
  }
  return form;
}

function asJson(value) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
}

async function accept(response) {
  if (response.ok) return response;
  const fallback = { code: "http", message: `the server answered ${response.status}.`, remedy: "Try again later." };
  throw new ApiError(await response.json().catch(() => fallback), response.status);
}

async function read(reader) {
  try {
    return await reader.read();
  } catch {
    throw new ApiError(NO_CONTACT);
  }
}

function parseEvent(block) {
  const fields = { event: "message", data: [] };
  for (const line of block.split("\n")) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (name === "data") fields.data.push(value);
    else if (name === "event") fields.event = value;
  }
  return fields.data.length === 0 ? null : { name: fields.event, data: JSON.parse(fields.data.join("\n")) };
}
