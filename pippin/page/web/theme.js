// Light or dark: by the system, or as chosen here.
const kTheme = "pippin.theme";
const kNext = { "": "light", light: "dark", dark: "" };
const kNames = { "": "by the system", light: "light", dark: "dark" };

export const theme = () => localStorage.getItem(kTheme) ?? "";
export const themeName = () => kNames[theme()] ?? "";

export function applyTheme() {
  document.documentElement.dataset.theme = theme();
}

export function nextTheme() {
  const next = kNext[theme()] ?? "";
  if (next) localStorage.setItem(kTheme, next);
  else localStorage.removeItem(kTheme);
  applyTheme();
}
