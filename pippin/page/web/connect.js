// Texts to paste into other programs, so that they use this server.
import * as api from "./api.js";
import { $, copyText, el, icon } from "./dom.js";
import { ColoredCode } from "./highlight.js";

const kKey = "YOUR_API_KEY";  // the real key stays in its field

export class Connect {
  #models;
  #asked = 0;

  constructor(models) {
    this.#models = models;
    $("connect-model").addEventListener("change", () => this.#showTexts());
  }

  async show() {
    const select = $("connect-model");
    const before = select.value || this.#models.chosen;
    select.replaceChildren(...this.#models.all.map((name) => el("option", { value: name }, this.#models.isEncoder(name) ? `${name} (encoder)` : name)));
    select.value = this.#models.all.includes(before) ? before : this.#models.all[0] ?? "";
    await this.#showTexts();
  }

  async #showTexts() {
    const turn = ++this.#asked;
    const model = $("connect-model").value;
    const clients = await api.clients(model, new URL(".", location.href).href, api.getKey() ? kKey : "");
    if (turn !== this.#asked) return;
    const fits = clients.filter((client) => client.for_encoders === this.#models.isEncoder(model));
    $("connect-clients").replaceChildren(...fits.map((client) => this.#view(client)));
  }

  #view({ title, place, language, text }) {
    const code = el("code");
    new ColoredCode(code, language).update(text);
    const copy = el("button", { type: "button", class: "icon", "aria-label": `Copy for ${title}`, title: "Copy", "data-do": "copy-code" }, icon("copy"));
    return el("details", { name: "client" }, el("summary", {}, title),
      el("div", { class: "code" }, el("div", { class: "code-head" }, el("span", {}, place), copy), el("pre", { tabindex: "0", "aria-label": title }, code)));
  }
}
