// The table of vehicle types, to change on the page and in the dialog that opens a table.

import { make } from "./dom.js";
import { amountsOf } from "./instance.js";
import { formatGivenWindow } from "./numbers.js";

/** A table of `fleet`, as in JSON, whose changes are told to `onChange`; other limits and prices of a type are kept. */
export function makeVehicleTable(fleet, onChange) {
  const names = amountsOf(fleet[0].capacity).map(([name]) => name);
  const change = (type, fields) => onChange(fleet.map((old, index) => (index === type ? { ...old, ...fields } : old)));
  const rows = fleet.map((vehicle, type) => {
    const input = (name, value, settings, read) => {
      const label = `${name} of vehicle type ${type + 1}`;
      const field = make("input", { "aria-label": label, "data-field": name, value: value ?? "", autocomplete: "off", ...settings });
      field.addEventListener("change", () => {
        const fields = field.validity.valid ? read(field.value.trim()) : null;
        if (fields === null) field.value = value ?? "";
        else change(type, fields);
      });
      return make("td", {}, field);
    };
    const number = (text) => (text === "" ? undefined : Number(text));
    const amounts = amountsOf(vehicle.capacity).map(([name, value]) =>
      input(name === "" ? "capacity" : `capacity ${name}`, value, { type: "number", min: 0, step: "any" }, (text) => {
        if (!(Number(text) > 0)) return null;
        return { capacity: name === "" ? Number(text) : { ...vehicle.capacity, [name]: Number(text) } };
      }),
    );
    const remove = make("button", { type: "button", class: "icon-button", "aria-label": `Remove vehicle type ${type + 1}`, text: "×", disabled: fleet.length === 1 });
    remove.addEventListener("click", () => onChange(fleet.filter((_, index) => index !== type), type));
    return make(
      "tr",
      {},
      input("name", vehicle.name, { type: "text", placeholder: "Van" }, (name) => ({ name })),
      input("count", vehicle.count, { type: "number", min: 1, step: 1, placeholder: "any" }, (text) => ({ count: number(text) })),
      ...amounts,
      input("shift", formatGivenWindow(vehicle.shift), { type: "text", placeholder: "07:00-16:00" }, (text) => ({ shift: text.replace("–", "-") || undefined })),
      make("td", {}, remove),
    );
  });
  const heads = ["Vehicle", "Count", ...names.map((name) => (name === "" ? "Capacity" : name)), "Shift", ""];
  const head = make("tr", {}, ...heads.map((text) => (text === "" ? make("td") : make("th", { scope: "col", text }))));
  const table = make("table", { class: "vehicles-table" }, make("caption", { class: "visually-hidden", text: "Vehicle types" }));
  table.append(make("thead", {}, head), make("tbody", {}, ...rows));
  const add = make("button", { type: "button", class: "button small", text: "Add a type" });
  add.addEventListener("click", () => onChange([...fleet, { ...fleet.at(-1), name: freeName(fleet) }]));
  return make("div", { class: "vehicles" }, table, add);
}

function freeName(fleet) {
  let number = fleet.length + 1;
  while (fleet.some(({ name }) => name === `Type ${number}`)) number += 1;
  return `Type ${number}`;
}
