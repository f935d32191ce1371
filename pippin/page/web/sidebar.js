// The list of chats: grouped by day, with search, renaming and deletion.
import { $, el, icon, later } from "./dom.js";

const kDay = 86_400_000;
function groupOf(time, today) {
  if (time >= today) return "Today";
  if (time >= today - kDay) return "Yesterday";
  if (time >= today - 7 * kDay) return "Last week";
  return new Date(time).toLocaleDateString("en", { month: "long", year: "numeric" });
}

export class Sidebar {
  #store;
  #chats = [];
  #current = null;
  #found = null;  // ids of the matches during a search

  constructor(store) {
    this.#store = store;
    const search = later(150, () => this.#search());
    $("search").addEventListener("input", search);
    $("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") $("chats").querySelector("a")?.click();
    });
  }

  get chats() { return this.#chats; }

  async refresh() {
    this.#chats = (await this.#store.chats()).sort((a, b) => b.updated - a.updated);
    this.#show();
  }

  // Shows a new or changed chat; null: no chat is open.
  setCurrent(chat) {
    this.#current = chat;
    this.#show();
  }

  async #search() {
    const text = $("search").value.trim();
    this.#found = null;
    if (text) {
      const found = await this.#store.search(text);
      if (text !== $("search").value.trim()) return;
      for (const chat of this.#chats) if (chat.title.toLowerCase().includes(text.toLowerCase())) found.add(chat.id);
      this.#found = found;
    }
    this.#show();
  }

  #show() {
    const today = new Date().setHours(0, 0, 0, 0);
    const chats = this.#found ? this.#chats.filter((chat) => this.#found.has(chat.id)) : this.#chats;
    const parts = [];
    let group = "";
    let list;
    for (const chat of chats) {
      if (groupOf(chat.updated, today) !== group) {
        group = groupOf(chat.updated, today);
        list = el("ul", { "aria-label": group });
        parts.push(el("h2", {}, group), list);
      }
      const button = (name, words, symbol) =>
        el("button", { class: "icon", "data-do": name, "data-chat": chat.id, "aria-label": `${words} ${chat.title}`, title: words }, icon(symbol));
      list.append(el("li", {},
        el("a", { href: "#" + chat.id, "aria-current": chat.id === this.#current && "page" }, chat.title),
        button("rename", "Rename", "edit"), button("delete", "Delete", "bin")));
    }
    if (chats.length === 0) parts.push(el("p", { class: "none" }, this.#found ? "Nothing found" : "No chats yet"));
    const focused = document.activeElement;
    const [wanted, what] = [focused?.dataset?.chat, focused?.dataset?.do];
    $("chats").replaceChildren(...parts);
    if (wanted) $("chats").querySelector(`[data-chat="${wanted}"][data-do="${what}"]`)?.focus();
  }
}
