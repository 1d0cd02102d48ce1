// Classes as cards: what was written, what was found, what it was taken to look like.
import { className, get, percent, run, things } from "./api.js";
import { button, el, failed, tiles } from "./dom.js";
import { about } from "./keys.js";
import { chosen } from "./grid.js";
import { inspect } from "./inspect.js";

export async function open(view) {
  let all = false;

  async function load() {
    about(null);
    const cards = await get("/api/classes").catch(failed);
    if (!cards) return;
    const shown = cards.filter((card) => all || card.found || !card.seen);
    const hidden = cards.length - shown.length;
    view.replaceChildren(el("div", { class: "classes" }, el("h1", { text: `${shown.length} classes` }),
      el("p", { class: "why", text: "Classes with the most labels that are probably wrong come first." }),
      el("div", { class: "cards" }, shown.map(card)),
      hidden ? button(`Show ${hidden} more classes, of which nothing was found`, () => { all = true; load(); }) : null));
  }

  function card(one) {
    const more = el("details", { ontoggle: (event) => event.target.open && more.childElementCount === 1 && detail(one, more) }, el("summary", { text: "What it was taken to look like" }));
    return el("article", { class: one.lost ? "card lost" : "card" },
      el("h2", { dir: "auto", text: className(one.class) }),
      one.description ? el("p", { class: "description", dir: "auto", text: one.description }) : null,
      one.lost ? el("p", { class: "warning", text: "The description found no cluster. All labels of this class may be wrong." }) : null,
      one.missing ? el("p", { class: "warning", text: `This class seems to be missing among the ${run.facts.pictures ? "pictures" : "samples"}.` }) : null,
      el("p", { class: "facts", text: facts(one) }),
      row("Surest", one.surest), row("Least sure", one.least), more,
      el("p", { class: "row" }, button("All in the grid", () => { chosen.class = String(one.class); chosen.state = ""; location.hash = "grid"; })));
  }

  const row = (title, cells) => (cells.length ? el("div", { class: "examples" }, el("h3", { text: title }), el("div", { class: "strip" },
    tiles(cells, (cell) => inspect(cell.row, "classes", load), { bare: true }))) : null);

  function facts(one) {
    const parts = [`${things(one.found)} found`];
    if (one.answered) parts.push(`${one.answered} answered`);
    if (one.doubt !== null) parts.push(`mean doubt ${percent(one.doubt)}`, `about ${Math.round(one.expected)} wrong`);
    parts.push(one.given ? `${one.given} examples given` : "no example was given");
    return parts.join(" · ");
  }

  async function detail(one, place) {
    const found = await get(`/api/classes/${one.class}`).catch(failed);
    if (!found) return;
    const list = (title, items) => (items.length ? el("div", {}, el("h3", { text: title }), el("ul", {}, items.map((text) => el("li", { dir: "auto", text })))) : null);
    const attributes = (items) => items.map((item) => `${item.name} (+${item.value} σ)`);
    place.append(el("div", { class: "detail" },
      found.description.length > one.description.length ? el("p", { dir: "auto", text: found.description }) : null,
      found.attributes.length ? el("p", { class: "facts", text: "σ: standard deviations above the mean of all classes." }) : null,
      list("Described as", attributes(found.attributes)), list("Taken by the model as", attributes(found.taken)),
      list("Confused with (mean chance)", found.confused.map((item) => `${className(item.class)}: ${percent(item.chance)}`)),
      list("Its super-prototypes, shared with", found.shared.map((item) => `${item.classes.map(className).join(", ")} (${percent(item.share)} of the class)`))));
  }

  const undone = () => load();
  window.addEventListener("undone", undone);
  await load();
  return { close: () => window.removeEventListener("undone", undone), changed: load };
}
