// What a view has received, by pixel column, and the picture of it: a ring that is wider than the plot.
//
// A column is drawn once and then only moved, so it costs the same whether the window shows two seconds or sixty. The
// ring always holds one stretch of time, which ends a little after the right edge. What is older is not in it, whatever
// was received last: a stream that has stopped leaves the plot on the left, and nothing of it is ever drawn again.

export class Ring {
  canvas = document.createElement("canvas");
  newest = -Infinity;      // the newest column that was received, even if it is not in the ring any more
  #pen = this.canvas.getContext("2d");
  #rows; #slots; #values; #indices;
  #drawn = -Infinity; #cleared = -Infinity; #last = null; #stale = true;

  constructor(columns, rows) {
    [this.#slots, this.#rows] = [columns, rows];
    this.#values = new Float32Array(columns * 2 * rows).fill(NaN);
    this.#indices = new Float64Array(columns).fill(-Infinity);
  }

  /** Columns that fit. */
  get width() { return this.#slots; }

  /** Where a column is. */
  slot(index) { return ((index % this.#slots) + this.#slots) % this.#slots; }

  /** Draws all columns anew with the next `draw`. */
  redraw() { this.#stale = true; }

  /** Takes columns in, but none that is outside of the stretch that ends with column `top`. */
  add(frame, top) {
    const width = 2 * this.#rows;
    for (let column = 0; column < frame.indices.length; column++) {
      const index = frame.indices[column], slot = this.slot(index);
      if (index > top) continue;
      if (index > this.newest) this.newest = index;
      if (index <= top - this.#slots) continue;
      this.#indices[slot] = index;
      this.#values.set(frame.extremes.subarray(column * width, (column + 1) * width), slot * width);
    }
  }

  /** The oldest column that is in the stretch that ends with `top`. */
  oldest(top) {
    return this.#indices.reduce((oldest, index) => index > top - this.#slots && index < oldest ? index : oldest, Infinity);
  }

  /** Lowest and highest values of a row per column of the stretch that ends with `top`, both sorted. */
  extremes(row, top) {
    const lows = [], highs = [], width = 2 * this.#rows;
    for (let slot = 0; slot < this.#slots; slot++) {
      const low = this.#values[slot * width + 2 * row], high = this.#values[slot * width + 2 * row + 1];
      if (this.#indices[slot] > top - this.#slots && low === low) { lows.push(low); highs.push(high); }
    }
    return [lows.sort((a, b) => a - b), highs.sort((a, b) => a - b)];
  }

  /** The column nearest to this one, no further than `reach`, that has numbers of a row: its index and extremes. */
  near(index, row, reach) {
    for (let distance = 0; distance <= reach; distance++) {
      for (const other of distance ? [index - distance, index + distance] : [index]) {
        const slot = this.slot(other), at = (slot * this.#rows + row) * 2, low = this.#values[at];
        if (this.#indices[slot] === other && low === low) return { index: other, low, high: this.#values[at + 1] };
      }
    }
    return null;
  }

  /** Brings the picture to the stretch that ends with `top`; `look` says how it is drawn. */
  draw(top, look) {
    if (this.#stale || this.canvas.height !== look.height) this.#begin(top, look.height);
    if (top > this.#cleared) this.#clear(Math.max(this.#cleared + 1, top - this.#slots + 1), top);
    this.#cleared = Math.max(top, this.#cleared);
    const columns = [], to = Math.min(this.newest, top);
    for (let index = Math.max(this.#drawn, top - this.#slots) + 1; index <= to; index++) {
      const slot = this.slot(index);
      if (this.#indices[slot] === index) columns.push(slot);
    }
    if (columns.length) this.#stroke(columns, top, look);
    this.#drawn = Math.max(this.#drawn, to);
  }

  #begin(top, height) {
    // Setting the size clears it as well.
    [this.canvas.width, this.canvas.height] = [this.#slots, height];
    [this.#drawn, this.#cleared] = [-Infinity, top];
    this.#last = new Float32Array(this.#rows).fill(NaN);
    this.#stale = false;
  }

  #clear(from, to) {
    const [first, last] = [this.slot(from), this.slot(to)], { width, height } = this.canvas;
    if (to - from + 1 >= width) return this.#pen.clearRect(0, 0, width, height);
    if (first <= last) return this.#pen.clearRect(first, 0, last - first + 1, height);
    this.#pen.clearRect(first, 0, width - first, height);
    this.#pen.clearRect(0, 0, last + 1, height);
  }

  /** `lanes` says for each row that is drawn where its middle is, and in which ink. */
  #stroke(slots, top, { lanes, gain, reach, hatch, lineWidth, alpha }) {
    const pen = this.#pen, before = this.#before(slots[0], top);
    [pen.lineWidth, pen.lineJoin, pen.globalAlpha] = [lineWidth, "round", alpha];
    for (const { row, middle, base, ink } of lanes) {
      const clipped = [], center = middle + base * gain, [ceiling, floor] = [middle - reach, middle + reach];
      let previous = before === null ? NaN : this.#last[row], x = before;
      pen.beginPath();
      pen.strokeStyle = ink;
      for (const slot of slots) {
        const at = (slot * this.#rows + row) * 2;
        let low = center - this.#values[at] * gain, high = center - this.#values[at + 1] * gain;
        if (low !== low) { previous = NaN; continue; } // No number: the line breaks.
        // Canvas coordinates are y-down, so the greater value is the upper one.
        if (high < ceiling) { clipped.push(slot, ceiling); high = ceiling; low = Math.max(low, ceiling); }
        if (low > floor) { clipped.push(slot, floor); low = floor; high = Math.min(high, floor); }
        const broken = previous !== previous;
        const [enter, leave] = Math.abs(low - previous) < Math.abs(high - previous) ? [low, high] : [high, low];
        if (broken) pen.moveTo(slot + 0.5, enter); else if (slot < x) {
          // Over the seam of the ring the line leaves on the right, and enters on the left.
          pen.moveTo(x + 0.5, previous);
          pen.lineTo(slot + this.#slots + 0.5, enter);
          pen.moveTo(x - this.#slots + 0.5, previous);
          pen.lineTo(slot + 0.5, enter);
        } else {
          if (slot === slots[0]) pen.moveTo(x + 0.5, previous);
          pen.lineTo(slot + 0.5, enter);
        }
        if (leave !== enter) pen.lineTo(slot + 0.5, leave); else if (broken) pen.lineTo(slot + 0.6, leave);
        [previous, x] = [leave, slot];
      }
      pen.stroke();
      this.#last[row] = previous;
      if (clipped.length) this.#hatch(clipped, middle, hatch);
    }
    pen.globalAlpha = 1;
  }

  /** Where a trace is cut off at the end of its room, that end is hatched. */
  #hatch(clipped, middle, { ink, size }) {
    const pen = this.#pen, spacing = Math.max(3, Math.round(size));
    pen.beginPath();
    pen.strokeStyle = ink;
    for (let at = 0; at < clipped.length; at += 2) {
      const [slot, y] = [clipped[at], clipped[at + 1]];
      if (slot % spacing) continue;
      const inward = y < middle ? size : -size;
      pen.moveTo(slot, y);
      pen.lineTo(slot + size, y + inward);
    }
    pen.stroke();
  }

  /** Where the column is that this one continues; null if there is none. */
  #before(slot, top) {
    const index = this.#indices[slot];
    for (let earlier = index - 1; earlier > index - this.#slots && earlier > top - this.#slots; earlier--) {
      const place = this.slot(earlier);
      if (this.#indices[place] === earlier) return place;
    }
    return null;
  }
}
