// One sample in a panel: large, with its likeliest classes and the most similar samples.
import { className, get, percent } from "./api.js";
import { button, choices, el, failed, figure, tiles } from "./dom.js";
import { about, answer } from "./keys.js";

export async function sheet(row, source, done, close, more = {}) {
  const found = await get(`/api/rows/${row}`).catch(failed);
  if (!found) return null;
  const guess = found.label;
  about({ rows: [row], choices: found.choices, guess, source, after: done, ...more });
  const state = { open: `doubt ${percent(found.doubt)}`, answered: "your answer", none: "your answer", skipped: "skipped", given: "given label" }[found.state];
  return el("aside", { class: "sheet", "aria-label": "Picture" },
    el("p", { class: "row end" }, button("×", close, { class: "plain", "aria-label": "Close" })),
    figure(found, found.attributes),
    el("h2", {}, el("span", { dir: "auto", text: className(guess) }), el("small", { text: ` ${state}` })),
    guess >= 0 && found.state === "open" ? el("p", { class: "row" }, button("Yes", () => answer("class", guess), { class: "primary", key: "Enter" })) : null,
    choices(found.choices, guess, answer, {}),
    el("h3", { text: "Most similar" }),
    el("div", { class: "others" }, tiles(found.neighbors, (cell) => more.select?.(cell.row))));
}

// The same over any view.
export async function inspect(row, source, changed) {
  document.querySelector(".sheet.over")?.remove();
  const close = () => { document.querySelector(".sheet.over")?.remove(); about(null); };
  const panel = await sheet(row, source, async () => { close(); await changed(); }, close, { select: (other) => inspect(other, source, changed) });
  if (!panel) return;
  panel.classList.add("over");
  document.getElementById("view").append(panel);
}
