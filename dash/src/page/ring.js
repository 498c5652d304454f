// What a view has received, by pixel column, and the picture of it: a ring that is wider than the plot.
//
// A column is drawn once and then only moved, so it costs the same whether the window shows two seconds or sixty. The
// ring always holds one stretch of time, which ends a little after the right edge. What is older is not in it, whatever
// was received last: a stream that has stopped leaves the plot on the left, and nothing of it is ever drawn again.
//
// The picture is in tiles. A browser copies a canvas that was shown before it draws into it: here the last tile alone.

const TILE = 128;        // columns

export class Ring {
  newest = -Infinity;      // the newest column that was received, even if it is not in the ring any more
  version = 0;             // grows when all is to be drawn anew
  #tiles; #rows; #slots; #values; #indices; #ground = "";
  #drawn = -Infinity; #top = -Infinity; #last = null; #stale = true;

  /** Holds at least so many columns. */
  constructor(columns, rows) {
    this.#tiles = Array.from({ length: Math.ceil(columns / TILE) + 1 }, () => {
      const canvas = document.createElement("canvas");
      // What hides all that is below it is copied, which is cheaper than to mix it.
      return { canvas, pen: canvas.getContext("2d", { alpha: false }) };
    });
    [this.#slots, this.#rows] = [this.#tiles.length * TILE, rows];
    this.#values = new Float32Array(this.#slots * 2 * rows).fill(NaN);
    this.#indices = new Float64Array(this.#slots).fill(-Infinity);
  }

  /** Draws all columns anew with the next `draw`. */
  redraw() { this.#stale = true; this.version += 1; }

  /** Takes columns in, but none that is outside of the stretch that ends with column `top`. */
  add(frame, top) {
    const width = 2 * this.#rows;
    for (let column = 0; column < frame.indices.length; column++) {
      const index = frame.indices[column], slot = this.#slot(index);
      if (index > top) continue;
      if (index > this.newest) this.newest = index;
      if (index < this.#first(top)) continue;
      this.#indices[slot] = index;
      this.#values.set(frame.extremes.subarray(column * width, (column + 1) * width), slot * width);
    }
  }

  /** The oldest column that is in the stretch that ends with `top`. */
  oldest(top) {
    const first = this.#first(top);
    return this.#indices.reduce((oldest, index) => index >= first && index < oldest ? index : oldest, Infinity);
  }

  /** Lowest and highest values of a row per column of the stretch that ends with `top`, both sorted. */
  extremes(row, top) {
    const lows = [], highs = [], width = 2 * this.#rows, first = this.#first(top);
    for (let slot = 0; slot < this.#slots; slot++) {
      const low = this.#values[slot * width + 2 * row], high = this.#values[slot * width + 2 * row + 1];
      if (this.#indices[slot] >= first && low === low) { lows.push(low); highs.push(high); }
    }
    return [lows.sort((a, b) => a - b), highs.sort((a, b) => a - b)];
  }

  /** The column nearest to this one, no further than `reach`, that has numbers of a row: its index and extremes. */
  near(index, row, reach) {
    for (let distance = 0; distance <= reach; distance++) {
      for (const other of distance ? [index - distance, index + distance] : [index]) {
        const slot = this.#slot(other), at = (slot * this.#rows + row) * 2, low = this.#values[at];
        if (this.#indices[slot] === other && low === low) return { index: other, low, high: this.#values[at + 1] };
      }
    }
    return null;
  }

  /** Brings the picture to the stretch that ends with `top`; `look` says how it is drawn. */
  draw(top, look) {
    if (this.#stale || this.#tiles[0].canvas.height !== look.height) this.#begin(look);
    for (let page = Math.max(pageOf(this.#top) + 1, pageOf(this.#first(top))); page <= pageOf(top); page++) this.#clear(page);
    this.#top = Math.max(top, this.#top);
    const columns = [], to = Math.min(this.newest, top);
    for (let index = Math.max(this.#drawn + 1, this.#first(top)); index <= to; index++) {
      if (this.#indices[this.#slot(index)] === index) columns.push(index);
    }
    if (columns.length) this.#stroke(columns, look);
    this.#drawn = Math.max(this.#drawn, to);
  }

  /** Parts of the picture from a column to another one, as far as they are in it: canvas, first column there, its place, and how many. */
  *parts(from, to) {
    const last = Math.min(to, this.#top);
    for (let index = Math.max(from, this.#first(this.#top)); index <= last;) {
      const page = pageOf(index), end = Math.min((page + 1) * TILE, last + 1);
      yield { canvas: this.#tile(page).canvas, index, place: index - page * TILE, count: end - index };
      index = end;
    }
  }

  #slot(index) { return ((index % this.#slots) + this.#slots) % this.#slots; }

  #tile(page) { return this.#tiles[this.#slot(page * TILE) / TILE]; }

  /** The first column of the stretch that ends with `top`. */
  #first(top) { return (pageOf(top) - this.#tiles.length + 1) * TILE; }

  #begin({ height, ground }) {
    for (const { canvas } of this.#tiles) [canvas.width, canvas.height] = [TILE, height];
    [this.#drawn, this.#top, this.#ground] = [-Infinity, -Infinity, ground];
    this.#last = new Float32Array(this.#rows).fill(NaN);
    this.#stale = false;
  }

  #clear(page) {
    const { canvas, pen } = this.#tile(page);
    pen.fillStyle = this.#ground;
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }

  /** `look.lanes` says for each row that is drawn where its middle is, and in which ink. */
  #stroke(indices, look) {
    let before = this.#before(indices[0]), at = 0;
    for (let page = pageOf(before ?? indices[0]); at < indices.length; page++) {
      const start = at;
      while (at < indices.length && pageOf(indices[at]) === page) at += 1;
      this.#strokeTile(page, before, indices.slice(start, at), indices[at], look);
      if (at > start) before = indices[at - 1];
    }
  }

  /** Draws columns of one tile: lines come from the column `before`, and leave for the `next` one, which may be on other tiles. */
  #strokeTile(page, before, own, next, { lanes, gain, reach, hatch, lineWidth, alpha }) {
    const { canvas, pen } = this.#tile(page), offset = 0.5 - page * TILE, indices = next === undefined ? own : [...own, next];
    [pen.lineWidth, pen.lineJoin, pen.globalAlpha] = [lineWidth, "round", alpha];
    for (const { row, middle, base, ink } of lanes) {
      const clipped = [], center = middle + base * gain, [ceiling, floor] = [Math.max(middle - reach, 1), Math.min(middle + reach, canvas.height - 1)];
      let previous = before === null ? NaN : this.#last[row];
      pen.beginPath();
      pen.strokeStyle = ink;
      if (previous === previous) pen.moveTo(before + offset, previous);
      for (const index of indices) {
        const at = (this.#slot(index) * this.#rows + row) * 2, x = index + offset;
        let low = center - this.#values[at] * gain, high = center - this.#values[at + 1] * gain;
        const broken = previous !== previous;
        if (low !== low) { if (index !== next) previous = NaN; continue; } // No number: the line breaks.
        // Canvas coordinates are y-down, so the greater value is the upper one.
        if (high < ceiling) { clipped.push(x - 0.5, ceiling); high = ceiling; low = Math.max(low, ceiling); }
        if (low > floor) { clipped.push(x - 0.5, floor); low = floor; high = Math.min(high, floor); }
        const [enter, leave] = Math.abs(low - previous) < Math.abs(high - previous) ? [low, high] : [high, low];
        if (broken) pen.moveTo(x, enter); else pen.lineTo(x, enter);
        if (index === next) break;
        if (leave !== enter) pen.lineTo(x, leave); else if (broken) pen.lineTo(x + 0.1, leave);
        previous = leave;
      }
      pen.stroke();
      this.#last[row] = previous;
      if (clipped.length) hatchEnds(pen, clipped, middle, hatch, page * TILE);
    }
    pen.globalAlpha = 1;
  }

  /** The column that this one continues; null if there is none. */
  #before(index) {
    for (let earlier = index - 1; earlier >= this.#first(this.#top); earlier--) if (this.#indices[this.#slot(earlier)] === earlier) return earlier;
    return null;
  }
}

/** Where a trace is cut off at the end of its room, that end is hatched. */
function hatchEnds(pen, clipped, middle, { ink, size }, origin) {
  const spacing = Math.max(3, Math.round(size));
  pen.beginPath();
  pen.strokeStyle = ink;
  for (let at = 0; at < clipped.length; at += 2) {
    const [x, y] = [clipped[at], clipped[at + 1]];
    if ((x + origin) % spacing) continue;
    const inward = y < middle ? size : -size;
    pen.moveTo(x, y);
    pen.lineTo(x + size, y + inward);
  }
  pen.stroke();
}

function pageOf(index) { return Math.floor(index / TILE); }
