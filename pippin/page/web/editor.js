// Edits a message in place.
import { el } from "./dom.js";

// save(text) is called with the new text, unless the user cancels or changes nothing.
export function editMessage(element, text, save) {
  if (element.querySelector(".editor")) return;
  const area = el("textarea", { "aria-label": "Edit the message", rows: "3" });
  area.value = text;
  const close = () => {
    editor.remove();
    element.classList.remove("edited");
    element.querySelector("[data-do=edit]")?.focus();
  };
  const submit = (event) => {
    event?.preventDefault();
    const words = area.value.trim();
    close();
    if (words && words !== text.trim()) save(words);
  };
  const editor = el("form", { class: "editor", onsubmit: submit }, area,
    el("p", { class: "buttons" },
      el("button", { type: "button", onclick: close }, "Cancel"),
      el("button", { class: "main" }, element.classList.contains("user") ? "Send" : "Save")));
  area.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && !event.shiftKey && element.classList.contains("user")) {
      submit(event);
    }
  });
  element.classList.add("edited");
  element.append(editor);
  area.style.height = Math.min(area.scrollHeight + 4, innerHeight * 0.6) + "px";
  area.focus();
}
