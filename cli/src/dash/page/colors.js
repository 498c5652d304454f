// The colours of the style sheet, for what is drawn.

/** Whether the page is dark, by the person's choice or the system's. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The colour of a role, such as `--accent`. `light-dark()` in a custom property is resolved only where it is used. */
export function color(name) {
  const value = getComputedStyle(document.documentElement).getPropertyValue(name);
  const parts = value.match(/light-dark\(([^,]+),([^)]+)\)/);
  return (parts ? parts[isDark() ? 2 : 1] : value).trim();
}
