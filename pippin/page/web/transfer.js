// Chats as a file: {"format": "pippin-chats", "version": 1, "chats": [{...chat, "messages": [...], "attachments": [...]}]}.
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
const isTime = (value) => Number.isFinite(value);
const list = (value, what) => {
  if (!Array.isArray(value)) throw new Error(`${what} is no list`);
  return value;
};

// Records for Store.put, under names of their own: what is there stays. Throws an Error that says what is wrong.
export function importChats(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error("The file is no JSON.");
  }
  if (file?.format !== kFormat) throw new Error("The file has no chats of this page.");
  if (!(file.version <= kVersion)) throw new Error(`The file is of version ${file.version}; this page reads up to ${kVersion}.`);
  const records = { chats: [], messages: [], attachments: [] };
  for (const [index, { messages, attachments, ...chat }] of list(file.chats, "chats").entries()) {
    const wrong = (what) => { throw new Error(`Chat ${index + 1}: ${what}`); };
    const ids = new Map();
    const renamed = (id) => {
      if (!ids.has(id)) ids.set(id, newId());
      return ids.get(id);
    };
    if (!isText(chat.title) || !isTime(chat.updated)) wrong("has no title or no time");
    const id = newId();
    for (const attachment of list(attachments ?? [], "attachments")) {
      if (!isText(attachment.id) || !isText(attachment.text)) wrong("has an attachment without a text");
      records.attachments.push({ id: renamed(attachment.id), chat: id, text: attachment.text });
    }
    for (const message of list(messages, "messages")) {
      if (!isText(message.id) || !isText(message.text) || !isTime(message.created) || !kRoles.includes(message.role)) {
        wrong("has a message without text, time or role");
      }
      const files = (message.files ?? []).map((given) => ({ id: renamed(given.id), name: String(given.name), size: Number(given.size) }));
      const { role, text: words, created, usage, timings } = message;
      records.messages.push({
        id: renamed(message.id), chat: id, parent: message.parent == null ? null : renamed(message.parent),
        role, text: words, created, files, usage, timings,
        thoughts: String(message.thoughts ?? ""), model: String(message.model ?? ""), finish: String(message.finish ?? ""),
      });
    }
    records.chats.push({
      id, title: chat.title, created: Number(chat.created ?? chat.updated), updated: chat.updated,
      leaf: chat.leaf ? renamed(chat.leaf) : null, settings: { ...chat.settings },
    });
  }
  return records;
}
