// The colours of the style sheet, for what is drawn.

const known = new Map();

/** Whether the page is dark, by the person's choice or the system's. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The colour of a role, such as `--accent`. Asked once, because each question makes the browser work out styles. */
export function color(name) {
  if (!known.has(name)) known.set(name, resolve(name));
  return known.get(name);
}

/** The page has become dark or light. */
export function forgetColors() { known.clear(); }

/** `light-dark()` in a custom property is resolved only where it is used. */
function resolve(name) {
  const value = getComputedStyle(document.documentElement).getPropertyValue(name);
  const parts = value.match(/light-dark\(([^,]+),([^)]+)\)/);
  return (parts ? parts[isDark() ? 2 : 1] : value).trim();
}
