// Small things that this browser keeps between visits. A browser that keeps nothing, or has no room, is no reason to stop.
const kPrefix = "pippin.";

export function kept(name) {
  try {
    return localStorage.getItem(kPrefix + name) ?? "";
  } catch {
    return "";
  }
}

// "" forgets it. False where it could not be kept.
export function keep(name, value) {
  try {
    if (value) localStorage.setItem(kPrefix + name, value);
    else localStorage.removeItem(kPrefix + name);
    return true;
  } catch {
    return !value;
  }
}
