// Keyboard shortcuts, and the list of them.
import { $, el } from "./dom.js";

// Key, whether with Ctrl (on a Mac Command), and its action.
export const kKeys = [
  { keys: ["Ctrl", "Shift", "O"], does: "new", words: "New chat" },
  { keys: ["Ctrl", "K"], does: "find", words: "Search the chats" },
  { keys: ["Ctrl", "B"], does: "sidebar", words: "Show or hide the chats" },
  { keys: ["Ctrl", ","], does: "settings", words: "Settings" },
  { keys: ["Ctrl", "/"], does: "keys", words: "This list" },
  { keys: ["Ctrl", "Shift", "Backspace"], does: "delete-current", words: "Delete the chat" },
  { keys: ["Esc"], does: "stop", words: "Stop the answer, or discard a recording" },
  { keys: ["Enter"], words: "Send" },
  { keys: ["Shift", "Enter"], words: "New line" },
  { keys: ["↑"], words: "Edit the last message, where nothing is written yet" },
];

export function listenForKeys(act) {
  $("keys").querySelector("dl").append(...kKeys.flatMap(({ keys, words }) => [
    el("dt", {}, ...keys.map((key) => el("kbd", {}, key))), el("dd", {}, words)]));
  document.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const name = event.key === "Escape" ? "esc" : event.key.toLowerCase();
    const found = kKeys.find(({ keys, does }) => does && keys.at(-1).toLowerCase() === name &&
      keys.includes("Ctrl") === (event.ctrlKey || event.metaKey) && keys.includes("Shift") === event.shiftKey);
    if (!found || event.altKey || document.querySelector("dialog[open]")) return;
    if (act(found.does) !== false) event.preventDefault();
  });
}
