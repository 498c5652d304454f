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

const INKS = [[/ecog|eeg|seeg|ieeg/i, 172], [/eog|gaze|eye|pupil/i, 212], [/ecg|ekg|ppg|pulse|heart|bvp/i, 350], [/emg/i, 268],
  [/resp|eda|gsr|skin|temp|nirs/i, 32], [/audio|sound|mic/i, 300], [/mocap|acc|gyro|imu|motion|position/i, 235]];

/** The ink of a kind of signal: one for all channels of a stream, so that colour says what it is. */
export function inkOf(content, dark) {
  const hue = INKS.find(([pattern]) => pattern.test(content))?.[1];
  if (hue === undefined) return dark ? "hsl(205 18% 74%)" : "hsl(205 22% 32%)";
  return `hsl(${hue} ${dark ? 52 : 62}% ${dark ? 66 : 33}%)`;
}

const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

/** From dark to bright; equal steps look equal, also to colour-blind eyes. */
export function heat(part) {
  const at = Math.min(Math.max(part, 0), 1) * (STOPS.length - 1), first = Math.min(Math.floor(at), STOPS.length - 2);
  return STOPS[first].map((from, place) => Math.round(from + (STOPS[first + 1][place] - from) * (at - first)));
}
