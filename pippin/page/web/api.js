// Requests to the server that this page came from. Paths are relative: the server may be behind a proxy's prefix.
import { keep, kept } from "./kept.js";
import { eventsOf } from "./sse.js";

export class ApiError extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
// The server was not reached, or the connection broke.
export class Unreachable extends Error {}

let key = kept("key");
let askForKey = async () => null;

export const getKey = () => key;
export function setKey(given) {
  key = given;
  keep("key", key);
}
// `ask` is called if the server requires a key; it returns one, or null to give up.
export const onKeyNeeded = (ask) => { askForKey = ask; };

let asking = null;  // several requests may need the same key
async function send(path, { body, signal } = {}) {
  const isForm = body instanceof FormData;
  for (;;) {
    let response;
    try {
      response = await fetch(path, {
        method: body ? "POST" : "GET",
        // The browser writes the type of a form, with its boundary.
        headers: { ...(key && { authorization: "Bearer " + key }), ...(body && !isForm && { "content-type": "application/json" }) },
        body: isForm ? body : body && JSON.stringify(body),
        signal,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Unreachable("The server does not answer.");
    }
    if (response.ok) return response;
    const text = await response.text().catch(() => "");
    let error = {};
    try {
      error = JSON.parse(text).error ?? {};
    } catch { /* not the server's own answer: a proxy's */ }
    if (response.status === 401) {
      asking ??= askForKey(key !== "").finally(() => { asking = null; });
      const given = await asking;
      if (given) {
        setKey(given);
        continue;
      }
    }
    if ([502, 504].includes(response.status)) throw new Unreachable("The server does not answer.");
    throw new ApiError(response.status, error.message ?? `The server answered ${response.status}.`, error.code);
  }
}

export const getJson = async (path) => (await send(path)).json();
export const models = async () => (await getJson("v1/models")).data;
// The tools of the server, each in the form of a request, with its command.
export const tools = async () => (await getJson("tools")).data;
// Returns the output of a call. Sends the command that the user allowed: the server refuses any other.
export const runTool = async (body, signal) => (await (await send("tools/run", { body, signal })).json()).output;
// Returns texts that configure other programs for this server and a model.
export const clients = async (model, url, keyName) =>
  (await getJson("clients?" + new URLSearchParams({ model, url, key: keyName }))).data;
// Returns the capabilities of a model that is not loaded.
export const capabilities = async (model) => (await (await send("api/show", { body: { model } })).json()).capabilities;
export const props = (model) => getJson("props?model=" + encodeURIComponent(model));

// Returns the text of a recording, a Blob of a file of sound.
export async function transcribe(file, name, model, signal) {
  const body = new FormData();
  body.append("model", model);
  body.append("file", file, name);
  return (await (await send("v1/audio/transcriptions", { body, signal })).json()).text.trim();
}

// Returns "ok", "loading" or "stopping"; null without an answer.
export async function health() {
  try {
    return (await (await fetch("health", { cache: "no-store" })).json()).status ?? null;
  } catch {
    return null;
  }
}

// Yields the chunks of an answer. Ends early only by throwing.
export async function* chat(body, signal) {
  const response = await send("v1/chat/completions", { body, signal });
  try {
    for await (const data of eventsOf(response.body)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ApiError(chunk.error.status ?? 500, chunk.error.message, chunk.error.code);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
  }
  throw new Unreachable("The connection was lost.");
}
