// Settings of a chat, which are sent with each of its requests. Empty fields use the model's defaults.
import { $, el } from "./dom.js";
import { keep, kept } from "./kept.js";
import { kSampling } from "./request.js";

export function settingsOfNewChats() {
  try {
    return JSON.parse(kept("settings"));
  } catch {
    return {};
  }
}
export const setSettingsOfNewChats = (settings) => keep("settings", JSON.stringify(settings));

export class Settings {
  #settings = {};
  #fields = new Map();
  #thinking;

  // changed(settings) is called after every change.
  constructor(changed) {
    for (const { name, label, min, max, step } of kSampling) {
      const input = el("input", { type: "number", min, max, step: "any", "data-step": step, id: "set-" + name });
      this.#fields.set(name, input);
      $("sampling").append(el("label", {}, label, input));
    }
    this.#thinking = el("select", { id: "set-thinking" }, ...[["", "as the model does"], ["true", "yes"], ["false", "no"]].map(
      ([value, words]) => el("option", { value }, words)));
    $("sampling").append(el("label", {}, "Thinks first", this.#thinking));
    $("settings").addEventListener("input", ({ target }) => {
      if (target.closest("#sampling") || ["system", "stop-texts", "more-fields"].includes(target.id)) {
        this.#read();
        changed(this.#settings);
      }
    });
  }

  // Shows the settings, with the defaults of a model, `props`, if they are known.
  show(settings, props) {
    this.#settings = settings;
    const params = props?.default_generation_settings?.params;
    for (const { name, of } of kSampling) {
      const input = this.#fields.get(name);
      if (document.activeElement !== input) input.value = settings[name] ?? "";
      const value = params && of(params);
      input.placeholder = typeof value === "number" ? String(Number(value.toPrecision(4))) : value ?? "";
    }
    this.#thinking.value = settings.thinking ?? "";
    this.#thinking.parentElement.hidden = settings.thinking === undefined && !props?.thinking_switch;
    const fill = (id, text) => { if (document.activeElement !== $(id)) $(id).value = text; };
    fill("system", settings.system ?? "");
    fill("stop-texts", (settings.stop ?? []).join("\n"));
    fill("more-fields", settings.more ? JSON.stringify(settings.more) : "");
    $("more-fields").setCustomValidity("");
  }

  #read() {
    const settings = { model: this.#settings.model };
    if ($("system").value.trim()) settings.system = $("system").value;
    for (const [name, input] of this.#fields) {
      if (input.value !== "" && input.checkValidity()) settings[name] = input.valueAsNumber;
    }
    if (this.#thinking.value) settings.thinking = this.#thinking.value === "true";
    const stop = $("stop-texts").value.split("\n").filter((line) => line !== "");
    if (stop.length > 0) settings.stop = stop;
    const more = $("more-fields");
    more.setCustomValidity("");
    try {
      const fields = more.value.trim() ? JSON.parse(more.value) : undefined;
      if (fields !== undefined && (typeof fields !== "object" || fields === null || Array.isArray(fields))) throw new Error();
      if (fields) settings.more = fields;
    } catch {
      more.setCustomValidity("This is not a JSON object.");
    }
    this.#settings = settings;
  }
}
