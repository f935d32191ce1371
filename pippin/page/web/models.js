// The models of the server: their names and states, and the model of the current chat.
import * as api from "./api.js";
import { $, el } from "./dom.js";

const kEncoders = "Encoders: for embeddings and scores, not to chat with";
const kSpeech = "Speech: for the text of recordings, not to chat with";
const kStates = { absent: "not loaded", loading: "loading", ready: "ready", failed: "cannot be loaded" };

export class Models {
  #models = [];
  #props = new Map();
  #capabilities = new Map();  // of models that are not loaded; null: requested, or unknown
  #wanted = "";  // the name in the chat
  #chosen = "";  // that model, or the first one
  #timer = 0;
  #changed;

  // choose(name): the user chose another model. changed(): more about the models is known.
  constructor(choose, changed) {
    this.#changed = changed;
    $("model").addEventListener("change", ({ target }) => {
      this.select(target.value);
      choose(target.value);
      this.load();
    });
  }

  get chosen() { return this.#chosen; }
  get context() { return this.#find()?.context_length ?? 0; }
  // Defaults and template of the chosen model, if known.
  get props() { return this.#props.get(this.#chosen) ?? null; }
  // Names, including those of encoders, in the server's order.
  get all() { return this.#models.map(({ id }) => id); }
  #find() { return this.#models.find((model) => model.id === this.#chosen); }

  // Capabilities of a model; null: unknown yet.
  #can(name) {
    return this.#models.find(({ id }) => id === name)?.capabilities ?? this.#capabilities.get(name) ?? null;
  }
  // Whether a model generates no answers: it embeds or scores texts, or transcribes recordings.
  isEncoder(name) {
    const can = this.#can(name);
    return !!can && !can.includes("completion");
  }
  #hears(name) { return !!this.#can(name)?.includes("transcription"); }
  // The name of the first model that transcribes recordings, or "".
  get speech() { return this.all.find((name) => this.#hears(name)) ?? ""; }
  // Whether the chosen model takes images.
  get sees() { return !!this.#can(this.#chosen)?.includes("vision"); }
  get hasEncodersOnly() { return this.#models.length > 0 && this.#chosen === ""; }

  // If the model is gone or cannot chat, chooses the first one that can.
  select(name) {
    this.#wanted = name;
    const can = this.#models.filter((model) => !this.isEncoder(model.id)).map(({ id }) => id);
    this.#chosen = can.includes(name) ? name : can[0] ?? "";
    this.#show();
    this.#learn();
  }

  async refresh() {
    clearTimeout(this.#timer);
    this.#models = await api.models();
    this.select(this.#wanted);
    this.#learnCapabilities();
    if (this.#models.some((model) => model.state === "loading")) this.#soon();
  }
  async #learnCapabilities() {
    for (const { id, capabilities } of this.#models) {
      if (capabilities || this.#capabilities.has(id)) continue;
      this.#capabilities.set(id, null);
      try {
        this.#capabilities.set(id, await api.capabilities(id));
        if (this.isEncoder(id)) this.select(this.#wanted);
      } catch { /* a model that is not on the server's machine yet */ }
    }
  }
  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh().catch(() => {}), 500);
  }

  // Returns whether a model calls tools. Loads the model.
  async callsTools(name) {
    if (!this.#props.has(name)) this.#props.set(name, await api.props(name));
    return !!this.#props.get(name).tools;
  }

  // Requesting its defaults loads a model.
  async load() {
    const name = this.#chosen;
    this.#soon();
    try {
      this.#props.set(name, await api.props(name));
    } catch (error) {
      if (!(error instanceof api.ApiError)) throw error;
    }
    await this.refresh();
  }
  async #learn() {
    if (this.#find()?.state === "ready" && !this.props) {
      try {
        this.#props.set(this.#chosen, await api.props(this.#chosen));
      } catch { /* they stay unknown */ }
    }
    this.#changed();
  }

  #show() {
    const select = $("model");
    const option = (model, isOff) => el("option", { value: model.id, disabled: isOff },
      model.id + (model.state === "ready" ? "" : ` (${kStates[model.state] ?? model.state})`));
    select.replaceChildren(...this.#models.filter(({ id }) => !this.isEncoder(id)).map((model) => option(model, false)));
    for (const [label, hears] of [[kEncoders, false], [kSpeech, true]]) {
      const others = this.#models.filter(({ id }) => this.isEncoder(id) && this.#hears(id) === hears);
      if (others.length > 0) select.append(el("optgroup", { label }, ...others.map((model) => option(model, true))));
    }
    select.value = this.#chosen;
    const model = this.#find();
    const state = $("model-state");
    state.hidden = !model;
    state.dataset.state = model?.state ?? "";
    const words = model ? `${model.id}: ${kStates[model.state] ?? model.state}${model.error ? ": " + model.error : ""}` : "";
    state.setAttribute("aria-label", words);
    state.title = words;
  }
}
