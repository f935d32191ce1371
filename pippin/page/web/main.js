// Assembles the page: parts, buttons, keys, and the reaction to a lost server.
import * as api from "./api.js";
import { say } from "./announce.js";
import { App } from "./app.js";
import { takePicture } from "./camera.js";
import { Composer } from "./composer.js";
import { Connect } from "./connect.js";
import { Dictation } from "./dictation.js";
import { ask, banner, noBanner } from "./dialogs.js";
import { $, copyText, el } from "./dom.js";
import { editMessage } from "./editor.js";
import { keep, kept } from "./kept.js";
import { listenForKeys } from "./keys.js";
import { Models } from "./models.js";
import { Settings, setSettingsOfNewChats } from "./settings.js";
import { Sidebar } from "./sidebar.js";
import { MemoryStore, openStore } from "./store.js";
import { applyTheme, nextTheme, themeName } from "./theme.js";
import { Thread } from "./thread.js";
import { Tools } from "./tools.js";

// The demo model can only tell stories.
const kStories = ["Tell me a story about a fox called Mia.", "Tell me a story about a boat that was afraid.", "Once upon a time, there was a hare."];
const kIdeas = ["Explain how a binary search works, with code.", "Name three things to do on a rainy day.", "Tell me a story about a fox called Mia."];

applyTheme();
const store = await openStore("pippin", {
  onOutdated: () => banner("outdated", "This page was updated in another tab.", { action: ["Reload", () => location.reload()] }),
}).catch((error) => {
  banner("store", `${error.message} What you write now is not kept.`, { isBad: true });
  return new MemoryStore();
});
const sidebar = new Sidebar(store);
const tools = new Tools();
const thread = new Thread((name) => tools.find(name)?.command ?? "");
const tell = (words) => banner("told", words);
const composer = new Composer((text, files) => app.send(text, files), tell, (file) => dictation.isPossible && dictation.take(file), () => models.sees);
const dictation = new Dictation({ model: () => models.speech, insert: (text) => composer.insert(text), failed });
const models = new Models((model) => app.setSettings({ ...app.settings, model }), () => showState());
const app = new App({ store, sidebar, thread, composer, models, tools, shown: () => showState(), failed });
const connect = new Connect(models);
const settings = new Settings((changed) => app.setSettings({ ...changed, model: app.settings.model }));

// --- around the conversation ---

function showState() {
  const title = app.chat?.title ?? "New chat";
  $("title").textContent = title;
  document.title = app.chat ? `${title} · Pippin` : "Pippin";
  $("empty").hidden = app.path.length > 0;
  composer.setRunning(!!app.run);
  composer.setClosed(models.hasEncodersOnly);
  dictation.show();
  $("camera").hidden = !models.sees;
  if (!models.hasEncodersOnly) noBanner("encoders");
  else banner("encoders", models.speech ? "No model of this server answers messages: they embed and score texts, or transcribe recordings." :
    "The models of this server are encoders: they embed and score texts, and write none.", { action: ["Connect programs", () => actions.connect()] });
  showIdeas(models.chosen === "demo" ? kStories : kIdeas);
  showGauge();
  if ($("settings").open) settings.show(app.settings, models.props);
}

function showIdeas(ideas) {
  if ($("ideas").textContent === ideas.join("")) return;
  $("ideas").replaceChildren(...ideas.map((idea) => el("li", {}, el("button", { onclick: () => { composer.fill(idea); composer.focus(); } }, idea))));
}

function showGauge() {
  const usage = app.path.findLast((message) => message.usage)?.usage;
  const gauge = $("gauge");
  gauge.hidden = !usage || !models.context;
  if (gauge.hidden) return;
  const words = `${usage.total_tokens.toLocaleString("en")} of ${models.context.toLocaleString("en")} tokens of context used`;
  gauge.style.setProperty("--part", Math.min(1, usage.total_tokens / models.context));
  gauge.classList.toggle("full", usage.total_tokens > 0.9 * models.context);
  gauge.title = words;
  gauge.setAttribute("aria-label", words);
}

// --- failures ---

async function refresh() {
  await models.refresh();
  await tools.refresh();
  thread.showCalls();
}

// Null: the server was lost.
function failed(error) {
  if (error === null || error instanceof api.Unreachable) return watch();
  banner(error.kind ?? "failed", error.message, { isBad: true, action: error.kind === "full" ? ["Export", () => app.export(true)] : undefined });
}
addEventListener("unhandledrejection", ({ reason }) => failed(reason));

let watching = false;
async function watch() {
  if (watching) return;
  watching = true;
  for (let status = null; status !== "ok"; status = await api.health()) {
    banner("server", status === "loading" ? "The server loads its model." :
      "The server does not answer. Chats and drafts are kept; it is asked again every two seconds.", { isBad: status !== "loading" });
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
  watching = false;
  noBanner("server");
  say("The server answers again.");
  await refresh();
}
addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && !watching) refresh().catch(failed);
});

api.onKeyNeeded((wasWrong) => ask(wasWrong ? "The server does not know this API key. Another one:" : "The server wants an API key:",
                                  { yes: "Use", input: "", isSecret: true }));

// --- actions of buttons and keys ---

function toggleSidebar() {
  const isNarrow = matchMedia("(max-width: 50rem)").matches;
  const name = isNarrow ? "chats-open" : "chats-closed";
  const on = document.body.classList.toggle(name);
  if (!isNarrow) keep("sidebar", on ? "closed" : "");
  $("shade").hidden = !(isNarrow && on);
  const isOpen = isNarrow ? on : !on;
  (isOpen ? $("search") : $("show-chats")).focus();
}
function openChat(hash) {
  document.body.classList.remove("chats-open");
  $("shade").hidden = true;
  location.hash = hash;
}
async function showStorage() {
  const { usage } = (await navigator.storage?.estimate?.()) ?? {};
  const kept = await navigator.storage?.persisted?.();
  $("storage").textContent = usage === undefined ? "" :
    `About ${(usage / (1 << 20)).toFixed(1)} MB. ${kept ? "The browser keeps them." : "The browser may delete them when room is short."}`;
}
function editLast() {
  const last = app.path.findLast((message) => message.role === "user");
  if (last && !app.run) actions.edit({ id: last.id });
}

const actions = {
  new: () => { openChat("new"); composer.focus(); },
  sidebar: toggleSidebar,
  find: () => {
    if (!$("search").checkVisibility()) toggleSidebar();
    $("search").select();
  },
  settings: () => {
    settings.show(app.settings, models.props);
    $("key").value = api.getKey();
    showStorage();
    $("settings").showModal();
  },
  tools: () => {
    tools.show(models.props && !models.props.tools ? `${models.chosen} calls no tools: its chat template does not say how.` : "");
    $("tools").showModal();
  },
  connect: () => {
    $("connect").showModal();
    return connect.show();
  },
  allow: (call) => decide(call, "once"),
  "allow-always": (call) => decide(call, "always"),
  deny: (call) => decide(call, "deny"),
  keys: () => $("keys").showModal(),
  theme: () => {
    nextTheme();
    say("Theme: " + themeName());
  },
  dictate: () => dictation.toggle(),
  camera: () => takePicture().then((file) => file && composer.attach([file]), (error) => tell(error.message)),
  "discard-recording": () => { dictation.cancel(); composer.focus(); },
  stop: () => {
    if (dictation.cancel()) return composer.focus();
    if (!app.run) return false;
    app.stop();
    composer.focus();
  },
  "to-end": () => { thread.toEnd(); composer.focus(); },
  attach: () => $("file-input").click(),
  copy: async ({ id, button }) => { await app.copy(id); flash(button); },
  "copy-code": async ({ button }) => { await copyText(button.closest(".code").querySelector("code").textContent); flash(button); },
  again: ({ id }) => app.regenerate(id),
  continue: ({ id }) => app.continueAnswer(id),
  edit: ({ id }) => { if (!app.run) editMessage(thread.element(id), app.text(id), (text) => app.edit(id, text)); },
  previous: ({ id }) => step(id, -1, "previous"),
  next: ({ id }) => step(id, 1, "next"),
  rename: async ({ chat }) => {
    const { title } = sidebar.chats.find((other) => other.id === chat);
    const given = (await ask("A name for this chat", { yes: "Rename", input: title }))?.trim();
    if (given) await app.rename(chat, given);
  },
  delete: async ({ chat }) => {
    const { title } = sidebar.chats.find((other) => other.id === chat);
    if (!await ask(`Delete “${title}”?`, { yes: "Delete", isDanger: true })) return;
    await app.remove(chat);
    Composer.forget(chat);
  },
  "delete-current": () => (app.chat ? actions.delete({ chat: app.chat.id }) : false),
  "make-default": () => {
    const { model, ...others } = app.settings;
    setSettingsOfNewChats(others);
    tell("New chats begin with these settings.");
  },
  "reset-settings": async () => {
    await app.setSettings({ model: app.settings.model });
    settings.show(app.settings, models.props);
  },
  export: () => app.export(false),
  "export-all": () => app.export(true),
  import: () => $("import-input").click(),
  "delete-all": async () => {
    if (await ask("Delete all chats of this browser?", { yes: "Delete all", isDanger: true })) await app.removeAll();
  },
};

// The button disappears, so the focus moves to the next question, or to the message box.
function decide({ id, button }, decision) {
  const done = app.decide(id, Number(button.dataset.call), decision);
  (thread.element(id)?.querySelector(".call[data-state=asked] button:enabled") ?? $("input")).focus();
  return done;
}
function flash(button) {
  button.classList.add("done");
  say("Copied");
  setTimeout(() => button.classList.remove("done"), 1200);
}
async function step(id, by, name) {
  const other = await app.step(id, by);
  const button = thread.element(other)?.querySelector(`[data-do=${name}]`);
  (button?.disabled ? thread.element(other).querySelector(".branches button:enabled") : button)?.focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (!button || !actions[button.dataset.do]) return;
  event.preventDefault();
  actions[button.dataset.do]({ button, id: thread.idOf(button), chat: button.dataset.chat });
});
listenForKeys((name) => actions[name]({}));
$("input").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowUp" || !composer.isEmpty || event.shiftKey || event.ctrlKey) return;
  event.preventDefault();
  editLast();
});
$("key").addEventListener("change", ({ target }) => {
  api.setKey(target.value.trim());
  refresh().catch(failed);
});
$("import-input").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  target.value = "";
  try {
    const chats = await app.import(await file.text());
    $("settings").close();
    tell(`${chats.length} ${chats.length === 1 ? "chat is" : "chats are"} there now.`);
    if (chats.length > 0) openChat(chats[0].id);
  } catch (error) {
    $("settings").close();
    failed(error);
  }
});
$("chats").addEventListener("click", (event) => {
  if (event.target.closest("a")) document.body.classList.remove("chats-open");
  $("shade").hidden = !document.body.classList.contains("chats-open");
});
addEventListener("hashchange", () => app.open(location.hash.slice(1)));
addEventListener("pagehide", () => app.runs.saveAll());

document.body.classList.toggle("chats-closed", kept("sidebar") === "closed");
await sidebar.refresh();
await app.open(location.hash.slice(1));
document.body.classList.add("ready");
if (matchMedia("(pointer: fine)").matches) composer.focus();
refresh().catch(failed);
