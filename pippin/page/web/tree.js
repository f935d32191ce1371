// The messages of a chat. Editing a message or generating another answer creates a sibling: a chat is a tree, and the
// page shows the path from its root to a leaf.
export class Tree {
  #messages = new Map();
  #children = new Map();  // message id -> its children, null -> the roots; oldest first

  constructor(messages = []) {
    for (const message of messages) this.#messages.set(message.id, message);
    for (const message of [...messages].sort((a, b) => a.created - b.created)) this.#place(message);
  }

  add(message) {
    this.#messages.set(message.id, message);
    this.#place(message);
  }

  #place(message) {
    // A message without its parent is shown as a root, not lost.
    const parent = this.#messages.has(message.parent) ? message.parent : null;
    if (!this.#children.has(parent)) this.#children.set(parent, []);
    this.#children.get(parent).push(message);
  }

  get(id) { return this.#messages.get(id); }
  get size() { return this.#messages.size; }

  // Includes the message itself.
  siblings(message) {
    return this.#children.get(this.#messages.has(message.parent) ? message.parent : null) ?? [];
  }

  // Returns the path from the root. For an unknown leaf: the newest path.
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

  // Returns the newest leaf below a message; null: of the whole tree.
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
