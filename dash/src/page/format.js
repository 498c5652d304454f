// Numbers and words as a person reads them.

/** Steps of 1, 2 and 5 times a power of ten: the smallest that is not below `value`. */
export function nice(value) {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find(step => step * power >= value * 0.999);
  return step * power;
}

/** The next nice number above (`direction` 1) or below (-1). */
export function niceStep(value, direction) {
  if (direction > 0) return nice(value * 1.01);
  const half = value / 2.6;
  return nice(half);
}

/** A number with up to four digits that matter, and no needless zeros. */
export function plain(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(0).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

/** A sample's value with all digits that a float of 32 bits has, which is what the page is sent. */
export function exact(value) { return String(Number(value.toPrecision(7))); }

/** Seconds as text with the unit that fits. */
export function duration(seconds) {
  const size = Math.abs(seconds);
  if (size < 0.9995e-3) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (size < 0.9995) return `${(seconds * 1e3).toFixed(size < 0.01 ? 2 : size < 0.1 ? 1 : 0)} ms`;
  if (size < 120) return `${seconds.toFixed(size < 10 ? 2 : 1)} s`;
  if (size < 7200) return `${(seconds / 60).toFixed(0)} min`;
  return size < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86400).toFixed(1)} d`;
}

/** A rate in Hz, its digits to the point of the nominal one. */
export function rate(value) {
  if (value >= 1000) return `${value.toFixed(1)} Hz`;
  return `${value.toFixed(value >= 100 ? 1 : 2)} Hz`;
}

/** A count with thin spaces between thousands. */
export function count(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

export function plural(value, word) {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

export function clamp(value, low, high) { return Math.min(Math.max(value, low), high); }

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];

/** Seconds between two marks of a time axis: the smallest step that is not below this, and that divides the clock. */
export function timeStep(least) { return least < 1 ? nice(least) : STEPS.find(step => step >= least) ?? STEPS.at(-1); }

/** Time of day of a time in seconds since 1970, with the digits that a step needs. */
export function clockText(wall, step) {
  const digits = step >= 1 ? 0 : clamp(Math.ceil(-Math.log10(step) - 1e-9), 1, 6), unit = 10 ** digits;
  const rounded = Math.round(wall * unit), at = new Date(Math.floor(rounded / unit) * 1000);
  const part = digits ? `.${String(((rounded % unit) + unit) % unit).padStart(digits, "0")}` : "";
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(number => String(number).padStart(2, "0")).join(":") + part;
}
