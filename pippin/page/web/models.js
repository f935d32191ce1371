// The models of the server: which there are, what state they are in, and which one a chat asks.
import * as api from "./api.js";
import { $, el } from "./dom.js";

const kStates = { absent: "not loaded", loading: "loading", ready: "ready", failed: "cannot be loaded" };

export class Models {
  #models = [];
  #props = new Map();
  #wanted = "";   // what the chat names
  #chosen = "";   // that, or the first
  #timer = 0;
  #changed;

  // choose(name): somebody chose another one. changed(): something about them is known now.
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
  // Defaults and template of the chosen model, where they are known.
  get props() { return this.#props.get(this.#chosen) ?? null; }
  #find() { return this.#models.find((model) => model.id === this.#chosen); }

  // A model that is not there any more leaves the first.
  select(name) {
    this.#wanted = name;
    this.#chosen = this.#models.some((model) => model.id === name) ? name : this.#models[0]?.id ?? "";
    this.#show();
    this.#learn();
  }

  async refresh() {
    clearTimeout(this.#timer);
    this.#models = await api.models();
    this.select(this.#wanted);
    if (this.#models.some((model) => model.state === "loading")) this.#soon();
  }
  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh().catch(() => {}), 500);
  }

  // Asking for its defaults loads a model.
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
    select.replaceChildren(...this.#models.map((model) => el("option", { value: model.id },
      model.id + (model.state === "ready" ? "" : ` (${kStates[model.state] ?? model.state})`))));
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
