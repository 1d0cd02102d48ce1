// The keyboard: what a view is asked about, the list of keys, and the search for a class by typing.
import { post, run } from "./api.js";
import { dialog, el, failed, key, note } from "./dom.js";

// The view's present subject: {rows, choices, guess, source, after, all, whole, skip, move, open, lasso}.
let subject = null;
let busy = false;

export function about(next) {
  subject = next;
}

export async function answer(kind, number) {
  if (!subject || busy || !subject.rows.length) return;
  const now = subject;
  if (kind === "search") return searchClass((found) => answer("class", found));
  if (kind === "skip" && !now.skip) return;
  busy = true;
  try {
    const found = await post("/api/answer", { rows: now.rows, kind, class: kind === "class" ? number : null, source: now.source });
    await now.after(found, kind, number);
  } catch (error) {
    failed(error);
  } finally {
    busy = false;
  }
}

export async function undo() {
  if (busy) return;
  busy = true;
  try {
    const found = await post("/api/undo");
    note(found.rows.length ? `Undone: the last answer, about ${found.rows.length}.` : "There is nothing to undo.");
    window.dispatchEvent(new CustomEvent("undone", { detail: found }));
  } catch (error) {
    failed(error);
  } finally {
    busy = false;
  }
}

export function searchClass(chosen) {
  const names = run.facts.classes;
  const input = el("input", { type: "text", role: "combobox", "aria-label": "Name of a class", "aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list",
    autocomplete: "off", placeholder: "Type a part of the name", spellcheck: "false", dir: "auto" });
  const list = el("ul", { id: "found", class: "found", role: "listbox", "aria-label": "Classes" });
  let matches = [];
  let at = 0;
  const box = dialog("Which class is it?", input, list);
  const pick = (number) => { box.close(); chosen(number); };
  const show = () => {
    list.replaceChildren(...matches.map((number, place) => el("li", { id: `found-${place}`, role: "option", "aria-selected": String(place === at), onclick: () => pick(number) },
      el("span", { dir: "auto", text: names[number] }))), ...(matches.length ? [] : [el("li", { role: "presentation", text: "No class has this in its name." })]));
    input.setAttribute("aria-activedescendant", matches.length ? `found-${at}` : "");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const search = () => {
    const typed = input.value.trim().toLowerCase();
    const scored = names.map((name, number) => [name.toLowerCase().indexOf(typed), number]).filter(([place]) => place >= 0);
    matches = scored.sort((a, b) => Math.sign(a[0]) - Math.sign(b[0]) || a[1] - b[1]).slice(0, 60).map(([, number]) => number);
    at = 0;
    show();
  };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = Math.max(0, Math.min(matches.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
      show();
      event.preventDefault();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (matches.length) pick(matches[at]);
    }
  });
  search();
  input.focus();
}

const HELP = [
  ["Enter", "yes, the proposed class"], ["Shift Enter", "yes, for all pictures of the cluster that are shown"], ["a", "the next answer is about all of them"], ["1 – 9", "one of the likeliest classes"],
  ["/", "any class, by typing a part of its name"], ["0", "none of these classes"], ["s", "skip: do not ask again"], ["← ↑ → ↓", "move to another picture"],
  ["u", "undo, all the way back"], ["r", "refit with the answers"], ["e", "export"], ["q g m c d", "questions, grid, map, classes, changes"],
  ["l", "map: lasso"], ["?", "this list"],
];

export function help() {
  dialog("Keys", el("dl", { class: "keys" }, HELP.flatMap(([name, text]) => [el("dt", {}, key(name)), el("dd", { text })])),
    el("p", { text: "An answer is on the disk before the next question is drawn. Pictures are never moved, renamed or deleted." }));
}

const VIEWS = { q: "questions", g: "grid", m: "map", c: "classes", d: "changes" };
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function listenToKeys(tools) {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea, dialog[open]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.getElementById("dialog").open) return;
    if (handle(event, tools)) event.preventDefault();
  });
}

function handle(event, tools) {
  const name = event.key;
  if (name in STEPS && subject?.move) return subject.move(...STEPS[name]) !== false;
  if (name === "Enter") return confirmGuess(event);
  if (/^[1-9]$/.test(name)) {
    const choice = subject?.choices?.[Number(name) - 1];
    return choice ? (answer("class", choice.class), true) : false;
  }
  if (name in VIEWS) return (location.hash = VIEWS[name], true);
  const calls = { 0: () => answer("none"), s: () => answer("skip"), "/": () => answer("search"), u: undo, "?": help, l: () => subject?.lasso?.(), a: () => subject?.whole?.(), ...tools };
  return name in calls ? (calls[name](), true) : false;
}

function confirmGuess(event) {
  // On a control that has the focus, Enter is that control's own.
  if (event.target.closest("a, header button, .choices button, .row button, summary")) return false;
  if (!subject || subject.guess === null || subject.guess === undefined || subject.guess < 0) return subject?.open?.() ?? false;
  if (event.shiftKey && subject.all) subject.all();
  else answer("class", subject.guess);
  return true;
}
