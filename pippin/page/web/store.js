// Chats in the browser's IndexedDB: one record for each chat, each message and each attached file, whose text is read
// only when it is sent. A write is stored completely or not at all.

export class StoreError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;  // "newer", "full", "failed"
  }
}

// Migrations of the database, each from one version to the next, the first from nothing. Released ones must not change.
export const kSteps = [
  (db) => {
    db.createObjectStore("chats", { keyPath: "id" });
    db.createObjectStore("messages", { keyPath: "id" }).createIndex("chat", "chat");
    db.createObjectStore("attachments", { keyPath: "id" }).createIndex("chat", "chat");
  },
];
const kKinds = ["chats", "messages", "attachments"];

let lastTime = 0;
// Milliseconds that never repeat: later records have larger ones.
export function now() {
  lastTime = Math.max(Date.now(), lastTime + 1);
  return lastTime;
}

export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

function storeError(error) {
  if (error instanceof StoreError) return error;
  if (error?.name === "QuotaExceededError") {
    return new StoreError("full", "This browser has no room left for chats: what you see is not saved.");
  }
  return new StoreError("failed", `This browser could not save the chat: ${error?.message ?? "unknown"}`);
}

// onOutdated: another tab wants to upgrade the database; this one has closed it.
export async function openStore(name = "pippin", { steps = kSteps, onOutdated = () => {} } = {}) {
  const request = indexedDB.open(name, steps.length);
  request.onupgradeneeded = ({ oldVersion }) => {
    for (const step of steps.slice(oldVersion)) step(request.result, request.transaction);
  };
  let db;
  try {
    db = await done(request);
  } catch (error) {
    if (error.name === "VersionError") {
      throw new StoreError("newer", "The chats in this browser were written by a newer version of this page.");
    }
    throw storeError(error);
  }
  db.onversionchange = () => {
    db.close();
    onOutdated();
  };
  return new Store(db);
}

export class Store {
  #db;
  constructor(db) { this.#db = db; }

  close() { this.#db.close(); }

  chats() { return this.#read("chats", (store) => store.getAll()); }
  chat(id) { return this.#read("chats", (store) => store.get(id)); }
  messages(chat) { return this.#read("messages", (store) => store.index("chat").getAll(chat)); }
  attachments(chat) { return this.#read("attachments", (store) => store.index("chat").getAll(chat)); }

  // put({ chats: [...], messages: [...] }) stores all of them or none.
  put(records) {
    return this.#write((store) => {
      for (const kind of kKinds) for (const record of records[kind] ?? []) store(kind).put(record);
    });
  }

  deleteChat(id) {
    return this.#write((store) => {
      store("chats").delete(id);
      for (const kind of ["messages", "attachments"]) {
        store(kind).index("chat").openKeyCursor(id).onsuccess = ({ target: { result: cursor } }) => {
          if (!cursor) return;
          store(kind).delete(cursor.primaryKey);
          cursor.continue();
        };
      }
    });
  }

  deleteAll() {
    return this.#write((store) => kKinds.forEach((kind) => store(kind).clear()));
  }

  // Returns the chats with a message that contains this text, ignoring case.
  async search(text) {
    const wanted = text.toLowerCase();
    const found = new Set();
    await new Promise((resolve, reject) => {
      const request = this.#db.transaction("messages").objectStore("messages").openCursor();
      request.onerror = () => reject(storeError(request.error));
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor) return resolve();
        if (!found.has(cursor.value.chat) && cursor.value.text.toLowerCase().includes(wanted)) found.add(cursor.value.chat);
        cursor.continue();
      };
    });
    return found;
  }

  async #read(kind, read) {
    try {
      return await done(read(this.#db.transaction(kind).objectStore(kind)));
    } catch (error) {
      throw storeError(error);
    }
  }

  #write(write) {
    return new Promise((resolve, reject) => {
      const fail = (error) => reject(storeError(error));
      try {
        const transaction = this.#db.transaction(kKinds, "readwrite");
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => fail(transaction.error);
        try {
          write((kind) => transaction.objectStore(kind));
        } catch (error) {
          fail(error);
          transaction.abort();
        }
      } catch (error) {
        fail(error);
      }
    });
  }
}

// Storage for a visit without IndexedDB: the same interface, forgotten at the end.
export class MemoryStore {
  #kinds = new Map(kKinds.map((kind) => [kind, new Map()]));
  #of = (kind, chat) => [...this.#kinds.get(kind).values()].filter((record) => record.chat === chat);

  close() {}
  async chats() { return [...this.#kinds.get("chats").values()]; }
  async chat(id) { return this.#kinds.get("chats").get(id); }
  async messages(chat) { return this.#of("messages", chat); }
  async attachments(chat) { return this.#of("attachments", chat); }
  async put(records) {
    for (const kind of kKinds) for (const record of records[kind] ?? []) this.#kinds.get(kind).set(record.id, record);
  }
  async deleteChat(id) {
    this.#kinds.get("chats").delete(id);
    for (const kind of ["messages", "attachments"]) this.#of(kind, id).forEach((record) => this.#kinds.get(kind).delete(record.id));
  }
  async deleteAll() { this.#kinds.forEach((records) => records.clear()); }
  async search(text) {
    const hits = [...this.#kinds.get("messages").values()].filter((message) => message.text.toLowerCase().includes(text.toLowerCase()));
    return new Set(hits.map((message) => message.chat));
  }
}
