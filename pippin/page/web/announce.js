// Announcements for screen readers: answers sentence by sentence, not token by token.
import { $, later } from "./dom.js";

const kEnd = /[.!?…:;][)"'”’*_`]*\s|[。！？]|\n/g;

export function say(text) {
  const live = $("live");
  live.append(Object.assign(document.createElement("p"), { textContent: text }));
  while (live.childElementCount > 4) live.firstElementChild.remove();
  clear();
}
const clear = later(15_000, () => $("live").replaceChildren());

// Returns the end of the last complete sentence of a text.
export function sentenceEnd(text) {
  let end = 0;
  for (const match of text.matchAll(kEnd)) end = match.index + match[0].length;
  return end;
}

// An answer in progress.
export class Reading {
  #said;
  // At most one announcement every two seconds: speech is slower than text.
  #last = -Infinity;

  // `text` has been announced already.
  constructor(text = "") { this.#said = text.length; }

  update(text, isLast = false) {
    const end = isLast ? text.length : this.#said + sentenceEnd(text.slice(this.#said));
    if (end <= this.#said || (!isLast && performance.now() - this.#last < 2000)) return;
    const words = text.slice(this.#said, end).replace(/[*_`#>|]+/g, " ").replace(/\s+/g, " ").trim();
    this.#said = end;
    this.#last = performance.now();
    if (words) say(words);
  }
}
