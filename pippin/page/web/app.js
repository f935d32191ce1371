// The open chat and the actions on it. Every change is saved at once.
import { Reading, say } from "./announce.js";
import { isSettled, waitsForUser } from "./calls.js";
import { copyText, download } from "./dom.js";
import { Runs } from "./runs.js";
import { settingsOfNewChats } from "./settings.js";
import { newId, now } from "./store.js";
import { exportChats, importChats } from "./transfer.js";
import { Tree } from "./tree.js";

const kAlive = 6000;  // milliseconds: a tab saves the answer that it writes more often
const kTitle = 60;
const kMostRounds = 32;  // of consecutive calls, until the user continues
function titleOf(text, files) {
  const line = (text || files[0]?.name || "New chat").trim().split("\n")[0];
  return line.length > kTitle ? line.slice(0, kTitle - 1).trimEnd() + "…" : line;
}

function newMessage(chat, role, parent, more = {}) {
  return { id: newId(), chat: chat.id, parent: parent?.id ?? null, role, text: "", thoughts: "", created: now(), ...more };
}

export class App {
  chat = null;          // its record; null: a new one, which is stored with its first message
  settings = settingsOfNewChats();
  #tree = new Tree();
  #opening = 0;
  #readings = new Map();  // message id -> the text that was read aloud
  #channel = "BroadcastChannel" in window ? new BroadcastChannel("pippin") : null;
  #parts;

  // parts: store, thread, sidebar, composer, models, tools; shown() after each change, failed(error, again).
  constructor(parts) {
    this.#parts = parts;
    this.runs = new Runs((message) => this.#save({ messages: [message] }), (message) => this.#grow(message));
    this.#channel?.addEventListener("message", ({ data }) => this.#changedElsewhere(data));
  }

  get path() { return this.#tree.path(this.chat?.leaf); }
  get run() { return this.chat && this.runs.of(this.chat.id); }

  async open(id) {
    const turn = ++this.#opening;
    const chat = (id && await this.#parts.store.chat(id)) ?? null;
    const tree = await this.#treeOf(chat);
    if (turn !== this.#opening) return;
    this.chat = chat || null;
    this.settings = chat?.settings ?? settingsOfNewChats();
    this.#tree = tree;
    this.#parts.composer.open(chat?.id ?? "");
    this.#parts.models.select(this.settings.model ?? this.#parts.models.chosen);
    this.#parts.sidebar.setCurrent(chat?.id ?? null);
    this.#show(true);
  }

  async #treeOf(chat) {
    if (!chat) return new Tree();
    const mine = this.runs.of(chat.id)?.message;
    const messages = await this.#parts.store.messages(chat.id);
    for (const message of messages) {
      for (const call of message.id === mine?.id ? [] : message.calls ?? []) {
        if (call.state === "running") Object.assign(call, { state: "failed", output: "The page was left before the result came." });
      }
      if (message.finish !== "running" || message.id === mine?.id) continue;
      // Another tab is writing it, or was until it was closed.
      const age = Date.now() - (message.savedAt ?? message.created);
      if (age > kAlive) message.finish = "lost";
      else setTimeout(() => this.#changedElsewhere(chat.id), kAlive - age + 100);
    }
    return new Tree(messages.filter((message) => message.id !== mine?.id).concat(mine ?? []));
  }

  #show(isNew = false) {
    const branch = (message) => {
      const siblings = this.#tree.siblings(message);
      return [siblings.indexOf(message), siblings.length];
    };
    this.#parts.thread.show(this.path, branch, isNew);
    this.#parts.shown();
  }

  async #save(records) {
    try {
      await this.#parts.store.put(records);
      const chat = (records.chats ?? records.messages)[0];
      this.#channel?.postMessage(chat.chat ?? chat.id);
    } catch (error) {
      this.#parts.failed(error);
    }
  }
  async #saveChat(records = {}) {
    this.chat.updated = now();
    await this.#save({ ...records, chats: [this.chat] });
    await this.#parts.sidebar.refresh();
  }

  async #changedElsewhere(id) {
    await this.#parts.sidebar.refresh();
    if (this.chat?.id !== id || this.run) return;
    const chat = await this.#parts.store.chat(id);
    if (!chat) return this.open(null);
    const tree = await this.#treeOf(chat);
    if (this.chat?.id !== id || this.run) return;
    this.#parts.thread.forgetChanged((old) => {
      const message = tree.get(old.id);
      return message?.text !== old.text || message.thoughts !== old.thoughts || message.finish !== old.finish ||
        JSON.stringify(message.calls) !== JSON.stringify(old.calls);
    });
    this.chat = chat;
    this.settings = chat.settings;
    this.#tree = tree;
    this.#show();
  }

  #grow(message) {
    const isOver = message.finish !== "running";
    if (this.chat?.id === message.chat) {
      this.#parts.thread.grow(message);
      if (!this.#readings.has(message.id)) this.#readings.set(message.id, new Reading(message.text));
      this.#readings.get(message.id).update(message.text, isOver);
      if (isOver && message.error) say(message.error);
      if (isOver) this.#show();
    }
    if (isOver) {
      this.#readings.delete(message.id);
      if (message.finish === "lost") this.#parts.failed(null);
    }
  }

  #message(role, parent, more) {
    const message = newMessage(this.chat, role, parent, more);
    this.#tree.add(message);
    this.chat.leaf = message.id;
    return message;
  }

  async send(text, files) {
    if (!this.chat) {
      this.settings.model = this.#parts.models.chosen;
      this.chat = { id: newId(), title: titleOf(text, files), created: now(), updated: now(), leaf: null, settings: this.settings };
      this.#parts.composer.rename(this.chat.id);
      this.#parts.sidebar.setCurrent(this.chat.id);
      history.replaceState(null, "", "#" + this.chat.id);
      navigator.storage?.persist?.().catch(() => {});
    }
    const { id: chat } = this.chat;
    this.#denyRest(this.path.at(-1));
    const message = this.#message("user", this.path.at(-1), { text, files: files.map(({ text: _, ...file }) => file) });
    this.#saveChat({ messages: [message], attachments: files.map(({ id, text: words }) => ({ id, chat, text: words })) });
    this.#parts.thread.toEnd();
    await this.#answer(message, files);
  }

  // Generates another answer to a message of the user, or to one whose calls are settled.
  async #answer(question, files) {
    const answer = this.#message("assistant", question, { model: this.settings.model });
    await this.#start(this.#tree.path(question.id), answer, files);
  }
  async #start(path, answer, files = [], chat = this.chat) {
    if (this.runs.of(chat.id)) return;
    const texts = new Map(files.map((file) => [file.id, file.text]));
    if (path.some((message) => message.files?.some((file) => !texts.has(file.id)))) {
      for (const { id, text } of await this.#parts.store.attachments(chat.id)) texts.set(id, text);
    }
    // Uses the model that the page shows: the chat's own may be gone.
    const settings = { ...chat.settings };
    if (chat === this.chat) settings.model = this.#parts.models.chosen || settings.model;
    const run = this.runs.start(settings, path, answer, texts, () => this.#callable(settings.model));
    chat.updated = now();
    this.#save({ messages: [answer], chats: [chat] }).then(() => this.#parts.sidebar.refresh());
    this.#show();
    await run;
    await this.#settle(answer);
  }

  // Returns the tools that the model may call, in the form of a request.
  async #callable(model) {
    const { tools, models } = this.#parts;
    const { definitions } = tools;
    return definitions.length > 0 && await models.callsTools(model) ? definitions : [];
  }

  // Runs the calls of an answer that need no question. When all are settled, the model continues, even in a chat that
  // is not open.
  async #settle(message) {
    if (message.finish !== "tool_calls") return;
    for (const call of message.calls ?? []) {
      if (call.state !== "asked") continue;
      const tool = this.#parts.tools.find(call.name);
      if (tool && this.#parts.tools.use(tool) !== "always") continue;
      await this.#run(message, call, tool);
      if (call.state === "stopped") return this.#denyRest(message);
    }
    if (waitsForUser(message) && this.chat?.id === message.chat) say("The model wants to run a tool. Allow it?");
    if (!isSettled(message)) return;
    const isShown = this.chat?.id === message.chat;
    const chat = isShown ? this.chat : await this.#parts.store.chat(message.chat);
    if (!chat) return;  // deleted meanwhile
    const tree = isShown ? this.#tree : await this.#treeOf(chat);
    const path = tree.path(message.id);
    const rounds = path.length - 1 - path.findLastIndex((one) => one.role === "user");
    if (rounds >= kMostRounds) return;
    const answer = newMessage(chat, "assistant", message, { model: chat.settings.model });
    tree.add(answer);
    chat.leaf = answer.id;
    await this.#start(path, answer, [], chat);
  }
  async #run(message, call, tool) {
    if (tool) return this.runs.call(message, call, tool.command);
    Object.assign(call, { state: "failed", output: `unknown tool ${call.name}` });
    this.#changedCalls(message);
  }
  #denyRest(message) {
    if (!waitsForUser(message)) return;
    for (const call of message.calls) if (call.state === "asked") call.state = "denied";
    this.#changedCalls(message);
  }
  #changedCalls(message) {
    this.#save({ messages: [message] });
    this.#grow(message);
  }

  // Applies the user's decision on a call: "once", "always" or "deny".
  async decide(id, index, decision) {
    const message = this.#tree.get(id);
    const call = message?.calls?.[index];
    if (call?.state !== "asked" || this.run) return;
    const tool = this.#parts.tools.find(call.name);
    if (decision === "deny") {
      call.state = "denied";
      this.#changedCalls(message);
    } else {
      if (decision === "always" && tool) this.#parts.tools.setUse(tool, "always");
      await this.#run(message, call, tool);
      if (call.state === "stopped") return this.#denyRest(message);
    }
    await this.#settle(message);
  }

  async regenerate(id) {
    const old = this.#tree.get(id);
    await this.#answer(this.#tree.get(old.parent));
  }
  async continueAnswer(id) {
    const answer = this.#tree.get(id);
    if (isSettled(answer)) return this.#answer(answer);
    await this.#start(this.#tree.path(id), answer);
  }
  // The edited message is a separate version: it is another question, with its own answer.
  async edit(id, text) {
    const { role, parent, files, model } = this.#tree.get(id);
    const message = this.#message(role, this.#tree.get(parent), { text, files, model, finish: "edited" });
    this.#saveChat({ messages: [message] });
    if (role === "user") return this.#answer(message);
    this.#show();
  }
  async step(id, by) {
    const message = this.#tree.get(id);
    const siblings = this.#tree.siblings(message);
    const other = siblings[siblings.indexOf(message) + by];
    if (!other || this.run) return;
    this.chat.leaf = this.#tree.leafOf(other).id;
    this.#show();
    await this.#save({ chats: [this.chat] });
    return other.id;
  }

  text(id) { return this.#tree.get(id).text; }
  copy(id) { return copyText(this.text(id)); }
  stop() { if (this.chat) this.runs.stop(this.chat.id); }

  async setSettings(settings) {
    this.settings = settings;
    if (!this.chat) return;
    this.chat.settings = settings;
    await this.#save({ chats: [this.chat] });
  }

  async rename(id, title) {
    const chat = this.chat?.id === id ? this.chat : await this.#parts.store.chat(id);
    chat.title = title;
    await this.#save({ chats: [chat] });
    await this.#parts.sidebar.refresh();
    this.#parts.shown();
  }
  async remove(id) {
    this.runs.drop(id);
    await this.#parts.store.deleteChat(id);
    await this.#parts.sidebar.refresh();
    this.#channel?.postMessage(id);
    if (this.chat?.id === id) location.hash = "new";
  }
  async removeAll() {
    for (const chat of this.#parts.sidebar.chats) this.runs.drop(chat.id);
    await this.#parts.store.deleteAll();
    await this.#parts.sidebar.refresh();
    this.#channel?.postMessage(this.chat?.id ?? "");
    location.hash = "new";
  }

  async export(all) {
    const chats = all ? this.#parts.sidebar.chats : [this.chat].filter(Boolean);
    const name = all ? "pippin-chats" : "pippin-chat";
    download(`${name}-${new Date().toISOString().slice(0, 10)}.json`, await exportChats(this.#parts.store, chats));
  }
  async import(text) {
    const records = importChats(text);
    await this.#parts.store.put(records);
    await this.#parts.sidebar.refresh();
    this.#channel?.postMessage("");
    return records.chats;
  }
}
