// Messages: to screen readers through the live region, and next to the control that an error is about.

import { byId, make } from "./dom.js";

/** Say a sentence to those who do not see the page. */
export function announce(sentence) {
  byId("live").textContent = sentence;
}

/** Show an error of the API where the user looks: what, where and what to do. */
export function showError(place, error) {
  const where = describeWhere(error.where);
  const children = [make("strong", { text: sentence(error.message) })];
  if (where) children.push(make("span", { class: "notice-where", text: where }));
  if (error.remedy) children.push(make("span", { text: error.remedy }));
  place.replaceChildren(make("div", { class: "error", role: "alert" }, ...children));
}

/** Show what is worth knowing but wrong in no way. */
export function showNote(place, sentences) {
  place.replaceChildren(...sentences.map((text) => make("p", { class: "note", text })));
}

/** Show what the reader noticed in a file, folded where that is much. */
export function showNotes(place, sentences) {
  const lines = sentences.map((text) => make("li", { text: sentence(text.replace(/^[^:\s]+\.\w{2,4}: /, "")) }));
  const head = make("summary", { text: `How the file was read: ${lines.length} notes` });
  const list = make("ul", { class: "note" }, ...lines);
  if (lines.length > 2) place.append(make("details", { class: "notes" }, head, list));
  else if (lines.length > 0) place.append(list);
}

export function clearNotice(place) {
  place.replaceChildren();
}

function describeWhere(where) {
  if (!where) return "";
  const parts = [
    where.file,
    where.line !== null && where.line !== undefined ? `line ${where.line}` : null,
    where.field ? `field ${where.field}` : null,
    where.customer !== null && where.customer !== undefined ? `customer ${where.customer}` : null,
  ];
  return parts.filter(Boolean).join(", ");
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
