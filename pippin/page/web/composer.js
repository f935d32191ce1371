// The message box: the text, the files, and the unsent draft, which is kept for each chat.
import { isSound } from "./dictation.js";
import { $, el, icon, later } from "./dom.js";
import { imageFile, isImage, shownFile } from "./images.js";
import { keep, kept } from "./kept.js";
import { newId } from "./store.js";

const kMaxFile = 1 << 20;
const kMaxFiles = 20;
const kLongPaste = 20_000;
const kDraft = "draft.";

export class Composer {
  #chat = "";
  #files = [];  // { id, name, size, text }; of images, `text` is a data URL, with { isImage, preview }
  #input = $("input");
  #tell;
  #hear;
  #sees;
  #keepSoon = later(250, () => this.#keep());

  // send(text, files) is called to send a message; tell(words) reports an error; hear(file) inserts the text of a file
  // of sound, and returns false if the server cannot; sees() tells whether the model takes images.
  constructor(send, tell, hear, sees) {
    this.#tell = tell;
    this.#hear = hear;
    this.#sees = sees;
    $("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      if ($("send").disabled) return;
      const text = this.#input.value.trim();
      const files = this.#files;
      this.clear();
      send(text, files);
    });
    this.#input.addEventListener("input", () => {
      this.#fit();
      this.#keepSoon();
    });
    this.#input.addEventListener("keydown", (event) => {
      // A key that completes an IME composition does not send.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      $("composer").requestSubmit();
    });
    this.#input.addEventListener("paste", (event) => this.#paste(event));
    $("file-input").addEventListener("change", ({ target }) => {
      this.attach([...target.files]);
      target.value = "";
    });
    for (const name of ["dragover", "drop"]) {
      document.addEventListener(name, (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        if (name === "drop") this.attach([...event.dataTransfer.files]);
      });
    }
    addEventListener("pagehide", () => this.#keepSoon.now());
  }

  // Replaces the content with the draft of a chat.
  open(chat) {
    this.#keepSoon.now();
    this.#chat = chat;
    this.#files = [];
    this.#input.value = kept(kDraft + chat);
    this.#fit();
    this.#showFiles();
  }
  // Moves the draft of a chat that had no id to its new id.
  rename(chat) {
    keep(kDraft + this.#chat, "");
    this.#chat = chat;
    this.#keep();
  }
  clear() {
    this.fill("");
    this.#files = [];
    this.#showFiles();
  }
  fill(text) {
    this.#input.value = text;
    this.#fit();
    this.#keep();
  }
  // Inserts a text at the cursor, or in place of the selection.
  insert(text) {
    const { value, selectionStart: start, selectionEnd: end } = this.#input;
    const before = start > 0 && !/\s/.test(value[start - 1]) ? " " : "";
    const after = end < value.length && !/\s/.test(value[end]) ? " " : "";
    this.#input.setRangeText(before + text + after, start, end, "end");
    this.#fit();
    this.#keep();
    this.focus();
  }
  focus() { this.#input.focus({ preventScroll: true }); }
  get isEmpty() { return this.#input.value === "" && this.#files.length === 0; }
  setRunning(runs) {
    $("stop").hidden = !runs;
    $("send").hidden = runs;
    this.#fit(runs);
  }
  // Called if no model can answer.
  setClosed(isClosed) {
    this.#input.disabled = isClosed;
    this.#fit();
  }
  static forget(chat) { keep(kDraft + chat, ""); }

  #fit(runs = !$("stop").hidden) {
    // Replaces field-sizing, which some browsers lack.
    this.#input.style.height = "auto";
    this.#input.style.height = this.#input.scrollHeight + "px";
    $("send").disabled = runs || this.#input.disabled || (this.#input.value.trim() === "" && this.#files.length === 0);
  }
  #keep() {
    if (!keep(kDraft + this.#chat, this.#input.value)) this.#tell("This browser could not keep the draft.");
  }

  #paste(event) {
    const files = [...event.clipboardData.files];
    const text = event.clipboardData.getData("text/plain");
    if (files.length === 0 && text.length < kLongPaste) return;
    event.preventDefault();
    this.attach(files.length > 0 ? files : [new File([text], "pasted.txt", { type: "text/plain" })]);
  }

  async attach(files) {
    for (const file of files) {
      if (isSound(file)) {
        if (!await this.#hear(file)) this.#tell(`${file.name}: the server has no model of speech, or is busy with a recording.`);
        continue;
      }
      if (this.#files.length >= kMaxFiles) return this.#tell(`${kMaxFiles} files at most.`);
      if (isImage(file)) await this.#addImage(file);
      else if (file.size > kMaxFile) this.#tell(`${file.name} has ${Math.ceil(file.size / 1024)} KB; ${kMaxFile / 1024} KB at most.`);
      else await this.#add(file);
    }
    this.#showFiles();
    this.focus();
  }
  async #add(file) {
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      if (text.includes("\0")) throw new Error();
      this.#files.push({ id: newId(), name: file.name, size: file.size, text });
    } catch {
      this.#tell(`${file.name} is not a text file (UTF-8).`);
    }
  }
  async #addImage(file) {
    if (!this.#sees()) return this.#tell(`${file.name}: this model takes no images, texts only.`);
    try {
      this.#files.push({ id: newId(), ...await imageFile(file) });
    } catch (error) {
      this.#tell(`${file.name}: ${error.message}`);
    }
  }
  #showFiles() {
    $("files").hidden = this.#files.length === 0;
    $("files").replaceChildren(...this.#files.map((file) => el("li", {}, ...shownFile(file),
      el("button", {
        type: "button", class: "icon", "aria-label": "Remove " + file.name,
        onclick: () => {
          this.#files = this.#files.filter((other) => other !== file);
          this.#showFiles();
          this.focus();
        },
      }, icon("cross")))));
    this.#fit();
  }
}
