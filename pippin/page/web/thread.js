// The conversation: the path of messages that is shown. It follows the end of the text until the user scrolls away.
import { $ } from "./dom.js";
import { MessageView } from "./message_view.js";

const kAtOnce = 12;  // messages that are rendered before the first frame
const kSlice = 8;  // milliseconds of rendering between two frames
const kNear = 48;          // pixels from the end that count as the end
const kCalm = 3;  // rendering new text may take 1/kCalm of the time

export class Thread {
  #views = new Map();      // message id -> its view
  #thread = $("thread");
  #list = $("messages");
  #follows = true;
  #top = 0;  // the last scroll position, whatever caused it
  #isHeld = false;
  #frame = 0;
  #grown = new Set();  // views whose messages changed since the last frame
  #restUntil = 0;
  #rendering = 0;
  #commandOf;

  // commandOf(name): the command of a tool of the server.
  constructor(commandOf) {
    this.#commandOf = commandOf;
    // Only scrolling by the user ends the following, not scrolling caused by growing content.
    const leave = () => this.#canScroll() && this.#setFollows(false);
    this.#thread.addEventListener("wheel", ({ deltaY }) => deltaY < 0 && leave(), { passive: true });
    this.#thread.addEventListener("keydown", ({ key }) => ["PageUp", "ArrowUp", "Home"].includes(key) && leave());
    // Nothing moves under a finger, a held scroll bar, or a selection.
    this.#thread.addEventListener("pointerdown", () => { this.#isHeld = true; });
    for (const event of ["pointerup", "pointercancel", "touchend", "touchcancel"]) {
      addEventListener(event, () => {
        if (!this.#isHeld) return;
        this.#isHeld = event === "pointercancel";  // a touch that scrolls: touchend comes later
        requestAnimationFrame(() => this.#setFollows(this.#isAtEnd()));
      }, { passive: true });
    }
    // Only scrolling down returns to the end: the first frames of a smooth scroll away from it are still near.
    this.#thread.addEventListener("scroll", () => {
      const isDown = this.#thread.scrollTop > this.#top;
      this.#top = this.#thread.scrollTop;
      if (isDown && !this.#isHeld && this.#isAtEnd()) this.#setFollows(true);
    }, { passive: true });
    new ResizeObserver(() => this.#follow()).observe(this.#list);
    new ResizeObserver(() => this.#follow()).observe(this.#thread);
  }

  // Shows a path; `branch(message)` returns [position, count] among its versions.
  show(path, branch, isNew) {
    if (isNew) {
      this.#list.replaceChildren();
      this.#views.clear();
      this.#grown.clear();
      this.#setFollows(true);
    }
    // Elements in their places are kept: moving them would lay them out again.
    let next = this.#list.firstElementChild;
    for (const message of path) {
      let view = this.#views.get(message.id);
      if (!view) this.#views.set(message.id, view = new MessageView(message, this.#commandOf));
      view.showBranch(...branch(message));
      if (view.element === next) next = next.nextElementSibling;
      else this.#list.insertBefore(view.element, next);
    }
    while (next) {
      const gone = next;
      next = next.nextElementSibling;
      gone.remove();
    }
    const waiting = path.filter((message) => message.finish !== "running").map((message) => this.#views.get(message.id));
    for (const view of waiting.splice(-kAtOnce)) view.render();
    this.#renderRest(waiting.filter((view) => !view.isRendered));
    this.#follow();
  }

  // Renders from the end upwards, between frames.
  #renderRest(views) {
    const mine = ++this.#rendering;
    const slice = () => {
      const end = performance.now() + kSlice;
      while (views.length > 0 && performance.now() < end) views.pop().render();
      if (views.length > 0 && mine === this.#rendering) setTimeout(slice);
    };
    setTimeout(slice);
  }

  // Discards the views of messages for which `hasChanged` returns true; they are made anew.
  forgetChanged(hasChanged) {
    for (const [id, view] of this.#views) if (hasChanged(view.message)) this.#views.delete(id);
  }

  // The tools of the server have changed.
  showCalls() { for (const view of this.#views.values()) view.showCalls(); }

  // Returns the message that an element belongs to.
  idOf(element) { return element.closest(".message")?.dataset.id; }
  element(id) { return this.#views.get(id)?.element; }

  // The text of a message has changed; the next frame shows it.
  grow(message) {
    const view = this.#views.get(message.id);
    if (!view) return;
    if (message.finish !== "running") {
      this.#grown.delete(view);
      return this.#show(view);
    }
    this.#grown.add(view);
    this.#frame ||= requestAnimationFrame(() => this.#showGrown());
  }

  #showGrown() {
    this.#frame = 0;
    const start = performance.now();
    if (start < this.#restUntil) {
      this.#frame = requestAnimationFrame(() => this.#showGrown());
      return;
    }
    for (const view of this.#grown) this.#show(view);
    this.#grown.clear();
    this.#restUntil = start + (performance.now() - start) * kCalm;
  }

  #show(view) {
    view.grow();
    this.#follow();
  }

  #canScroll() { return this.#thread.scrollHeight > this.#thread.clientHeight; }
  #isAtEnd() { return this.#thread.scrollHeight - this.#thread.scrollTop - this.#thread.clientHeight < kNear; }
  #setFollows(follows) {
    this.#follows = follows;
    $("to-end").hidden = follows;
  }
  #follow() {
    if (!this.#follows || this.#isHeld) return;
    this.#thread.scrollTop = this.#thread.scrollHeight;
    this.#top = this.#thread.scrollTop;
  }
  toEnd() {
    this.#setFollows(true);
    this.#follow();
  }
}
