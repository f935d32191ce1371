// Elements without a framework. Nothing here parses HTML: texts become text nodes.

export const $ = (id) => document.getElementById(id);

// el("button", { class: "icon", "aria-label": "Copy", onclick: copy }, "Copy")
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const kSvg = "http://www.w3.org/2000/svg";
export function icon(name) {
  const svg = document.createElementNS(kSvg, "svg");
  const use = document.createElementNS(kSvg, "use");
  use.setAttribute("href", "#i-" + name);
  svg.append(use);
  return svg;
}

// Calls `action` once, after `ms` without a call. now() calls it at once if it is due.
export function later(ms, action) {
  let timer = 0;
  const call = () => {
    clearTimeout(timer);
    timer = setTimeout(call.now, ms);
  };
  call.now = () => {
    if (!timer) return;
    clearTimeout(timer);
    timer = 0;
    action();
  };
  return call;
}

// navigator.clipboard exists only for pages over HTTPS or from this machine.
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = el("textarea", { class: "unseen" });
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  const focused = document.activeElement;
  area.select();
  document.execCommand("copy");
  area.remove();
  focused?.focus();
}

export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
