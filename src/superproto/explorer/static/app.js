// The frame of the page: views by address, the line of state, refits, exports.
import { begin, listen, post, refresh, run, things } from "./api.js";
import { button, dialog, el, failed, note } from "./dom.js";
import { about, help, listenToKeys, undo } from "./keys.js";
import * as changes from "./changes.js";
import * as classes from "./classes.js";
import * as grid from "./grid.js";
import * as map from "./map.js";
import * as questions from "./questions.js";

const VIEWS = { questions, grid, map, classes, changes };
const at = (id) => document.getElementById(id);
let opened = null;
let turn = 0;

async function show() {
  const name = location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "questions";
  const mine = ++turn;
  opened?.close();
  opened = null;
  about(null);
  at("dialog").close();
  for (const link of document.querySelectorAll("nav a")) link.setAttribute("aria-current", link.hash === `#${name}` ? "page" : "false");
  at("view").replaceChildren(el("p", { class: "empty", text: "…" }));
  try {
    const view = await VIEWS[name].open(at("view"));
    if (mine === turn) opened = view;
    else view.close();
  } catch (error) {
    failed(error);
  }
}

function showState(state) {
  const wrong = Math.round(state.wrong);
  const said = state.refit.running ? `Refit: step ${state.refit.step} of ${state.refit.of || "…"}`
    : `About ${wrong.toLocaleString("en")} of ${state.of.toLocaleString("en")} labels are probably still wrong`;
  const checked = state.blind ? `${state.blind_wrong} of ${state.blind} blind checks of sure labels were wrong` : "No blind check yet";
  Object.assign(at("status"), { textContent: said, title: `${checked}. Model ${state.fit}, ${state.questions} questions answered.` });
  at("status").classList.toggle("running", state.refit.running);
  at("refit").firstChild.textContent = state.pending ? `Refit (${state.pending})` : "Refit";
  at("refit").disabled = state.refit.running;
  at("refit").classList.toggle("primary", state.pending >= 5);
}

async function refit() {
  if (!run.state.pending) return note("There are no new answers to refit with.");
  try {
    const found = await post("/api/refit");
    if (!found.started) note("A refit is under way.");
    watch(run.state.fit);
  } catch (error) {
    failed(error);
  }
}

// Ask how far the refit is, while the page stays usable.
function watch(before) {
  const timer = setInterval(async () => {
    try {
      await refresh();
    } catch (error) {
      clearInterval(timer);
      return failed(error);
    }
    if (run.state.refit.running) return;
    clearInterval(timer);
    if (run.state.refit.error) return note(run.state.refit.error, "error");
    if (run.state.fit !== before) {
      note("The refit is done. Press d to see what changed.");
      opened?.changed();
    }
  }, 400);
}

const FORMATS = [["csv", "CSV: id, label, doubt, who said it"], ["parquet", "Parquet: the same"], ["label-studio", "Label Studio JSON"], ["fiftyone", "FiftyOne JSON"], ["events", "Events: every answer, to merge with another person's"]];

function exportDialog() {
  const result = el("p", { class: "why", role: "status" });
  const link = async (dry) => {
    const found = await post("/api/link-folder", { dry_run: dry }).catch(failed);
    if (!found) return;
    result.textContent = dry ? `${things(found.links)} of ${found.classes} classes would be linked into ${found.folder}, in the folder of the run.` : `Linked ${things(found.links)} into ${found.folder}, in the folder of the run.`;
    if (dry) result.append(" ", button("Make the links", () => link(false)));
  };
  const format = ([name, text]) => el("li", {}, name === "parquet" && !run.facts.parquet ? "Parquet needs a package: pip install 'superproto[frames]'"
    : el("a", { href: `/api/export/${name}`, download: "", text }));
  dialog("Export", el("ul", { class: "exports" }, FORMATS.map(format)),
    run.facts.pictures ? el("p", { class: "row" }, button("Folders of links, one for each class: count first", () => link(true))) : null, result);
}

async function start() {
  listen(showState);
  await begin();
  document.title = `${run.facts.name} · superproto`;
  at("name").textContent = run.facts.name;
  document.body.classList.toggle("no-pictures", !run.facts.pictures);
  at("undo").addEventListener("click", undo);
  at("refit").addEventListener("click", refit);
  at("export").addEventListener("click", exportDialog);
  at("help").addEventListener("click", help);
  listenToKeys({ r: refit, e: exportDialog });
  window.addEventListener("hashchange", show);
  if (run.state.refit.running) watch(run.state.fit);
  await show();
}

start().catch(failed);
