// Tool calls in an answer: { id, name, arguments, state, output }. The arguments are the model's JSON text.
//
//   asked -> running -> done, failed, stopped
//         -> denied                            cut: the answer ended within the call
import * as api from "./api.js";

export const kSettled = ["done", "failed", "denied", "stopped", "cut"];
const kDenied = "error: the user did not allow this call";

// Adds the calls in a chunk of an answer.
export function takeCalls(message, parts) {
  message.calls ??= [];
  for (const { index = 0, id, function: told = {} } of parts) {
    const call = message.calls[index] ??= { id: "", name: "", arguments: "", state: "asked", output: "" };
    if (id) call.id = id;
    call.name += told.name ?? "";
    call.arguments += told.arguments ?? "";
  }
}

// At the end of an answer: the calls of a truncated one are incomplete.
export function endCalls(message) {
  if (message.finish === "tool_calls") return;
  for (const call of message.calls ?? []) if (call.state === "asked") call.state = "cut";
}

export const waitsForUser = (message) => !!message?.calls?.some(({ state }) => state === "asked");
export const isSettled = (message) => !!message?.calls?.length && message.calls.every(({ state }) => kSettled.includes(state));

// Returns the result of a call in the form for the model.
export function resultOf({ state, output }) {
  if (state === "done") return output;
  if (state === "failed") return `error: ${output || "the result was lost"}`;
  if (state === "stopped") return "error: the user stopped the call";
  return kDenied;
}

export function runCall({ name, arguments: given }, command, signal) {
  return api.runTool({ name, command, arguments: given || "{}" }, signal);
}

// Returns arguments for display: indented if they are valid JSON.
export function shownArguments(text) {
  try {
    return JSON.stringify(JSON.parse(text || "{}"), null, 2);
  } catch {
    return text;
  }
}
