// A tool call in an answer: its arguments, its buttons, and its result. All of it is shown as text.
import { shownArguments } from "./calls.js";
import { el } from "./dom.js";

const kStates = {
  asked: "wants to run", running: "runs", done: "ran", failed: "failed", denied: "not allowed", stopped: "stopped", cut: "not complete, not run",
};

function buttons(index, isBusy) {
  const make = (action, words, kind) => el("button", { type: "button", class: kind, "data-do": action, "data-call": index, disabled: isBusy }, words);
  return el("p", { class: "buttons" }, make("allow", "Allow once", "main"), make("allow-always", "Always allow"), make("deny", "Deny"));
}

// `command`: the tool's command, if the server has it. `isBusy`: another call runs.
function viewOf(call, index, command, isBusy) {
  const view = el("section", { class: "call", "data-state": call.state, "aria-label": `Call of ${call.name}` },
    el("p", { class: "call-head" }, el("strong", {}, call.name), el("span", {}, kStates[call.state] ?? call.state)));
  if (command && call.state === "asked") view.append(el("pre", { class: "command", tabindex: "0", "aria-label": "Command" }, command));
  view.append(el("pre", { tabindex: "0", "aria-label": "Arguments" }, shownArguments(call.arguments)));
  if (call.state === "asked") view.append(buttons(index, isBusy));
  if (call.output) {
    view.append(el("details", {}, el("summary", {}, call.state === "failed" ? "Error" : "Result"),
      el("pre", { tabindex: "0", "aria-label": "Result" }, call.output)));
  }
  return view;
}

// Shows the calls in `target`. Unchanged elements are kept, with their focus and open details.
export class CallViews {
  #shown = [];
  #target;

  constructor(target) { this.#target = target; }

  show(calls, commandOf) {
    this.#target.hidden = calls.length === 0;
    const isBusy = calls.some(({ state }) => state === "running");
    calls.forEach((call, index) => {
      const command = commandOf(call.name);
      const key = JSON.stringify([call, command, isBusy]);
      if (this.#shown[index] === key) return;
      this.#shown[index] = key;
      const view = viewOf(call, index, command, isBusy);
      const old = this.#target.children[index];
      if (old) old.replaceWith(view);
      else this.#target.append(view);
    });
  }
}
