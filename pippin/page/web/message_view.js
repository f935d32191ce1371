// One message of a conversation.
import { CallViews } from "./call_view.js";
import { isSettled } from "./calls.js";
import { $, el } from "./dom.js";
import { shownFile } from "./images.js";
import { GrowingMarkdown, render } from "./markdown.js";

const kNotes = {
  length: "The answer reached its limit.",
  stopped: "Stopped.",
  lost: "The connection was lost.",
};
const count = (number) => number.toLocaleString("en");

function statsOf({ usage, timings, model }) {
  const parts = [];
  if (model) parts.push(model);
  if (usage) parts.push(`${count(usage.completion_tokens)} tokens`);
  if (timings?.predicted_per_second > 0) parts.push(`${timings.predicted_per_second.toFixed(1)} tokens/s`);
  const cached = usage?.prompt_tokens_details?.cached_tokens;
  if (usage) parts.push(`prompt ${count(usage.prompt_tokens)}${cached ? `, ${count(cached)} cached` : ""}`);
  return parts.join(" · ");
}

export class MessageView {
  #message;
  #parts;
  #grows = null;         // while the answer is written
  #thoughtsGrow = null;
  #isRendered = false;
  #calls;
  #commandOf;

  // commandOf(name): the command of a tool, if the server has it.
  constructor(message, commandOf = () => "") {
    this.#commandOf = commandOf;
    this.#message = message;
    this.element = $(message.role + "-message").content.firstElementChild.cloneNode(true);
    this.element.dataset.id = message.id;
    const find = (selector) => this.element.querySelector(selector);
    this.#parts = {
      text: find(":scope > .text"), note: find(".note"), stats: find(".stats"), wait: find(".wait"), thoughts: find(".thoughts"),
      branches: find(".branches"), which: find(".which"), again: find("[data-do=again]"), more: find("[data-do=continue]"),
    };
    this.#parts.text.textContent = message.text;
    if (message.files?.length) {
      const files = find(".attached");
      files.hidden = false;
      files.append(...message.files.map((file) => el("li", {}, ...shownFile(file))));
    }
    if (message.role !== "assistant") return;
    this.#parts.text.classList.add("plain");
    this.#calls = new CallViews(find(".calls"));
    this.#showState();
  }

  get message() { return this.#message; }
  get isRendered() { return this.#isRendered || this.#message.role === "user"; }

  // Renders a complete message. Until then its text is shown unrendered, which is fast.
  render() {
    if (this.isRendered) return;
    this.#isRendered = true;
    this.#parts.text.classList.remove("plain");
    render(this.#message.text, this.#parts.text);
    if (this.#message.thoughts) render(this.#message.thoughts, this.#parts.thoughts.lastElementChild);
  }

  // Updates the view when the answer has grown or ended.
  grow() {
    const { text, thoughts, finish } = this.#message;
    this.#isRendered = true;
    this.#parts.text.classList.remove("plain");
    this.#grows ??= new GrowingMarkdown(this.#parts.text);
    this.#grows.update(text);
    if (thoughts) {
      this.#thoughtsGrow ??= new GrowingMarkdown(this.#parts.thoughts.lastElementChild);
      this.#thoughtsGrow.update(thoughts);
    }
    if (finish !== "running") {
      this.#grows.finish();
      this.#thoughtsGrow?.finish();
      this.#grows = this.#thoughtsGrow = null;
    }
    this.#showState();
  }

  showCalls() { this.#calls?.show(this.#message.calls ?? [], this.#commandOf); }

  // Shows its position among the versions of this message.
  showBranch(index, all) {
    this.#parts.branches.hidden = all < 2;
    if (all < 2) return;
    this.#parts.which.textContent = `${index + 1} / ${all}`;
    this.element.querySelector("[data-do=previous]").disabled = index === 0;
    this.element.querySelector("[data-do=next]").disabled = index + 1 === all;
  }

  #showState() {
    const { note, stats, wait, thoughts, again, more } = this.#parts;
    const message = this.#message;
    const runs = message.finish === "running";
    this.element.classList.toggle("running", runs);
    if (runs) this.element.setAttribute("aria-busy", "true");
    else this.element.removeAttribute("aria-busy");
    again.disabled = more.disabled = runs;
    this.showCalls();
    // Settled calls wait until the model continues.
    more.hidden = message.calls?.length ? !isSettled(message) : !message.text || message.finish === "stop";
    thoughts.hidden = !message.thoughts;
    if (message.thoughts) {
      const seconds = message.thoughtSeconds;
      const summary = runs && !message.text ? "Thinking" : seconds >= 0.1 ? `Thought for ${seconds.toFixed(seconds < 10 ? 1 : 0)} s` : "Thoughts";
      if (thoughts.firstElementChild.textContent !== summary) thoughts.firstElementChild.textContent = summary;
    }
    wait.hidden = !runs || !!message.text || !!message.thoughts || !!message.calls?.length;
    if (!wait.hidden) this.#showProgress(wait);
    const words = message.error || kNotes[message.finish] || "";
    note.textContent = words;
    note.hidden = !words;
    note.classList.toggle("failed", ["failed", "lost"].includes(message.finish));
    stats.textContent = runs ? "" : statsOf(message);
  }

  #showProgress(wait) {
    const { processed, total } = this.#message.progress ?? {};
    const [words, bar] = wait.children;
    words.textContent = total ? `Reading the prompt: ${count(processed)} of ${count(total)} tokens` : "Waiting";
    bar.setAttribute("aria-label", words.textContent);
    if (total) bar.value = processed / total;
    else bar.removeAttribute("value");
  }
}
