// Answers in progress, at most one for each chat. They continue while another chat is open.
import * as api from "./api.js";
import { endCalls, runCall, takeCalls } from "./calls.js";
import { bodyOf } from "./request.js";

const kSaveEvery = 2000;  // milliseconds, while an answer is written

export class Runs {
  #runs = new Map();  // chat id -> { message, control }
  #save;
  #changed;

  // save(message) keeps it; changed(message) shows it.
  constructor(save, changed) {
    this.#save = save;
    this.#changed = changed;
  }

  of(chat) { return this.#runs.get(chat); }
  get size() { return this.#runs.size; }
  stop(chat) { this.#runs.get(chat)?.control.abort(); }
  // For a deleted chat: nothing of it is saved any more.
  drop(chat) {
    const run = this.#runs.get(chat);
    if (!run) return;
    run.isDropped = true;
    run.control.abort();
  }
  // Saves unfinished answers as lost when the page is closed.
  saveAll() { for (const { message } of this.#runs.values()) this.#save({ ...message, finish: "lost" }); }

  #begin(message) {
    const run = { message, control: new AbortController(), isDropped: false };
    this.#runs.set(message.chat, run);
    return run;
  }
  #end(run) {
    this.#runs.delete(run.message.chat);
    if (run.isDropped) return;
    this.#save(run.message);
    this.#changed(run.message);
  }

  // Runs a call that was allowed.
  async call(message, call, command) {
    const run = this.#begin(message);
    const state = call.state = "running";
    try {
      this.#save(message);
      this.#changed(message);
      call.output = await runCall(call, command, run.control.signal);
      call.state = "done";
    } catch (error) {
      call.state = run.control.signal.aborted ? "stopped" : "failed";
      call.output = call.state === "failed" ? error.message : "";
    } finally {
      if (call.state === state) call.state = "failed";
      this.#end(run);
    }
  }

  // Fills `message` with the model's answer to `path`, continuing its text if it has one. `tools()` returns the tools
  // that the model may call at that time.
  async start(settings, path, message, texts, tools) {
    const run = this.#begin(message);
    const { control } = run;
    Object.assign(message, { finish: "running", error: "", usage: undefined, timings: undefined, progress: undefined });
    let saved = performance.now();
    try {
      this.#changed(message);
      for await (const chunk of api.chat(bodyOf(settings, path, texts, await tools()), control.signal)) {
        if (!take(chunk, message)) continue;
        this.#changed(message);
        if (performance.now() - saved < kSaveEvery) continue;
        saved = performance.now();
        message.savedAt = Date.now();
        this.#save(message);
      }
    } catch (error) {
      if (control.signal.aborted) {
        message.finish = "stopped";
      } else {
        message.finish = error instanceof api.Unreachable ? "lost" : "failed";
        message.error = error.message;
      }
    } finally {
      if (message.finish === "running") message.finish = "stop";
      delete message.progress;
      endCalls(message);
      this.#end(run);
    }
  }
}

// Returns whether a chunk changed the message.
function take(chunk, message) {
  if (chunk.model) message.model = chunk.model;
  if (chunk.usage) Object.assign(message, { usage: chunk.usage, timings: chunk.timings });
  if (chunk.prompt_progress) message.progress = chunk.prompt_progress;
  const choice = chunk.choices?.[0];
  if (!choice) return !!chunk.usage;
  const { content, reasoning_content: thought } = choice.delta;
  if (thought) {
    message.thoughtSince ??= Date.now();
    message.thoughts += thought;
  }
  if (content) {
    if (message.thoughtSince) message.thoughtSeconds = (Date.now() - message.thoughtSince) / 1000;
    delete message.thoughtSince;
    message.text += content;
  }
  const calls = choice.delta.tool_calls;
  if (calls) takeCalls(message, calls);
  if (choice.finish_reason) message.finish = choice.finish_reason;
  return !!(content || thought || calls || choice.finish_reason || chunk.prompt_progress);
}
