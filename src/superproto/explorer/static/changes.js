// What the last refit changed, and why; it can be taken back.
import { className, get, percent, post, run, things } from "./api.js";
import { button, el, failed, note, tiles } from "./dom.js";
import { about } from "./keys.js";
import { inspect } from "./inspect.js";

export async function open(view) {
  async function load() {
    about(null);
    const found = await get("/api/changes").catch(failed);
    view.replaceChildren(found ? page(found) : el("div", { class: "empty" }, el("h1", { text: "No refit yet" }),
      el("p", { text: "Answer some questions, then press r. What changed will be listed here, and can be taken back." })));
  }

  function page(found) {
    return el("div", { class: "changes" },
      el("h1", { text: `${things(found.changed)} got another label` }),
      el("p", { class: "why", text: `Refit ${run.state.fit} used ${found.answers} new ${found.answers === 1 ? "answer" : "answers"}. Of the ${run.state.of.toLocaleString("en")} labels without an answer about ${Math.round(run.state.wrong).toLocaleString("en")} are probably still wrong.` }),
      run.state.refit.notes?.map((line) => el("p", { class: "hint", dir: "auto", text: line })),
      el("p", { class: "row" }, button("Take this refit back", takeBack)),
      el("div", { class: "groups" }, found.groups.map(group)));
  }

  function group(one) {
    const because = one.answered ? `${one.answered === 1 ? "You gave one answer" : `You gave ${one.answered} answers`} with the new name.`
      : "You gave no answer with the new name. Answers about other classes led to it.";
    return el("section", { class: "group" },
      el("h2", {}, el("span", { dir: "auto", text: className(one.old) }), " → ", el("span", { dir: "auto", text: className(one.new) }),
        el("small", { text: ` ${things(one.count)}, mean doubt ${percent(one.doubt[0])} → ${percent(one.doubt[1])}` })),
      el("p", { class: "why", text: because }),
      el("div", { class: "strip" }, tiles(one.cells, (cell) => inspect(cell.row, "changes", load), { bare: true }),
        one.count > one.cells.length ? el("span", { class: "more", text: `+ ${one.count - one.cells.length}` }) : null));
  }

  async function takeBack() {
    const found = await post("/api/take-back").catch(failed);
    if (!found) return;
    note("The refit was taken back. Your answers stay.");
    load();
  }

  await load();
  return { close() {}, changed: load };
}
