// The scrolling picture: traces, event lane, gap ribbon, time axis.

import { color, isDark } from "./colors.js";
import { duration, nice, niceStep, plain } from "./format.js";
import { Ring } from "./ring.js";

const DELAY = 0.2;        // seconds that the right edge is behind, so that columns are there when they are due
const MARGIN = 1.0;       // seconds that the ring holds beyond the plot
const LANE = 30, AXIS = 26, RIBBON = 12, GUTTER = 74, PAD = 12;

export class Traces {
  layout = "stacked";
  paused = false;
  events = [];
  gaps = [];
  health = "live";
  division = 0;            // units per lane; 0 until it was fitted

  #canvas; #pen; #ring = null; #view = null; #size = null;
  #bases = null; #colors = []; #theme = {};
  #box = null; #clock = null; #edge = 0; #fitAt = 0; #stale = true; #still; #onScale;

  constructor(canvas, onScale) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d");
    this.#onScale = onScale;
    this.#still = matchMedia("(prefers-reduced-motion: reduce)");
    // Asking the canvas for its size in every frame would make the browser lay out the whole page each time.
    new ResizeObserver(([entry]) => { this.#size = entry.contentRect; }).observe(canvas);
    requestAnimationFrame(() => this.#frame());
  }

  /** Pixel columns of the plot: what the server is asked for. */
  get columns() {
    // This may be the moment in which it has become visible.
    this.#size = { width: this.#canvas.clientWidth, height: this.#canvas.clientHeight };
    this.#measure();
    return Math.min(this.#box.width, 4096);
  }

  /** Seconds on the lab's clock, as far as the messages tell. */
  get now() {
    return this.#clock === null ? 0 : this.#clock + performance.now() / 1000;
  }

  /** A message has come that was sent at `now`: the quickest one tells the time best. */
  synchronize(now) {
    const offset = now - performance.now() / 1000;
    this.#clock = this.#clock === null || Math.abs(offset - this.#clock) > 1 ? offset
      : offset > this.#clock ? offset : this.#clock + (offset - this.#clock) * 0.01;
  }

  /** Begins anew with what the server said it will send. */
  show(view) {
    const fresh = this.#view?.stream !== view.stream || this.#view.high_pass !== view.high_pass;
    this.#view = view;
    this.#ring = new Ring(view.columns + Math.ceil(MARGIN / view.column_seconds) + 2, view.channels.length);
    if (fresh) { this.division = 0; this.#bases = null; this.#fitAt = 0; }
    if (this.#bases?.length !== view.channels.length) { this.#bases = null; this.#fitAt = 0; }
    this.#stale = true;
  }

  get view() { return this.#view; }

  /** Whether nothing of the stream is in the plot. */
  get isEmpty() { return !this.#ring || this.#ring.oldest(this.#top(this.#edge)) === Infinity; }

  add(frame) {
    if (!this.#view || this.paused || frame.generation !== this.#view.generation) return;
    const top = this.#top(this.#due());
    this.#ring.add(frame, top);
    if (this.#bases === null && performance.now() >= this.#fitAt) {
      // At once, and again when there is more to go by.
      this.fit();
      if (!(this.#ring.oldest(top) < this.#ring.newest - 1 / this.#view.column_seconds)) this.#bases = null;
      this.#fitAt = performance.now() + 300;
    }
  }

  /** Chooses scale and offsets so that a typical channel fills its lane. */
  fit() {
    if (!this.#view) return;
    const sizes = [], bases = new Float32Array(this.#view.channels.length), top = this.#top(this.paused ? this.#edge : this.#due());
    for (let channel = 0; channel < bases.length; channel++) {
      const [lows, highs] = this.#ring.extremes(channel, top);
      if (!lows.length) continue;
      const [low, high] = [lows[Math.floor(lows.length * 0.05)], highs[Math.floor((highs.length - 1) * 0.95)]];
      sizes.push(high - low);
      bases[channel] = (low + high) / 2;
    }
    if (!sizes.length) return;
    this.#bases = bases;
    sizes.sort((a, b) => a - b);
    const typical = sizes[Math.floor(sizes.length / 2)] || 1;
    this.setDivision(nice(typical * 0.8));
  }

  setDivision(division) {
    this.division = division;
    this.#stale = true;
    this.#onScale(`${plain(division)}${this.#view?.unit ? ` ${this.#view.unit}` : ""}`);
  }

  /** Larger traces (1) or smaller ones (-1). */
  zoom(direction) { if (this.division > 0) this.setDivision(niceStep(this.division, -direction)); }

  redraw() { this.#stale = true; }

  /** The column at the right edge of the plot now. */
  #due() { return Math.floor((this.now - DELAY) / this.#view.column_seconds); }

  /** The column with which the ring ends when this one is at the right edge. */
  #top(edge) { return Math.floor(edge) + Math.ceil(MARGIN / this.#view.column_seconds); }

  #measure() {
    const ratio = devicePixelRatio || 1, canvas = this.#canvas;
    const [width, height] = [Math.round(this.#size.width * ratio), Math.round(this.#size.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) { [canvas.width, canvas.height] = [width, height]; this.#stale = true; }
    const left = Math.round(GUTTER * ratio), top = Math.round(LANE * ratio);
    this.#box = { ratio, left, top, width: Math.max(width - left - Math.round(PAD * ratio), 10),
      height: Math.max(height - top - Math.round((AXIS + RIBBON) * ratio), 10) };
  }

  #frame() {
    requestAnimationFrame(() => this.#frame());
    if (!this.#view || !this.#size?.width) return;
    if (!this.paused) {
      const step = this.#still.matches ? Math.max(1, Math.round(1 / this.#view.column_seconds)) : 1;
      this.#edge = Math.floor(this.#due() / step) * step;
    }
    this.#measure();
    if (this.#stale) this.#prepare();
    if (this.division > 0) this.#ring.draw(this.#top(this.#edge), this.#look());
    this.#compose();
  }

  #prepare() {
    const dark = isDark();
    this.#theme = { ink: color("--ink"), dim: color("--dim"), line: color("--line"), accent: color("--accent"), bad: color("--bad"),
      card: color("--card"), dark };
    const channels = this.#view.channels.length;
    this.#colors = Array.from({ length: channels }, (_, channel) =>
      `hsl(${172 + 96 * channel / Math.max(channels - 1, 1)} ${dark ? 62 : 68}% ${dark ? 66 : 35}%)`);
    this.#ring.redraw();
    this.#stale = false;
  }

  /** How the ring draws traces. */
  #look() {
    const butterfly = this.layout === "butterfly", ratio = this.#box.ratio;
    return { ...this.#scale(), bases: this.#bases, colors: this.#colors, height: this.#box.height,
      lineWidth: Math.max(1, (butterfly ? 1 : 1.15) * ratio), alpha: butterfly ? 0.75 : 1 };
  }

  /** Lanes of the layout: offset of the first, distance, and pixels per unit. */
  #scale() {
    const channels = this.#view.channels.length, { height } = this.#box;
    if (this.layout === "butterfly") return { first: height / 2, lane: 0, gain: height / 8 / (this.division || 1) };
    // The outermost lanes have room for what is larger than usual.
    const room = Math.min(14 * this.#box.ratio, height / 8), lane = (height - 2 * room) / channels;
    // Many channels overlap rather than become straight lines.
    return { first: room + lane / 2, lane, gain: Math.max(lane, 14 * this.#box.ratio) * 0.9 / (this.division || 1) };
  }

  #compose() {
    const pen = this.#pen, { left, top, width, height } = this.#box;
    pen.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    this.#drawGrid();
    const columns = Math.min(width, this.#view.columns);
    const ring = this.#ring, first = ring.slot(this.#edge - columns + 1), scale = width / columns;
    const head = Math.min(columns, ring.width - first);
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    if (head > 0 && this.division > 0) pen.drawImage(ring.canvas, first, 0, head, height, left, top, head * scale, height);
    if (head < columns && this.division > 0) pen.drawImage(ring.canvas, 0, 0, columns - head, height, left + head * scale, top, (columns - head) * scale, height);
    pen.restore();
    this.#drawLabels();
    this.#drawRibbon();
    this.#drawEvents();
  }

  #x(time) {
    const { left, width } = this.#box, seconds = this.#view.columns * this.#view.column_seconds;
    return left + width * (1 - (this.#edge * this.#view.column_seconds - time) / seconds);
  }

  #drawGrid() {
    const pen = this.#pen, { left, top, width, height, ratio } = this.#box, seconds = this.#view.columns * this.#view.column_seconds;
    const step = nice(seconds / 12), end = this.#edge * this.#view.column_seconds;
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    [pen.textAlign, pen.textBaseline, pen.lineWidth] = ["center", "top", ratio];
    for (let time = Math.ceil((end - seconds) / step) * step; time <= end; time += step) {
      const x = Math.round(this.#x(time));
      pen.fillStyle = this.#theme.line;
      pen.globalAlpha = 0.7;
      pen.fillRect(x, top, Math.max(1, Math.floor(ratio)), height);
      pen.globalAlpha = 1;
      pen.fillStyle = this.#theme.dim;
      if (x > left + 14 * ratio && x < left + width - 14 * ratio) pen.fillText(clockText(time, step), x, top + height + (RIBBON + 7) * ratio);
    }
  }

  #drawLabels() {
    const pen = this.#pen, { left, top, width, height, ratio } = this.#box, { first, lane, gain } = this.#scale();
    pen.font = `${11.5 * ratio}px system-ui, sans-serif`;
    [pen.textAlign, pen.textBaseline] = ["right", "middle"];
    if (this.layout === "stacked") {
      const every = Math.max(1, Math.ceil(13 * ratio / lane));
      this.#view.channels.forEach((channel, row) => {
        if (row % every) return;
        pen.fillStyle = this.#colors[row];
        pen.fillText(shorten(this.#view.labels[channel] ?? String(channel + 1)), left - 10 * ratio, top + first + row * lane);
      });
    } else {
      pen.fillStyle = this.#theme.line;
      pen.fillRect(left, top + Math.round(height / 2), width, ratio);
      pen.fillStyle = this.#theme.dim;
      [4, 2, 0, -2, -4].forEach(step => pen.fillText(plain(step * this.division), left - 10 * ratio, top + height / 2 - step * height / 8 * 0.985));
      if (this.#view.unit) pen.fillText(this.#view.unit, left - 10 * ratio, top - 12 * ratio);
    }
    this.#drawScaleBar(gain);
  }

  #drawScaleBar(gain) {
    const pen = this.#pen, { left, top, width, height, ratio } = this.#box;
    let value = this.division;
    while (value * gain > 64 * ratio) value = niceStep(value, -1);
    const length = value * gain;
    if (!(length > 3)) return;
    const [x, bottom] = [left + width - 10 * ratio, top + height - 10 * ratio];
    const text = `${plain(value)}${this.#view.unit ? ` ${this.#view.unit}` : ""}`;
    pen.font = `600 ${11.5 * ratio}px system-ui, sans-serif`;
    const wide = pen.measureText(text).width + 30 * ratio;
    pen.fillStyle = this.#theme.card;
    pen.globalAlpha = 0.85;
    pen.beginPath();
    pen.roundRect(x - wide + 8 * ratio, bottom - Math.max(length, 18 * ratio) - 6 * ratio, wide, Math.max(length, 18 * ratio) + 12 * ratio, 7 * ratio);
    pen.fill();
    pen.globalAlpha = 1;
    pen.fillStyle = this.#theme.ink;
    pen.fillRect(x - 2 * ratio, bottom - length, 2 * ratio, length);
    pen.fillRect(x - 6 * ratio, bottom - length, 6 * ratio, ratio);
    pen.fillRect(x - 6 * ratio, bottom - ratio, 6 * ratio, ratio);
    [pen.textAlign, pen.textBaseline] = ["right", "middle"];
    pen.fillText(text, x - 11 * ratio, bottom - Math.max(length, 18 * ratio) / 2);
  }

  /** Below the traces: a line where there were samples, hatched red where they are missing. */
  #drawRibbon() {
    const pen = this.#pen, { left, top, width, height, ratio } = this.#box, y = top + height + 4 * ratio, tall = (RIBBON - 5) * ratio;
    const seconds = this.#view.column_seconds, newest = this.#ring.newest * seconds;
    const known = this.#ring.oldest(this.#top(this.#edge));
    // Whether something is missing at the end is not known while there is no contact.
    const open = ["live", "unknown"].includes(this.health) || newest === -Infinity ? [] : [{ from: newest, to: this.now }];
    const clamp = x => Math.min(Math.max(x, left), left + width);
    const [start, end] = [clamp(this.#x(known * seconds)), clamp(this.#x(newest))];
    pen.fillStyle = this.#theme.accent;
    pen.globalAlpha = 0.4;
    if (end > start) pen.fillRect(start, y + tall / 3, end - start, tall / 3);
    pen.globalAlpha = 1;
    for (const gap of [...this.gaps, ...open]) {
      const [from, to] = [clamp(this.#x(gap.from)), clamp(this.#x(gap.to))];
      if (to - from < 0.5) continue;
      this.#hatch(from, y, Math.max(to - from, 2 * ratio), tall);
      const text = `${duration(gap.to - gap.from)} missing`;
      pen.font = `600 ${10.5 * ratio}px system-ui, sans-serif`;
      [pen.textAlign, pen.textBaseline, pen.fillStyle] = ["center", "bottom", this.#theme.bad];
      if (to - from > pen.measureText(text).width + 8 * ratio) pen.fillText(text, (from + to) / 2, y - 3 * ratio);
    }
  }

  #hatch(x, y, width, height) {
    const pen = this.#pen, { ratio } = this.#box;
    pen.save();
    pen.beginPath();
    pen.rect(x, y, width, height);
    pen.clip();
    pen.fillStyle = pen.strokeStyle = this.#theme.bad;
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

  #drawEvents() {
    const pen = this.#pen, { left, top, width, height, ratio } = this.#box;
    pen.font = `550 ${11 * ratio}px system-ui, sans-serif`;
    [pen.textAlign, pen.textBaseline] = ["left", "middle"];
    let free = -Infinity;
    for (const event of this.events) {
      const x = Math.round(this.#x(event.time));
      if (x < left || x > left + width) continue;
      const color = eventColor(event.text, this.#theme.dark), text = event.text.length > 22 ? `${event.text.slice(0, 21)}…` : event.text;
      const wide = pen.measureText(text).width + 12 * ratio;
      pen.fillStyle = color;
      pen.globalAlpha = 0.55;
      pen.fillRect(x, top - 6 * ratio, Math.max(1, ratio), height + 6 * ratio);
      pen.globalAlpha = 1;
      // Markers that come too close keep their line and leave out the text; the list below has all of them.
      if (x < free) continue;
      pen.beginPath();
      pen.roundRect(x, top - 24 * ratio, wide, 18 * ratio, [0, 5 * ratio, 5 * ratio, 0]);
      pen.globalAlpha = 0.16;
      pen.fill();
      pen.globalAlpha = 1;
      pen.fillRect(x, top - 24 * ratio, 2 * ratio, 18 * ratio);
      pen.fillText(text, x + 7 * ratio, top - 14.5 * ratio);
      free = x + wide + 2 * ratio;
    }
  }
}

/** The same text always has the same colour, whatever came before. */
function eventColor(text, dark) {
  let hash = 0;
  for (const letter of text) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return `hsl(${[20, 45, 285, 320, 340, 205][hash % 6]} ${dark ? 75 : 70}% ${dark ? 70 : 38}%)`;
}

/** Seconds within the minute of the lab's clock. */
function clockText(time, step) {
  const seconds = ((time % 60) + 60) % 60;
  return `${seconds.toFixed(step < 0.1 ? 2 : step < 1 ? 1 : 0)} s`;
}

function shorten(label) { return label.length > 9 ? `${label.slice(0, 8)}…` : label; }
