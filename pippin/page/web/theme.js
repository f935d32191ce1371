// Light or dark theme: the system's, or the one chosen here.
import { keep, kept } from "./kept.js";

const kNext = { "": "light", light: "dark", dark: "" };
const kNames = { "": "by the system", light: "light", dark: "dark" };

let theme = kept("theme");
export const themeName = () => kNames[theme] ?? "";

export function applyTheme() {
  document.documentElement.dataset.theme = theme;
}

export function nextTheme() {
  theme = kNext[theme] ?? "";
  keep("theme", theme);
  applyTheme();
}
