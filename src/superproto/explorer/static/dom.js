// Elements and tiles. Texts are only ever set as texts.
import { className, percent, run } from "./api.js";

export function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const key = (name) => el("kbd", { text: name });

export function button(text, onclick, options = {}) {
  return el("button", { type: "button", onclick, ...options }, text, options.key ? key(options.key) : null);
}

export function picture(cell, size) {
  if (!run.facts.pictures) return el("span", { class: "no-picture", text: cell.id });
  const image = el("img", { src: `/picture/${cell.row}/${size}?v=${cell.version}`, alt: "", decoding: "async", draggable: "false" });
  image.addEventListener("error", () => image.replaceWith(el("span", { class: "no-picture", text: `${cell.id} cannot be shown` })));
  return image;
}

// One sample at full size; without a picture: what it probably has.
export function figure(cell, attributes, caption = cell.id) {
  return run.facts.pictures ? el("figure", { class: "large" }, picture(cell, "large"), el("figcaption", { dir: "auto", text: caption }))
    : el("figure", { class: "large" }, picture(cell, "large"), attributes.length ? el("p", { class: "why", text: `Probably has: ${attributes.map((one) => one.name).join(", ")}` }) : null);
}

const MARKS = { answered: "✓", none: "∅", skipped: "→", given: "★" };

export function tile(cell, onclick, options = {}) {
  const doubt = cell.doubt === null || cell.state !== "open" ? null : cell.doubt;
  const said = [cell.label === null ? "" : className(cell.label), doubt === null ? cell.state : `doubt ${percent(doubt)}`, cell.id];
  const badge = doubt === null ? MARKS[cell.state] && el("b", { class: `badge ${cell.state}`, text: MARKS[cell.state] })
    : el("b", { class: `badge d${doubtStep(doubt)}`, text: percent(doubt) });
  return el("button", { type: "button", class: `tile ${options.class || ""}`, "data-row": cell.row, "aria-label": said.filter(Boolean).join(", "),
    title: cell.id, onclick: () => onclick && onclick(cell) },
    el("span", { class: "frame" }, picture(cell, "small"), badge || null),
    options.bare || cell.label === null ? null : el("span", { class: "name", dir: "auto", text: className(cell.label) }));
}

export const tiles = (cells, onclick, options) => cells.map((cell) => tile(cell, onclick, options));

// Steps of doubt that have a color of their own.
const STEPS = [0.05, 0.15, 0.35, 0.6];
export const doubtStep = (doubt) => STEPS.filter((step) => doubt > step).length;

function bar(share) {
  const full = el("i");
  full.style.width = `${Math.max(1, 100 * share)}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, full);
}

// The buttons for a sample's likeliest classes, and for everything else one can say about it.
export function choices(list, guess, answer, more = {}) {
  const rows = list.slice(0, 9).map((choice, number) =>
    el("li", {}, el("button", { type: "button", class: choice.class === guess ? "choice guess" : "choice", onclick: () => answer("class", choice.class) },
      key(String(number + 1)), el("span", { class: "name", dir: "auto", text: className(choice.class) }),
      choice.chance === null ? null : bar(choice.chance),
      choice.chance === null ? null : el("span", { class: "chance", text: percent(choice.chance) }))));
  return el("div", { class: "answers" },
    el("ol", { class: "choices", "aria-label": "Likeliest classes" }, rows),
    el("p", { class: "row" },
      button("Another class", () => answer("search"), { key: "/" }),
      button("None of these", () => answer("none"), { key: "0" }),
      more.skip ? button("Skip", () => answer("skip"), { key: "s" }) : null));
}

export function note(text, kind = "info") {
  const line = el("p", { class: `note ${kind}`, text });
  document.getElementById("notes").append(line);
  setTimeout(() => line.remove(), kind === "error" ? 9000 : 4000);
}

export const failed = (error) => note(error.message, "error");

export function dialog(title, ...content) {
  const box = document.getElementById("dialog");
  box.replaceChildren(el("form", { method: "dialog" }, el("h2", { text: title }), ...content,
    el("p", { class: "row end" }, el("button", { value: "close" }, "Close", key("Esc")))));
  box.setAttribute("aria-label", title);
  if (!box.open) box.showModal();
  return box;
}
