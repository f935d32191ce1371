// Small values that this browser keeps between visits. The page also works in a browser that stores nothing or is full.
const kPrefix = "pippin.";

export function kept(name) {
  try {
    return localStorage.getItem(kPrefix + name) ?? "";
  } catch {
    return "";
  }
}

// "" removes it. Returns false if it could not be kept.
export function keep(name, value) {
  try {
    if (value) localStorage.setItem(kPrefix + name, value);
    else localStorage.removeItem(kPrefix + name);
    return true;
  } catch {
    return !value;
  }
}
