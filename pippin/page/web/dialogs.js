// Questions and messages of the page. Banners stay until they are closed or no longer true.
import { $, el, icon } from "./dom.js";

// ask("Delete?", { yes: "Delete" }): true or false. With `input`: a text or null. One question at a time.
let last = Promise.resolve();
export function ask(words, options) {
  const answer = last.then(() => askNow(words, options));
  last = answer.catch(() => {});
  return answer;
}
function askNow(words, { yes = "OK", input, isSecret = false, isDanger = false } = {}) {
  const dialog = $("question");
  const field = $("question-input");
  $("question-text").textContent = words;
  $("question-yes").textContent = yes;
  $("question-yes").classList.toggle("danger", isDanger);
  field.hidden = input === undefined;
  field.type = isSecret ? "password" : "text";
  field.value = input ?? "";
  dialog.returnValue = "";
  dialog.showModal();
  if (input === undefined) $("question-yes").focus();
  else field.select();
  // Enter means yes, not the first button.
  field.onkeydown = (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    dialog.close("yes");
  };
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const isYes = dialog.returnValue === "yes";
      resolve(input === undefined ? isYes : isYes ? field.value : null);
    }, { once: true });
  });
}

// At most one banner for each name. `action`: [label, function].
export function banner(name, words, { action, isBad = false } = {}) {
  const old = $("banner-" + name);
  const made = el("div", { id: "banner-" + name, class: isBad ? "banner bad" : "banner", role: isBad ? "alert" : "status" }, el("span", {}, words));
  if (action) made.append(el("button", { onclick: action[1] }, action[0]));
  made.append(el("button", { class: "icon", "aria-label": "Close", onclick: () => made.remove() }, icon("cross")));
  if (old?.firstElementChild.textContent === words) return;
  if (old) old.replaceWith(made);
  else $("banners").append(made);
}
export const noBanner = (name) => $("banner-" + name)?.remove();
