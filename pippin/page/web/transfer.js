// Chats as a file: {"format": "pippin-chats", "version": 1, "chats": [{...chat, "messages": [...], "attachments": [...]}]}.
import { kSettled } from "./calls.js";
import { kSampling } from "./request.js";
import { newId } from "./store.js";

const kFormat = "pippin-chats";
const kVersion = 1;
const kRoles = ["user", "assistant"];

export async function exportChats(store, chats) {
  const all = [];
  for (const chat of chats) {
    all.push({ ...chat, messages: await store.messages(chat.id), attachments: await store.attachments(chat.id) });
  }
  return JSON.stringify({ format: kFormat, version: kVersion, chats: all });
}

const isText = (value) => typeof value === "string";
const isPicture = (value) => isText(value) && value.startsWith("data:image/jpeg;base64,");
const isTime = (value) => Number.isFinite(value);
const list = (value, what) => {
  if (!Array.isArray(value)) throw new Error(`${what} is not a list`);
  return value;
};

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// Returns the part of a file's content that the page itself would have written.
function settingsOf(given) {
  const settings = {};
  const take = (name, isRight) => { if (isRight(given?.[name])) settings[name] = given[name]; };
  for (const name of ["model", "system"]) take(name, isText);
  for (const { name } of kSampling) take(name, Number.isFinite);
  take("thinking", (value) => typeof value === "boolean");
  take("stop", (value) => Array.isArray(value) && value.every(isText));
  take("more", isObject);
  return settings;
}
// Calls that were not yet allowed when the file was written are not asked for again.
const callsOf = (given) => list(given, "calls").filter(isObject).map(({ id, name, arguments: words, state, output }) => ({
  id: String(id ?? ""), name: String(name ?? ""), arguments: isText(words) ? words : "{}", output: String(output ?? ""),
  state: kSettled.includes(state) ? state : "denied",
}));
const usageOf = (given) => (["prompt_tokens", "completion_tokens", "total_tokens"].every((name) => Number.isFinite(given?.[name])) ? {
  prompt_tokens: given.prompt_tokens, completion_tokens: given.completion_tokens, total_tokens: given.total_tokens,
  prompt_tokens_details: { cached_tokens: Number(given.prompt_tokens_details?.cached_tokens) || 0 },
} : undefined);

// Returns records for Store.put, under new ids: existing ones are kept. Throws an Error with the reason.
export function importChats(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error("The file is not JSON.");
  }
  if (file?.format !== kFormat) throw new Error("The file has no chats of this page.");
  if (!(file.version <= kVersion)) throw new Error(`The file is of version ${file.version}; this page reads up to ${kVersion}.`);
  const records = { chats: [], messages: [], attachments: [] };
  for (const [index, chat] of list(file.chats, "chats").entries()) {
    const wrong = (what) => { throw new Error(`Chat ${index + 1}: ${what}`); };
    const ids = new Map();
    const renamed = (id) => {
      if (!ids.has(id)) ids.set(id, newId());
      return ids.get(id);
    };
    if (!isText(chat?.title) || !isTime(chat.updated)) wrong("has no title or no time");
    const id = newId();
    for (const attachment of list(chat.attachments ?? [], "attachments")) {
      if (!isText(attachment.id) || !isText(attachment.text)) wrong("has an attachment without a text");
      records.attachments.push({ id: renamed(attachment.id), chat: id, text: attachment.text });
    }
    for (const message of list(chat.messages, "messages")) {
      if (!isText(message.id) || !isText(message.text) || !isTime(message.created) || !kRoles.includes(message.role)) {
        wrong("has a message without text, time or role");
      }
      const files = list(message.files ?? [], "files").map((given) => ({
        id: renamed(given.id), name: String(given.name), size: Number(given.size),
        ...(given.isImage === true && { isImage: true, preview: isPicture(given.preview) ? given.preview : "" }),
      }));
      const { role, text: words, created } = message;
      records.messages.push({
        id: renamed(message.id), chat: id, parent: message.parent == null ? null : renamed(message.parent),
        role, text: words, created, files, usage: usageOf(message.usage), ...(message.calls && { calls: callsOf(message.calls) }),
        thoughts: String(message.thoughts ?? ""), model: String(message.model ?? ""), finish: String(message.finish ?? ""),
      });
    }
    records.chats.push({
      id, title: chat.title, created: Number(chat.created ?? chat.updated), updated: chat.updated,
      leaf: chat.leaf ? renamed(chat.leaf) : null, settings: settingsOf(chat.settings),
    });
  }
  return records;
}
