// The picture: panels of streams on one time axis, events above them, and what a pointer does in it.

import { color, isDark } from "./colors.js";
import { clamp, clockText, exact, timeStep } from "./format.js";
import { drawEvents } from "./events.js";
import { RIBBON, hatch } from "./panel.js";

const DELAY = 0.2;        // seconds that the right edge is behind, so that columns are there when they are due
const REST = 100;         // ms after which a picture in which nothing moves is drawn again: what is missing grows
const LANE = 30, AXIS = 24, GUTTER = 108, PAD = 18, BETWEEN = 8;

export class Plot {
  panels = [];
  active = null;           // the panel that controls speak of
  events = [];
  window = 10;             // seconds
  until = null;            // the right edge on the lab's clock; null to follow
  span = null;             // of a recording: from its first sample until its last
  cursor = null;           // where the pointer is, in pixels of the canvas

  #drawn = { at: 0 };
  #canvas; #pen; #size = null; #ratio = 1; #theme = null; #clock; #wall = null; #edge = 0; #stale = true; #still; #now = 0;

  /** `clock` gives the time of the lab, or null. */
  constructor(canvas, clock) {
    [this.#canvas, this.#clock] = [canvas, clock];
    this.#pen = canvas.getContext("2d", { alpha: false });
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
    return clamp(this.#width, 10, 4096);
  }

  /** Seconds on the lab's clock, as far as the messages tell. */
  get now() { return this.#now = Math.max(this.#clock() ?? this.#now, this.#now); }

  /** The right edge. */
  get edge() { return this.#edge; }

  get following() { return this.until === null; }

  /** The time of day is so many seconds ahead of the lab's clock; what is less than a hair's breadth is noise. True if it is another one. */
  setWall(offset) {
    const isOther = this.#wall === null || Math.abs(offset - this.#wall) > 0.0005;
    if (isOther) this.#wall = offset;
    return isOther;
  }

  /** Time of day of a time on the lab's clock, in seconds since 1970; null while it is not known. */
  wallOf(time) { return this.#wall === null ? null : time + this.#wall; }

  /** The right edge nearest to `until` that can be shown; null to follow. */
  place(until) {
    if (this.span) return clamp(until, Math.min(this.span.from + this.window, this.span.until), this.span.until);
    return until >= this.now - 0.25 ? null : Math.max(until, this.now - 600 + Math.min(this.window, 30));
  }

  redraw() { this.#stale = true; }

  add(frame) {
    const panel = this.panels.find(panel => panel.view?.generation === frame.generation);
    // What comes while the picture stands still is not drawn.
    if (!panel || (panel.view.until === null && !this.following)) return;
    panel.add(frame, this.following ? this.now - DELAY : this.until);
    this.#drawn.at = 0;
  }

  /** Stops at what is seen now. */
  hold() { this.until ??= this.#edge; }

  /** The time that is drawn at a pixel of the canvas. */
  timeAt(x) { return this.#edge - this.window + (x - this.#left) / this.#width * this.window; }

  /** The panel at a pixel of the canvas; null for none. */
  panelAt(y) { return this.panels.find(panel => panel.box && y >= panel.box.top && y < panel.box.top + panel.box.height) ?? null; }

  /** A pointer's place in pixels of the canvas. */
  placeOf(event) { return { x: event.offsetX * this.#ratio, y: event.offsetY * this.#ratio }; }

  get secondsPerPixel() { return this.window / this.#width * this.#ratio; }

  isInGutter(x) { return x < this.#left; }

  /** The panel whose strip is there, which shows which lanes are in sight; null for none. */
  stripAt({ x, y }) {
    const panel = x >= this.#left + this.#width ? this.panelAt(y) : null;
    return panel?.sight ? panel : null;
  }

  get #left() { return Math.round(GUTTER * this.#ratio); }
  get #width() { return Math.max(this.#canvas.width - this.#left - Math.round(PAD * this.#ratio), 10); }
  get #x() { return time => this.#left + (time - this.#edge + this.window) / this.window * this.#width; }

  #measure() {
    this.#ratio = devicePixelRatio || 1;
    const canvas = this.#canvas, [width, height] = [this.#size.width, this.#size.height].map(size => Math.round(size * this.#ratio));
    if (canvas.width !== width || canvas.height !== height) { [canvas.width, canvas.height] = [width, height]; this.#stale = true; }
    this.#arrange();
  }

  /** Gives each panel its room: more to those with more channels, and none too little. */
  #arrange() {
    const ratio = this.#ratio, top = LANE * ratio, gaps = this.panels.length * (RIBBON + BETWEEN) * ratio;
    const free = Math.max(this.#canvas.height - top - AXIS * ratio - gaps, 10 * this.panels.length);
    const weights = this.panels.map(panel => 2 + Math.min(panel.view?.channels.length ?? 4, 24));
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    let at = top;
    this.panels.forEach((panel, place) => {
      const height = Math.floor(free * weights[place] / all), before = panel.box;
      const box = { left: this.#left, top: Math.round(at), width: this.#width, height, ratio };
      if (!before || Object.keys(box).some(key => box[key] !== before[key])) panel.box = box;
      if (before && (before.height !== height || before.width !== this.#width)) { panel.ring?.redraw(); panel.scroll(0); }
      at += height + (RIBBON + BETWEEN) * ratio;
    });
  }

  #frame() {
    requestAnimationFrame(() => this.#frame());
    if (!this.#size?.width || !this.panels.length) return;
    this.#measure();
    // By whole pixels: all that moves moves together, and less often where a second is short.
    const step = this.#still.matches ? 1 : this.window / this.#width;
    this.#edge = this.following ? Math.floor((this.now - DELAY) / step) * step : this.until;
    const drawn = { at: performance.now(), edge: this.#edge, cursor: this.cursor, events: this.events, count: this.panels.length, active: this.active };
    const isSame = !this.#stale && ["edge", "cursor", "events", "count", "active"].every(part => drawn[part] === this.#drawn[part]);
    if (isSame && drawn.at - this.#drawn.at < REST) return;
    const isWhole = this.#stale || this.cursor || this.#drawn.cursor || drawn.count !== this.#drawn.count || this.panels.some(panel => panel.isGutterStale);
    if (this.#stale) this.#prepare();
    this.#compose(isWhole);
    this.#drawn = drawn;
  }

  #prepare() {
    this.#theme = { dark: isDark() };
    for (const name of ["ink", "dim", "line", "accent", "bad", "warn", "card"]) this.#theme[name] = color(`--${name}`);
    this.panels.forEach(panel => panel.ring?.redraw());
    this.#stale = false;
  }

  /** Draws what moves, and what stands still only if it `isWhole`. */
  #compose(isWhole) {
    const pen = this.#pen, time = { begin: this.#edge - this.window, edge: this.#edge, now: this.now };
    this.#clear(isWhole);
    for (const panel of this.panels) if (panel.view) panel.drawTraces(pen, time, this.#theme);
    this.#drawGrid(time);
    for (const panel of this.panels) {
      if (!panel.view) continue;
      this.#drawUnkept(panel);
      if (isWhole) panel.drawGutter(pen, this.#theme);
      panel.drawRibbon(pen, time, this.#theme);
      if (this.panels.length > 1) this.#drawTitle(panel, panel === this.active);
    }
    drawEvents(pen, this.events, this.#x, { left: this.#left, width: this.#width, top: LANE * this.#ratio,
      bottom: this.#canvas.height - AXIS * this.#ratio, ratio: this.#ratio }, this.#theme);
    if (this.cursor) this.#drawCursor();
  }

  /** Clears all, or the stripes between the traces, which hide what was there by themselves. */
  #clear(isWhole) {
    const pen = this.#pen, { width, height } = this.#canvas;
    pen.fillStyle = this.#theme.card;
    if (isWhole) return pen.fillRect(0, 0, width, height);
    let at = 0;
    for (const { top, height: tall } of [...this.panels.map(panel => panel.box), { top: height, height: 0 }]) {
      pen.fillRect(this.#left, at, width, top - at);
      at = top + tall;
    }
  }

  #drawGrid(time) {
    const pen = this.#pen, ratio = this.#ratio, bottom = this.#canvas.height - AXIS * ratio;
    const step = timeStep(this.window * 92 * ratio / this.#width), offset = this.#wall ?? 0;
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    const right = this.#left + this.#width - this.#drawSight(bottom), first = Math.ceil((time.begin + offset) / step), last = Math.floor((time.edge + offset) / step);
    [pen.textAlign, pen.textBaseline] = ["center", "top"];
    for (let tick = first; tick <= last; tick++) {
      const x = Math.round(this.#x(tick * step - offset));
      pen.fillStyle = this.#theme.line;
      // It is behind the traces, although they are drawn already.
      [pen.globalAlpha, pen.globalCompositeOperation] = [0.7, this.#theme.dark ? "lighten" : "darken"];
      for (const { box } of this.panels) pen.fillRect(x, box.top, Math.max(1, Math.floor(ratio)), box.height);
      [pen.globalAlpha, pen.globalCompositeOperation] = [1, "source-over"];
      pen.fillStyle = this.#theme.dim;
      const inside = x > this.#left + 26 * ratio && x < right - 26 * ratio;
      if (inside && this.#wall !== null) pen.fillText(clockText(tick * step, step), x, bottom + 6 * ratio);
    }
  }

  /** Below a single panel: which of its channels are in sight. Gives the room that this takes. */
  #drawSight(y) {
    const pen = this.#pen, ratio = this.#ratio, [{ sight }, other] = this.panels;
    if (other || !sight) return 0;
    [pen.textAlign, pen.textBaseline, pen.fillStyle] = ["right", "top", this.#theme.ink];
    pen.fillText(sight, this.#canvas.width - 5 * ratio, y + 6 * ratio);
    return pen.measureText(sight).width;
  }

  /** The stream that the controls speak of is the dark one. */
  #drawTitle({ name, sight, health, box: { left, top, width, ratio } }, isActive) {
    const pen = this.#pen, isWrong = ["stopped", "silent"].includes(health), title = [name, sight, isWrong ? health : ""].filter(Boolean).join(" · ");
    pen.font = `600 ${11 * ratio}px system-ui, sans-serif`;
    [pen.textAlign, pen.textBaseline] = ["right", "top"];
    const wide = pen.measureText(title).width + 10 * ratio, right = left + width - 4 * ratio;
    pen.globalAlpha = 0.85;
    pen.fillStyle = this.#theme.card;
    pen.fillRect(right - wide, top, wide, 16 * ratio);
    pen.globalAlpha = 1;
    pen.fillStyle = isWrong ? this.#theme.bad : isActive ? this.#theme.ink : this.#theme.dim;
    pen.fillText(title, right - 5 * ratio, top + 3 * ratio);
  }

  /** What is older than what the program keeps is not empty, but unknown. */
  #drawUnkept({ box, oldest, view }) {
    if (view.until === null || oldest === null) return;
    const pen = this.#pen, end = clamp(this.#x(oldest), box.left, box.left + box.width);
    if (end - box.left < 2) return;
    pen.globalAlpha = 0.35;
    hatch(pen, box.left, box.top, end - box.left, box.height, this.#theme.line, box.ratio);
    pen.globalAlpha = 1;
    [pen.fillStyle, pen.textAlign, pen.textBaseline] = [this.#theme.dim, "right", "middle"];
    pen.font = `${12 * box.ratio}px system-ui, sans-serif`;
    if (end - box.left > 130 * box.ratio) pen.fillText("not kept any more", end - 8 * box.ratio, box.top + box.height / 2);
  }

  #drawCursor() {
    const pen = this.#pen, { x, y } = this.cursor, ratio = this.#ratio;
    if (x < this.#left || x > this.#left + this.#width) return;
    const found = this.reading();
    pen.fillStyle = this.#theme.dim;
    pen.globalAlpha = 0.8;
    pen.fillRect(Math.round(x), LANE * ratio, Math.max(1, Math.floor(ratio)), this.#canvas.height - (LANE + AXIS) * ratio);
    pen.globalAlpha = 1;
    if (!found) return;
    const at = found.panel.yOf(found.row, (found.low + found.high) / 2, this.#theme);
    if (at !== null) {
      pen.beginPath();
      pen.arc(this.#x(found.time), at, 3.5 * ratio, 0, 7);
      pen.fillStyle = this.#theme.ink;
      pen.fill();
    }
    const lines = [found.name, found.value, clockText(this.wallOf(found.time) ?? found.time, Math.min(0.001, found.panel.view.column_seconds))];
    pen.font = `600 ${12 * ratio}px system-ui, sans-serif`;
    const wide = Math.max(...lines.map(line => pen.measureText(line).width)) + 18 * ratio, tall = 56 * ratio;
    const left = x + wide + 14 * ratio > this.#canvas.width ? x - wide - 10 * ratio : x + 10 * ratio;
    const top = clamp(y - tall - 8 * ratio, 2 * ratio, this.#canvas.height - tall);
    pen.fillStyle = this.#theme.card;
    pen.strokeStyle = this.#theme.line;
    pen.lineWidth = ratio;
    pen.beginPath();
    pen.roundRect(left, top, wide, tall, 7 * ratio);
    pen.fill();
    pen.stroke();
    [pen.textAlign, pen.textBaseline] = ["left", "top"];
    lines.forEach((line, place) => {
      pen.fillStyle = place === 1 ? this.#theme.ink : this.#theme.dim;
      pen.font = `${place === 1 ? 600 : 400} ${12 * ratio}px system-ui, sans-serif`;
      pen.fillText(line, left + 9 * ratio, top + (7 + 15 * place) * ratio);
    });
  }

  /** What is under the pointer: channel, value and time; null for nothing. */
  reading() {
    const panel = this.cursor && this.panelAt(this.cursor.y), row = panel?.rowAt(this.cursor.y) ?? null;
    if (row === null) return null;
    const reach = Math.ceil(Math.max(4 * this.#ratio, panel.view.rate > 0 ? 0.6 / panel.view.rate / panel.view.column_seconds : 0));
    const found = panel.valueAt(row, this.timeAt(this.cursor.x), reach);
    if (!found) return null;
    const unit = panel.view.unit ? ` ${panel.view.unit}` : "";
    const value = found.low === found.high ? `${exact(found.low)}${unit}` : `${exact(found.low)} to ${exact(found.high)}${unit}`;
    return { ...found, panel, row, value, name: panel.view.names[row] ?? "" };
  }
}
