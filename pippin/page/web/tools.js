// The tools of the server, and the user's choice for each: ask before each call, run always, or off. A choice holds for
// the command that the user saw: another command under the same name is asked for again.
import * as api from "./api.js";
import { $, el } from "./dom.js";
import { keep, kept } from "./kept.js";

const kUses = [["ask", "Ask each time"], ["always", "Always allow"], ["off", "Off"]];

function keptUses() {
  try {
    return JSON.parse(kept("tools")) ?? {};
  } catch {
    return {};
  }
}

export class Tools {
  #tools = [];  // { name, description, command, definition }

  async refresh() {
    try {
      this.#tools = (await api.tools()).map(({ type, function: told, command }) => ({
        name: told.name, description: told.description, command, definition: { type, function: told } }));
    } catch (error) {
      if (!(error instanceof api.ApiError)) throw error;
      this.#tools = [];  // a server without tools
    }
    $("show-tools").hidden = this.#tools.length === 0;
  }

  get isEmpty() { return this.#tools.length === 0; }
  find(name) { return this.#tools.find((tool) => tool.name === name); }
  // Returns the tools that are not off, in the form of a request.
  get definitions() { return this.#tools.filter((tool) => this.use(tool) !== "off").map((tool) => tool.definition); }

  use({ name, command }) {
    const uses = keptUses();
    const one = Object.hasOwn(uses, name) ? uses[name] : null;
    return one?.command === command && kUses.some(([use]) => use === one.use) ? one.use : "ask";
  }
  setUse({ name, command }, use) {
    const uses = keptUses();
    delete uses[name];
    if (use !== "ask") uses[name] = { command, use };
    keep("tools", Object.keys(uses).length > 0 ? JSON.stringify(uses) : "");
  }

  // Fills the dialog. `note`: the reason why the model will not call tools, or nothing.
  show(note) {
    $("tools-note").textContent = note;
    $("tools-note").hidden = !note;
    $("tool-list").replaceChildren(...this.#tools.map((tool) => {
      const select = el("select", { "aria-label": `Calls of ${tool.name}`, onchange: ({ target }) => this.setUse(tool, target.value) },
        ...kUses.map(([value, words]) => el("option", { value }, words)));
      select.value = this.use(tool);
      const isOwn = tool.description && tool.description !== `Runs: ${tool.command}`;
      return el("li", {}, el("div", { class: "tool-head" }, el("strong", {}, tool.name), select),
        ...(isOwn ? [el("p", {}, tool.description)] : []), el("code", {}, tool.command));
    }));
  }
}
