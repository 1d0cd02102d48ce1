// All samples, sorted and filtered. Only the tiles that can be seen are in the document.
import { className, get, run, things } from "./api.js";
import { el, failed, tile } from "./dom.js";
import { about } from "./keys.js";
import { sheet } from "./inspect.js";

const PAGE = 120;
// Browsers cut off taller elements; beyond this the scroll bar is stretched.
const TALLEST = 8e6;
export const chosen = { sort: "doubt", class: "", state: "", doubt: "" };
const DOUBTS = { "": "any doubt", "0-0.1": "sure: up to 10 %", "0.1-0.5": "10 to 50 %", "0.5-1": "above 50 %" };
const STATES = { open: "no answer yet", answered: "answered", none: "none of these", skipped: "skipped", given: "labeled from the start" };
const SORTS = { doubt: "most doubtful first", sure: "surest first", class: "by class", cluster: "by cluster of the last fit", row: "in the order of the files" };

export async function open(view) {
  let total = 0;
  let pages = new Map();
  let at = -1;
  let version = 0;
  const area = el("div", { class: "scroll", tabindex: "-1" });
  const space = el("div", { class: "space" });
  const count = el("span", { class: "count", "aria-live": "polite" });
  const side = el("div", { class: "side" });
  const none = el("p", { class: "empty", hidden: true, text: "Nothing matches. Choose other filters above." });
  area.append(space, none);
  view.replaceChildren(el("div", { class: "grid" }, filters(), el("div", { class: "with-side" }, area, side)));

  function filters() {
    const pick = (name, entries, label) => el("select", { "aria-label": label, onchange: (event) => { chosen[name] = event.target.value; load(); } },
      entries.map(([value, text]) => el("option", { value, selected: String(chosen[name]) === String(value), text })));
    return el("p", { class: "filters" },
      pick("sort", Object.entries(SORTS), "Sort"),
      pick("class", [["", "every class"], ...run.facts.classes.map((name, number) => [number, name])], "Class"),
      pick("state", [["", "every state"], ...run.facts.states.map((name) => [name, STATES[name]])], "State"),
      pick("doubt", Object.entries(DOUBTS), "Doubt"), count);
  }

  const query = (start, fresh) => {
    const asked = new URLSearchParams({ start, count: PAGE, sort: chosen.sort });
    if (chosen.class !== "") asked.set("class", chosen.class);
    if (chosen.state) asked.set("state", chosen.state);
    if (chosen.doubt) [["least", 0], ["most", 1]].forEach(([name, part]) => asked.set(name, chosen.doubt.split("-")[part]));
    if (fresh) asked.set("fresh", "1");
    return `/api/rows?${asked}`;
  };

  async function load() {
    const mine = ++version;
    const first = await get(query(0, true)).catch(failed);
    if (!first || mine !== version) return;
    pages = new Map([[0, first.cells]]);
    total = first.total;
    at = -1;
    side.replaceChildren();
    about({ rows: [], move });
    count.textContent = things(total);
    none.hidden = total > 0;
    area.scrollTop = 0;
    draw();
  }

  function measures() {
    const wide = Math.max(1, area.clientWidth - 8);
    const columns = Math.max(2, Math.floor(wide / 150));
    const size = wide / columns;
    const tall = (run.facts.pictures ? size : size / 2) + 26;
    const lines = Math.ceil(total / columns);
    const real = lines * tall;
    return { columns, size, tall, lines, real, shown: Math.min(real, TALLEST) };
  }

  function draw() {
    const { columns, size, tall, lines, real, shown } = measures();
    space.style.height = `${shown}px`;
    const room = area.clientHeight;
    const top = real > shown ? (area.scrollTop / Math.max(1, shown - room)) * (real - room) : area.scrollTop;
    const from = Math.max(0, Math.floor(top / tall) - 1);
    const to = Math.min(lines, Math.ceil((top + room) / tall) + 1);
    const nodes = [];
    for (let place = from * columns; place < Math.min(total, to * columns); place++) {
      const cell = cellAt(place);
      const node = cell ? tile(cell, () => select(place), { class: place === at ? "current" : "" }) : el("span", { class: "tile waiting" });
      node.style.width = `${size - 8}px`;
      node.style.transform = `translate(${(place % columns) * size}px, ${Math.floor(place / columns) * tall - top + area.scrollTop}px)`;
      nodes.push(node);
    }
    const had = document.activeElement?.dataset?.row;
    space.replaceChildren(...nodes);
    if (had !== undefined) space.querySelector(`[data-row="${had}"]`)?.focus({ preventScroll: true });
  }

  function cellAt(place) {
    const page = Math.floor(place / PAGE);
    if (!pages.has(page)) {
      const mine = version;
      pages.set(page, null);
      get(query(page * PAGE)).then((found) => {
        if (mine !== version) return;
        pages.set(page, found.cells);
        draw();
      }).catch(failed);
    }
    return pages.get(page)?.[place % PAGE];
  }

  async function select(place) {
    const cell = cellAt(place);
    if (!cell) return;
    at = place;
    draw();
    const panel = await sheet(cell.row, "grid", after, deselect, { move, select: showOther });
    if (panel && at === place) side.replaceChildren(panel);
  }

  async function showOther(row) {
    const panel = await sheet(row, "grid", async () => { await reread(); deselect(); }, deselect, { move, select: showOther });
    if (panel) side.replaceChildren(panel);
  }

  function deselect() {
    at = -1;
    side.replaceChildren();
    about({ rows: [], move });
    draw();
  }

  // The order stays until the next choice above, so that nothing jumps under the hand.
  async function after() {
    await reread();
    select(Math.min(at + 1, total - 1));
  }

  async function reread() {
    const known = [...pages.entries()].filter(([, cells]) => cells);
    const near = known.filter(([page]) => Math.abs(page - Math.floor(Math.max(at, 0) / PAGE)) <= 1);
    for (const [page] of near) pages.set(page, (await get(query(page * PAGE))).cells);
    draw();
  }

  function move(across, down) {
    const { columns, tall, real, shown } = measures();
    const place = Math.max(0, Math.min(total - 1, at < 0 ? 0 : at + across + columns * down));
    const top = Math.floor(place / columns) * tall;
    if (real <= shown && (top < area.scrollTop || top + tall > area.scrollTop + area.clientHeight)) area.scrollTop = Math.max(0, top - tall);
    select(place);
  }

  area.addEventListener("scroll", draw, { passive: true });
  const resized = new ResizeObserver(() => draw());
  resized.observe(area);
  const undone = () => reread();
  window.addEventListener("undone", undone);
  await load();
  return { close() { resized.disconnect(); window.removeEventListener("undone", undone); }, changed: load };
}

export const titleOf = () => (chosen.class === "" ? "" : className(Number(chosen.class)));
