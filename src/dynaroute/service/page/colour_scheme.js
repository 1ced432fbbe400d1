// Light, dark, or as the system says. The choice is kept in this browser, where it lets us.

import { keep, recall } from "./storage.js";

const KEY = "dynaroute.colours";

export function wireColourScheme(select) {
  select.value = storedChoice();
  apply(select.value);
  select.addEventListener("change", () => {
    apply(select.value);
    keep("localStorage", KEY, select.value);
  });
}

function apply(choice) {
  if (choice === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}

function storedChoice() {
  const choice = recall("localStorage", KEY);
  return ["light", "dark"].includes(choice) ? choice : "auto";
}
