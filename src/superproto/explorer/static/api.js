// Requests to the server, and what the page knows about the run. Everything else is told about changes by `listen`.

export const run = { facts: null, state: null };
const listeners = new Set();

export function listen(call) {
  listeners.add(call);
  return () => listeners.delete(call);
}

async function read(response) {
  const type = response.headers.get("content-type") || "";
  const body = type.includes("json") ? await response.json() : await response.text();
  if (!response.ok) throw new Error(body.error || body || `The server answered ${response.status}.`);
  return body;
}

export async function get(path) {
  return read(await reached(fetch(path)));
}

export async function getBytes(path) {
  const response = await reached(fetch(path));
  if (!response.ok) await read(response);
  return response.arrayBuffer();
}

export async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  const found = await read(await reached(fetch(path, { method: "POST", headers, body: JSON.stringify(body) })));
  if (found && found.state) tell(found.state);
  return found;
}

export async function refresh() {
  tell(await get("/api/state"));
}

export async function begin() {
  run.facts = await get("/api/run");
  await refresh();
}

function tell(state) {
  run.state = state;
  for (const call of [...listeners]) call(state);
}

async function reached(request) {
  try {
    return await request;
  } catch {
    throw new Error("The server does not answer. Is `superproto explore` still running? All answers so far are kept.");
  }
}

export const className = (number) => (number === -2 ? "none of these" : run.facts.classes[number] ?? "");
export const percent = (share) => (share > 0 && share < 0.01 ? "<1 %" : `${Math.round(100 * share)} %`);
export const things = (count) => {
  const one = run.facts.pictures ? "picture" : "sample";
  return `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
};
