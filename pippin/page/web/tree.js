// The messages of a chat. Whoever edits a message or asks for another answer gets a sibling of it: a chat is a tree, and
// what one sees is the path from its root to a leaf.
export class Tree {
  #messages = new Map();
  #children = new Map();  // of a message's id, of null the roots; oldest first

  constructor(messages = []) {
    for (const message of messages) this.#messages.set(message.id, message);
    for (const message of [...messages].sort((a, b) => a.created - b.created)) this.#place(message);
  }

  add(message) {
    this.#messages.set(message.id, message);
    this.#place(message);
  }

  #place(message) {
    // What lost its parent is shown rather than lost.
    const parent = this.#messages.has(message.parent) ? message.parent : null;
    if (!this.#children.has(parent)) this.#children.set(parent, []);
    this.#children.get(parent).push(message);
  }

  get(id) { return this.#messages.get(id); }
  get size() { return this.#messages.size; }

  // With the message itself.
  siblings(message) {
    return this.#children.get(this.#messages.has(message.parent) ? message.parent : null) ?? [];
  }

  // From the root on. An unknown leaf: the newest path.
  path(leaf) {
    let message = this.#messages.get(leaf) ?? this.leafOf(null);
    const path = [];
    const seen = new Set();
    while (message && !seen.has(message.id)) {
      seen.add(message.id);
      path.push(message);
      message = this.#messages.get(message.parent);
    }
    return path.reverse();
  }

  // The newest leaf below a message; null: of all.
  leafOf(message) {
    const seen = new Set([message?.id]);
    for (;;) {
      const next = this.#children.get(message?.id ?? null)?.at(-1);
      if (!next || seen.has(next.id)) return message;
      seen.add(next.id);
      message = next;
    }
  }
}
