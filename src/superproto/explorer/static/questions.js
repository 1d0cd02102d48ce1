// One question after the other: the picture, what looks like it, and the answers.
import { className, get, run, things } from "./api.js";
import { button, choices, el, failed, figure, key, tile } from "./dom.js";
import { about, answer } from "./keys.js";

export async function open(view) {
  let asked = null;
  let at = 0;
  // Whether the next answer is about all the pictures of the cluster that are shown.
  let whole = false;

  async function next(given) {
    asked = given === undefined ? await get("/api/question") : given;
    at = 0;
    whole = false;
    draw();
    focusHeading();
  }

  async function focus(place) {
    at = place;
    whole = false;
    if (place > 0 && !asked.cells[place].choices) {
      const found = await get(`/api/rows/${asked.cells[place].row}`).catch(failed);
      if (!found) return;
      Object.assign(asked.cells[place], { choices: found.choices, attributes: found.attributes });
    }
    draw();
  }

  // An answer about the asked picture leads on; one about a neighbor marks it and stays.
  async function after(found, kind, number) {
    if (at === 0) return next(found.question);
    const state = { none: "none", skip: "skipped", class: "answered" }[kind];
    Object.assign(asked.cells[at], { label: { none: -2, skip: asked.cells[at].label, class: number }[kind], state });
    at = 0;
    draw();
  }

  // A screen reader reads the next question, and the tab key goes on from there.
  function focusHeading() {
    if (document.activeElement === document.body || view.contains(document.activeElement)) view.querySelector("h1")?.focus({ preventScroll: true });
  }

  const shown = () => asked.cells.filter((cell) => cell.state === "open").map((cell) => cell.row);

  function setWhole(on) {
    whole = on;
    draw();
    view.querySelector(".whole")?.focus();
  }

  function confirmShown() {
    whole = true;
    draw();
    answer("class", asked.guess);
  }

  function move(across, down) {
    const wide = asked.kind === "blind" ? 1 : 4;
    const place = at === 0 ? (down > 0 || across > 0 ? 1 : 0) : at + across + wide * down;
    focus(Math.max(0, Math.min(asked.cells.length - 1, place)));
  }

  function draw() {
    if (!asked) return finished();
    const cell = asked.cells[at];
    const list = at === 0 ? asked.choices : cell.choices;
    const guess = at === 0 ? asked.guess : cell.label;
    const cluster = asked.kind === "cluster" && at === 0 && asked.cells.length > 1;
    const rows = cluster && whole ? shown() : [cell.row];
    about({ rows, choices: list, guess, source: asked.kind, after, move, skip: true, all: cluster ? confirmShown : null, whole: cluster ? () => setWhole(!whole) : null });
    view.replaceChildren(el("div", { class: "question", "data-number": asked.number, "data-kind": asked.kind, "data-row": cell.row },
      el("section", { class: whole ? "shown whole" : "shown", "aria-label": "Pictures" },
        figure(cell, (at === 0 ? asked : cell).attributes || [], caption(cell)),
        el("div", { class: "others" }, asked.cells.slice(1).map((other, place) =>
          tile(other, () => focus(place + 1), { class: place + 1 === at ? "current" : "", bare: asked.kind === "cluster" }))),
        asked.cells.length > 1 ? el("p", { class: "legend-line", text: `The number on a ${run.facts.pictures ? "picture" : "sample"} is its doubt: the chance that its label is wrong.` }) : null),
      el("section", { class: "ask" },
        el("p", { class: "stage" }, stage()),
        title(cell, guess),
        el("p", { class: "why", text: at === 0 ? asked.why : "One of the pictures beside the question." }),
        guess === null || guess < 0 ? null : el("p", { class: "row" },
          button(cluster && whole ? `Yes, all ${rows.length}` : "Yes", () => answer("class", guess), { class: "primary", key: "Enter" }),
          cluster ? button(`Answer for all ${shown().length}`, () => setWhole(!whole), { class: "whole", key: "a", "aria-pressed": String(whole) }) : null),
        choices(list, guess, answer, { skip: true }),
        waiting())));
  }

  function title(cell, guess) {
    if (guess === null || guess < 0) return el("h1", { tabindex: "-1", text: "What is this?" });
    return el("h1", { tabindex: "-1" }, "Is this ", el("em", { dir: "auto", text: className(guess) }), "?");
  }

  // A file may be named after what it shows.
  const caption = (cell) => (asked.kind === "blind" && run.facts.pictures ? "The file's name is not shown in a blind check." : cell.id);

  function stage() {
    const { state } = run;
    const left = state.clusters_left;
    if (asked.kind === "blind") return `Blind check, in stage ${state.stage} of 2`;
    return state.stage === 1 ? `Stage 1 of 2: name the clusters, ${left} left` : "Stage 2 of 2: the most doubtful ones";
  }

  function waiting() {
    const { pending, refit } = run.state;
    if (refit.running || pending < 5) return null;
    return el("p", { class: "hint" }, `${pending} answers are not used yet. Press `, key("r"), " to refit: the other labels will follow.");
  }

  function finished() {
    about(null);
    view.replaceChildren(el("div", { class: "empty" }, el("h1", { text: "Nothing is left to ask" }),
      el("p", { text: `${things(run.state.counts.answered)} have an answer. Refit, look at the grid, or export.` })));
  }

  const undone = (event) => next(event.detail.question);
  window.addEventListener("undone", undone);
  await next();
  return { close: () => window.removeEventListener("undone", undone), changed: () => next() };
}
