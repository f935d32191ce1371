// Calls of tools in an answer: { id, name, arguments, state, output }. The arguments are the model's, a text of JSON.
//
//   asked -> running -> done, failed, stopped
//         -> denied                            cut: the answer ended within the call
import * as api from "./api.js";

export const kSettled = ["done", "failed", "denied", "stopped", "cut"];
const kDenied = "error: the user did not allow this call";

// Takes what a chunk of an answer says of its calls.
export function takeCalls(message, parts) {
  message.calls ??= [];
  for (const { index = 0, id, function: told = {} } of parts) {
    const call = message.calls[index] ??= { id: "", name: "", arguments: "", state: "asked", output: "" };
    if (id) call.id = id;
    call.name += told.name ?? "";
    call.arguments += told.arguments ?? "";
  }
}

// At the end of an answer: one that was cut off has calls that are not whole.
export function endCalls(message) {
  if (message.finish === "tool_calls") return;
  for (const call of message.calls ?? []) if (call.state === "asked") call.state = "cut";
}

export const waitsForUser = (message) => !!message?.calls?.some(({ state }) => state === "asked");
export const isSettled = (message) => !!message?.calls?.length && message.calls.every(({ state }) => kSettled.includes(state));

// The result of a call as the model reads it.
export function resultOf({ state, output }) {
  if (state === "done") return output;
  if (state === "failed") return `error: ${output || "the result was lost"}`;
  if (state === "stopped") return "error: the user stopped the call";
  return kDenied;
}

export function runCall({ name, arguments: given }, command, signal) {
  return api.runTool({ name, command, arguments: given || "{}" }, signal);
}

// Arguments for people: indented where they are JSON.
export function shownArguments(text) {
  try {
    return JSON.stringify(JSON.parse(text || "{}"), null, 2);
  } catch {
    return text;
  }
}
