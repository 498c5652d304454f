// One stream in the plot: its lanes, its scale, its names, and where samples are missing.

import { clamp, duration, nice, niceStep, plain } from "./format.js";
import { inkOf } from "./colors.js";
import { Ring } from "./ring.js";

export const RIBBON = 12;
const MARGIN = 1.0;       // seconds that the ring holds beyond the right edge
const LEAST_LANE = 15;    // px: below this no wave is seen
const COMFORT = 26;       // px: lanes are this high if there is room
const MARKS = { flat: "▬", railing: "⊼", noisy: "≋", line: "∿", invalid: "∅" };

export class Panel {
  view = null;
  gaps = [];
  health = "live";
  oldest = null;           // time of the oldest sample that is kept
  layout = "stacked";
  division = 0;            // units per lane; 0 until it was fitted
  first = 0;               // row in the uppermost lane
  #place = 0;              // the same, with the part of a lane that a wheel has turned
  marks = new Map();       // channel: what is wrong with it
  muted = new Set();       // channels
  solo = null;
  box = null;
  ring = null;
  #bases = null; #fitAt = 0; #stillTop = null; #look = null; #gutter = [];

  constructor(stream, slot, wish) {
    [this.id, this.slot, this.wish] = [stream.id, slot, wish];
    this.name = stream.name;
    this.content = stream.content;
    this.generation = 0;
    this.onScale = () => {};
  }

  /** Begins anew with what the server said it will send. */
  show(view) {
    const before = this.view, key = view => JSON.stringify([view.filters, view.minus, view.averaged > 0]);
    const fresh = !before || key(before) !== key(view);
    this.view = view;
    const margin = view.until === null ? Math.ceil(MARGIN / view.column_seconds) : 2;
    this.ring = new Ring(view.columns + margin + 2, view.channels.length);
    this.#stillTop = view.until === null ? null : Math.floor(view.until / view.column_seconds) + 1;
    if (fresh && before) { this.division = 0; this.#bases = null; this.#fitAt = 0; }
    if (this.#bases?.length !== view.channels.length) { this.#bases = null; this.#fitAt = 0; }
    this.scroll(0);
  }

  /** Whether nothing of the stream is in the plot that ends at `edge`. */
  isEmpty(edge) { return !this.ring || this.ring.oldest(this.top(edge)) === Infinity; }

  /** The column with which the ring ends when this time is at the right edge. */
  top(edge) { return this.#stillTop ?? Math.floor(edge / this.view.column_seconds) + Math.ceil(MARGIN / this.view.column_seconds); }

  add(frame, edge) {
    const top = this.top(edge);
    this.ring.add(frame, top);
    if (this.#bases === null && performance.now() >= this.#fitAt) {
      // At once, and again when there is more to go by.
      this.fit(edge);
      if (!(this.ring.oldest(top) < this.ring.newest - 1 / this.view.column_seconds)) this.#bases = null;
      this.#fitAt = performance.now() + 300;
    }
  }

  /** Chooses scale and offsets so that a typical channel fills its lane. */
  fit(edge) {
    if (!this.view) return;
    const sizes = [], bases = new Float32Array(this.view.channels.length), top = this.top(edge);
    for (let row = 0; row < bases.length; row++) {
      const [lows, highs] = this.ring.extremes(row, top);
      if (!lows.length) continue;
      const [low, high] = [lows[Math.floor(lows.length * 0.05)], highs[Math.floor((highs.length - 1) * 0.95)]];
      if (this.isDrawn(row)) sizes.push(high - low);
      bases[row] = (low + high) / 2;
    }
    if (!sizes.length) return;
    this.#bases = bases;
    sizes.sort((a, b) => a - b);
    this.setDivision(nice((sizes[Math.floor(sizes.length / 2)] || 1) * 0.8));
  }

  setDivision(division) {
    this.division = division;
    this.ring?.redraw();
    this.onScale(this);
  }

  /** Larger traces (1) or smaller ones (-1). */
  zoom(direction) { if (this.division > 0) this.setDivision(niceStep(this.division, -direction)); }

  get scaleText() { return this.division > 0 ? `${plain(this.division)}${this.view?.unit ? ` ${this.view.unit}` : ""}` : ""; }

  /** Whether a row has a lane. */
  isDrawn(row) {
    const channel = this.view.channels[row];
    return this.solo === null ? !this.muted.has(channel) : channel === this.solo;
  }

  /** The rows that have lanes. */
  get rows() { return this.view.channels.map((_, row) => row).filter(row => this.isDrawn(row)); }

  /** How many lanes are in sight, and how high they are. */
  lanes() {
    const count = this.rows.length, { height, ratio } = this.box;
    const room = Math.min(10 * ratio, height / 10), free = height - 2 * room;
    const fit = Math.max(1, Math.floor(free / (LEAST_LANE * ratio)));
    const shown = count <= fit ? count : Math.max(1, Math.floor(free / ((count > 2 * fit ? COMFORT - 6 : LEAST_LANE) * ratio)));
    return { count, shown: Math.min(count, shown), room, lane: free / Math.max(1, Math.min(count, shown)) };
  }

  /** Moves the lanes; true if there was anything to move. */
  scroll(by) {
    if (!this.box || !this.view || this.layout === "butterfly") return false;
    const { count, shown } = this.lanes(), before = this.first;
    this.#place = clamp(this.#place + by, 0, Math.max(0, count - shown));
    this.first = Math.round(this.#place);
    if (this.first !== before) this.ring.redraw();
    return count > shown;
  }

  /** Brings those lanes into sight which the strip at the right has at this height. */
  goTo(y) {
    const { count, shown } = this.lanes(), { top, height } = this.box;
    this.scroll((y - top) / height * count - shown / 2 - this.#place);
  }

  /** The lanes that are in sight; worked out anew only when something is to be drawn in another way. */
  #visible(theme) {
    const key = [this.ring, this.ring.version, this.box, theme];
    if (!this.#look?.key.every((part, place) => part === key[place])) this.#look = { key, ...this.#lookAt(theme) };
    return this.#look;
  }

  #lookAt(theme) {
    const { height } = this.box, rows = this.rows, ink = inkOf(this.content, theme.dark);
    const inkFor = row => this.wish.bad.has(this.view.channels[row]) ? theme.dim : ink;
    const base = row => this.#bases?.[row] ?? 0;
    if (this.layout === "butterfly") {
      return { lane: height / 8, gain: height / 8 / (this.division || 1), reach: Infinity,
        lanes: rows.map(row => ({ row, middle: height / 2, base: base(row), ink: inkFor(row) })) };
    }
    const { shown, room, lane } = this.lanes();
    return { lane, gain: lane * 0.9 / (this.division || 1), reach: 1.5 * lane,
      lanes: rows.slice(this.first, this.first + shown).map((row, place) =>
        ({ row, middle: room + lane * (place + 0.5), base: base(row), ink: inkFor(row) })) };
  }

  /** Draws the traces on a ground that hides what was there; `time` says which stretch is shown. */
  drawTraces(pen, time, theme) {
    const box = this.box, clear = (from, to) => { pen.fillStyle = theme.card; if (to > from) pen.fillRect(from, box.top, to - from, box.height); };
    if (!this.ring || !(this.division > 0)) return clear(box.left, box.left + box.width);
    const { left, top, width, height, ratio } = this.box, look = this.#visible(theme), butterfly = this.layout === "butterfly";
    const end = this.top(time.edge), seconds = this.view.column_seconds;
    this.ring.draw(end, { ...look, height, ground: theme.card, lineWidth: Math.max(1, (butterfly ? 1 : 1.15) * ratio), alpha: butterfly ? 0.7 : 1,
      hatch: { ink: theme.warn, size: 5 * ratio } });
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    const x = index => left + (index * seconds - time.begin) / (time.edge - time.begin) * width;
    // Whole pixels where a column is a pixel, so that traces do not blur while they move.
    const first = Math.floor(time.begin / seconds), isWhole = Math.abs(x(1) - x(0) - 1) < 0.01;
    const place = index => isWhole ? Math.round(x(first)) + index - first : Math.round(x(index));
    let at = left;
    for (const part of this.ring.parts(first, Math.floor(time.edge / seconds))) {
      const [from, to] = [place(part.index), place(part.index + part.count)];
      clear(at, from);
      pen.drawImage(part.canvas, part.place, 0, part.count, height, from, top, to - from, height);
      at = to;
    }
    clear(at, left + width);
    pen.restore();
    if (!butterfly) return;
    pen.fillStyle = theme.line;
    pen.fillRect(left, top + Math.round(height / 2), width, ratio);
  }

  /** Whether names, scale or marks are not as they were drawn. */
  get isGutterStale() {
    return [this.ring, this.ring?.version, this.marks, this.box].some((part, place) => part !== this.#gutter[place]);
  }

  /** Draws names, scale, and what is wrong with a channel. */
  drawGutter(pen, theme) {
    const { left, top, height, ratio } = this.box, { lane, gain, lanes } = this.#visible(theme);
    this.#gutter = [this.ring, this.ring.version, this.marks, this.box];
    pen.font = `${11.5 * ratio}px system-ui, sans-serif`;
    [pen.textAlign, pen.textBaseline] = ["right", "middle"];
    if (this.layout === "butterfly") {
      pen.fillStyle = theme.dim;
      [3, 2, 1, 0, -1, -2, -3].forEach(step => pen.fillText(plain(step * this.division), left - 10 * ratio, top + height / 2 - step * height / 8));
    } else {
      for (const { row, middle, ink } of lanes) {
        const channel = this.view.channels[row], mark = this.marks.get(channel), bad = this.wish.bad.has(channel);
        pen.fillStyle = bad ? theme.dim : mark ? theme.bad : ink;
        const name = shorten(this.view.names[row] ?? String(channel + 1)), y = top + middle;
        pen.fillText(name, left - 20 * ratio, y);
        if (mark || bad) pen.fillText(bad ? "×" : MARKS[mark], left - 6 * ratio, y);
      }
    }
    this.#drawScale(pen, theme, gain, lane);
    if (this.layout === "stacked") this.#drawMap(pen, theme);
  }

  #drawScale(pen, theme, gain, lane) {
    const { left, top, height, ratio } = this.box;
    let value = this.division;
    while (value * gain > Math.max(64 * ratio, lane)) value = niceStep(value, -1);
    while (value * gain < 26 * ratio && value * gain > 0) value = niceStep(value, 1);
    const length = value * gain, x = 8 * ratio, middle = top + height / 2;
    if (!(length > 3) || length > height) return;
    pen.fillStyle = theme.ink;
    pen.fillRect(x, middle - length / 2, 2 * ratio, length);
    pen.fillRect(x, middle - length / 2, 6 * ratio, ratio);
    pen.fillRect(x, middle + length / 2 - ratio, 6 * ratio, ratio);
    pen.save();
    pen.translate(x + 14 * ratio, middle);
    pen.rotate(-Math.PI / 2);
    pen.font = `600 ${11 * ratio}px system-ui, sans-serif`;
    [pen.textAlign, pen.textBaseline] = ["center", "middle"];
    pen.fillText(`${plain(value)}${this.view.unit ? ` ${this.view.unit}` : ""}`, 0, 0);
    pen.restore();
  }

  /** At the right: which of the lanes are in sight. */
  #drawMap(pen, theme) {
    const { count, shown } = this.lanes(), { left, top, width, height, ratio } = this.box;
    if (count <= shown) return;
    const x = left + width + 5 * ratio, wide = 7 * ratio, rows = this.rows;
    pen.fillStyle = theme.line;
    pen.fillRect(x, top, wide, height);
    pen.fillStyle = theme.bad;
    rows.forEach((row, place) => { if (this.marks.has(this.view.channels[row])) pen.fillRect(x, top + height * place / count, wide, Math.max(2 * ratio, height / count)); });
    pen.fillStyle = theme.dim;
    pen.globalAlpha = 0.75;
    pen.fillRect(x, top + height * this.first / count, wide, height * shown / count);
    pen.globalAlpha = 1;
  }

  /** Which of the channels are in sight, in words. */
  get sight() {
    if (!this.view || !this.box) return "";
    const { count, shown } = this.lanes();
    return count > shown && this.layout === "stacked" ? `${this.first + 1} to ${this.first + shown} of ${count}` : "";
  }

  /** Below the traces: a line where there were samples, hatched red where they are missing. */
  drawRibbon(pen, time, theme) {
    const { left, top, width, height, ratio } = this.box, y = top + height + 3 * ratio, tall = (RIBBON - 5) * ratio;
    const x = at => clamp(left + (at - time.begin) / (time.edge - time.begin) * width, left, left + width);
    const seconds = this.view.column_seconds, newest = this.ring.newest * seconds, known = this.ring.oldest(this.top(time.edge));
    // Whether something is missing at the end is not known while there is no contact.
    const open = ["live", "unknown"].includes(this.health) || newest === -Infinity || this.view.until !== null ? [] : [{ from: newest, to: time.now }];
    const [start, end] = [x(known * seconds), x(newest)];
    pen.fillStyle = theme.accent;
    pen.globalAlpha = 0.4;
    if (end > start) pen.fillRect(start, y + tall / 3, end - start, tall / 3);
    pen.globalAlpha = 1;
    for (const gap of [...this.gaps, ...open]) {
      const [from, to] = [x(gap.from), x(gap.to)];
      if (to - from < 0.5) continue;
      hatch(pen, from, y, Math.max(to - from, 2 * ratio), tall, theme.bad, ratio);
      const text = `${duration(gap.to - gap.from)} missing`;
      pen.font = `600 ${10.5 * ratio}px system-ui, sans-serif`;
      [pen.textAlign, pen.textBaseline, pen.fillStyle] = ["center", "bottom", theme.bad];
      if (to - from > pen.measureText(text).width + 8 * ratio) pen.fillText(text, (from + to) / 2, y - 2 * ratio);
    }
  }

  /** The row whose lane is at this height; null for none. */
  rowAt(y) {
    const { top, height } = this.box;
    if (!this.view || y < top || y > top + height || this.layout === "butterfly") return null;
    const { lane, shown, room } = this.lanes(), place = Math.floor((y - top - room) / lane);
    return place >= 0 && place < shown ? this.rows[this.first + place] ?? null : null;
  }

  /** What a row shows at a time: the time of a sample, and its value or its extremes in one column. */
  valueAt(row, time, reach) {
    const found = this.ring?.near(Math.floor(time / this.view.column_seconds), row, reach);
    return found && { time: (found.index + 0.5) * this.view.column_seconds, low: found.low, high: found.high };
  }

  /** Where a value of a row is drawn. */
  yOf(row, value, theme) {
    const { lanes, gain, reach } = this.#visible(theme), lane = lanes.find(lane => lane.row === row);
    if (!lane) return null;
    const place = clamp(lane.middle - (value - lane.base) * gain, lane.middle - reach, lane.middle + reach);
    return this.box.top + clamp(place, 1, this.box.height - 1);
  }
}

export function hatch(pen, x, y, width, height, ink, ratio) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.fillStyle = pen.strokeStyle = ink;
  pen.globalAlpha = 0.25;
  pen.fillRect(x, y, width, height);
  pen.globalAlpha = 1;
  pen.lineWidth = 1.5 * ratio;
  pen.beginPath();
  const start = Math.floor(x / (6 * ratio)) * 6 * ratio - height;
  for (let at = start; at < x + width; at += 6 * ratio) { pen.moveTo(at, y + height); pen.lineTo(at + height, y); }
  pen.stroke();
  pen.restore();
}

function shorten(label) { return label.length > 8 ? `${label.slice(0, 7)}…` : label; }
