// A map of all samples: pan, zoom, click, lasso. What was circled is shown first, and only what is shown can be answered.
import { className, getBytes, post, run, things } from "./api.js";
import { button, doubtStep, el, failed, note, tile } from "./dom.js";
import { about, answer } from "./keys.js";
import { inspect } from "./inspect.js";
import { painter } from "./points.js";

const SHOWN = 25;
const RAMP = [[38, 118, 96], [88, 150, 84], [196, 168, 60], [217, 120, 50], [192, 52, 48]];
const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;

export async function open(view) {
  const canvas = el("canvas", { "aria-label": "Map of all samples; the grid has the same samples as a list", role: "img" });
  const rope = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polygon");
  rope.append(line);
  rope.setAttribute("class", "rope");
  const side = el("div", { class: "side" });
  const lassoButton = button("Lasso", () => setLasso(!lasso), { key: "l", "aria-pressed": "false" });
  const mark = el("select", { "aria-label": "Highlight a class", onchange: paint }, el("option", { value: "", text: "color by doubt" }),
    run.facts.classes.map((name, number) => el("option", { value: number, text: name })));
  const legend = el("span", { class: "legend", role: "img", "aria-label": "Green is sure, red is doubtful" }, "sure", RAMP.map((_, step) => el("i", { class: `d${step}` })), "doubtful");
  view.replaceChildren(el("div", { class: "map" }, el("p", { class: "filters" }, lassoButton, button("+", () => zoom(1.5), { "aria-label": "Zoom in" }),
    button("−", () => zoom(1 / 1.5), { "aria-label": "Zoom out" }), button("Whole map", () => { Object.assign(see, { x: 0, y: 0, zoom: 1 }); draw(); }), mark, legend),
    el("div", { class: "with-side" }, el("div", { class: "sea" }, canvas, rope), side)));

  const places = new Float32Array(await getBytes("/api/map/points"));
  const number = places.length / 2;
  const brush = painter(canvas, places);
  canvas.dataset.kind = brush.kind;
  const see = { x: 0, y: 0, zoom: 1, sx: 1, sy: 1, ratio: 1 };
  let lasso = false;
  let path = null;
  let labels, doubt, states;
  let picked = [];
  // Circled ones that the next answer is not about.
  const leftOut = new Set();

  async function load() {
    const bytes = await getBytes("/api/map/colors");
    labels = new Int32Array(bytes.slice(0, 4 * number));
    doubt = new Uint8Array(bytes, 4 * number, number);
    states = new Uint8Array(bytes, 5 * number, number);
    paint();
  }

  function paint() {
    const rgba = new Uint8Array(4 * number);
    const size = new Float32Array(number);
    const only = mark.value === "" ? null : Number(mark.value);
    const given = run.facts.states.indexOf("given");
    const base = number > 50000 ? 3 : number > 5000 ? 5 : 8;
    const circled = new Set(picked);
    for (let i = 0; i < number; i++) {
      const faint = states[i] === given || (only !== null && labels[i] !== only);
      const ink = faint ? (dark() ? [96, 104, 112] : [176, 182, 190]) : RAMP[doubtStep(doubt[i] / 255)];
      const told = states[i] === 1 || states[i] === 2;
      rgba.set(circled.has(i) ? [48, 110, 220, 255] : told ? (dark() ? [250, 250, 250, 255] : [20, 24, 28, 255]) : [...ink, faint ? 90 : 215], 4 * i);
      size[i] = circled.has(i) || told ? base + 2 : faint ? base - 1 : base;
    }
    brush.color(rgba, size);
    draw();
  }

  function draw() {
    const box = canvas.getBoundingClientRect();
    if (!box.width) return;
    see.ratio = window.devicePixelRatio || 1;
    const [wide, tall] = [Math.round(box.width * see.ratio), Math.round(box.height * see.ratio)];
    if (canvas.width !== wide || canvas.height !== tall) Object.assign(canvas, { width: wide, height: tall });
    const least = Math.min(wide, tall);
    see.sx = (see.zoom * least * 0.96) / wide;
    see.sy = (see.zoom * least * 0.96) / tall;
    brush.draw(see);
  }

  const toMap = (event) => {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width * 2 - 1) / see.sx + see.x, (1 - (event.clientY - box.top) / box.height * 2) / see.sy + see.y];
  };

  function zoom(by, at = [see.x, see.y]) {
    const next = Math.max(0.5, Math.min(200, see.zoom * by));
    const kept = see.zoom / next;
    see.x = at[0] + (see.x - at[0]) * kept;
    see.y = at[1] + (see.y - at[1]) * kept;
    see.zoom = next;
    draw();
  }

  function setLasso(on) {
    lasso = on;
    lassoButton.setAttribute("aria-pressed", String(on));
    canvas.classList.toggle("lasso", on);
  }

  const fingers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    if (fingers.size === 1) path = lasso || event.shiftKey ? [event] : null;
    canvas.dataset.moved = "";
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    if (Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY) < 2) return;
    canvas.dataset.moved = "yes";
    fingers.set(event.pointerId, event);
    if (path) return drawRope(event);
    if (fingers.size === 2) return pinch(event, before);
    const [now, then] = [toMap(event), toMap(before)];
    see.x -= now[0] - then[0];
    see.y -= now[1] - then[1];
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    fingers.delete(event.pointerId);
    if (path && path.length > 2) circle(path.map(toMap));
    else if (!canvas.dataset.moved) click(event);
    path = null;
    line.setAttribute("points", "");
  });
  canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 400), toMap(event)); }, { passive: false });

  function drawRope(event) {
    path.push(event);
    const box = canvas.getBoundingClientRect();
    line.setAttribute("points", path.map((one) => `${one.clientX - box.left},${one.clientY - box.top}`).join(" "));
  }

  function pinch(event, before) {
    const other = [...fingers.values()].find((one) => one.pointerId !== event.pointerId);
    const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
    zoom(apart(event) / Math.max(1, apart(before)), toMap(other));
  }

  function click(event) {
    const [x, y] = toMap(event);
    let best = -1;
    let nearest = Infinity;
    for (let i = 0; i < number; i++) {
      const far = ((places[2 * i] - x) * see.sx) ** 2 + ((places[2 * i + 1] - y) * see.sy) ** 2;
      if (far < nearest) [best, nearest] = [i, far];
    }
    if (best >= 0 && nearest < 0.003) inspect(best, "map", load);
  }

  function circle(border) {
    const given = run.facts.states.indexOf("given");
    picked = [];
    for (let i = 0; i < number; i++) if (states[i] !== given && inside(places[2 * i], places[2 * i + 1], border)) picked.push(i);
    leftOut.clear();
    picked.sort((a, b) => doubt[b] - doubt[a]);
    if (!picked.length) note("No point was circled.");
    setLasso(false);
    paint();
    showPicked();
  }

  async function showPicked() {
    const rows = picked.slice(0, SHOWN).filter((row) => !leftOut.has(row));
    about({ rows: [], lasso: () => setLasso(!lasso) });
    if (!picked.length) return side.replaceChildren();
    const cells = await post("/api/samples", { rows: picked.slice(0, SHOWN) }).catch(failed);
    if (!cells) return;
    const counts = new Map();
    for (const cell of cells.filter((one) => !leftOut.has(one.row))) counts.set(cell.label, (counts.get(cell.label) || 0) + 1);
    const common = [...counts].filter(([label]) => label >= 0).sort((a, b) => b[1] - a[1]).slice(0, 5);
    const list = common.map(([label]) => ({ class: label, chance: null }));
    about({ rows, choices: list, guess: null, source: "map", lasso: () => setLasso(!lasso), after: async (found) => {
      note(`${things(found.answered)} answered. u takes it back.`);
      picked = picked.slice(SHOWN);
      leftOut.clear();
      await load();
      showPicked();
    } });
    side.replaceChildren(el("aside", { class: "sheet", "aria-label": "Circled pictures" },
      el("p", { class: "row end" }, button("×", () => { picked = []; paint(); showPicked(); }, { class: "plain", "aria-label": "Close" })),
      el("h2", { text: `${things(picked.length)} circled` }),
      el("p", { class: "why", text: `The answer is about the ${rows.length} that are marked. Click one to leave it out.${picked.length > SHOWN ? " The others come next." : ""}` }),
      el("p", { class: "row bulk" }, common.map(([label, count], place) => button(`${className(label)} (${count})`, () => answer("class", label), { key: String(place + 1), dir: "auto", title: `${things(count)} of these have this label now` })),
        button("Another class", () => answer("search"), { key: "/" }), button("None of these", () => answer("none"), { key: "0" })),
      el("div", { class: "others picked" }, cells.map((cell) => {
        const node = tile(cell, () => leaveOut(cell.row), { bare: true, class: leftOut.has(cell.row) ? "out" : "current" });
        node.setAttribute("aria-pressed", String(!leftOut.has(cell.row)));
        return node;
      }))));
  }

  async function leaveOut(row) {
    if (!leftOut.delete(row)) leftOut.add(row);
    await showPicked();
    side.querySelector(`[data-row="${row}"]`)?.focus();
  }

  const resized = new ResizeObserver(draw);
  resized.observe(canvas);
  const changed = async () => { await load(); if (picked.length) showPicked(); };
  window.addEventListener("undone", changed);
  about({ rows: [], lasso: () => setLasso(!lasso) });
  await load();
  return { close() { resized.disconnect(); window.removeEventListener("undone", changed); }, changed };
}

export function inside(x, y, border) {
  let found = false;
  for (let i = 0, j = border.length - 1; i < border.length; j = i++) {
    const [[xi, yi], [xj, yj]] = [border[i], border[j]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) found = !found;
  }
  return found;
}
