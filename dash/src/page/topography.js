// A map of the head from above: what lies between electrodes is interpolated, and what lies far from them is left empty.

import { heat } from "./colors.js";
import { clamp } from "./format.js";
import { positionOf } from "./positions.js";

const GRID = 56;
const LEAST_RANGE = 1;          // dB
const REACH = [0.36, 0.52];   // radii of the head from the nearest electrode: so far a value is sure, and so far it is shown

/** Draws values of electrodes whose names have a known place. */
export function drawMap({ pen, width, height, ratio }, values, theme) {
  const known = values.flatMap(({ name, value }) => { const at = positionOf(name); return at ? [{ x: at[0], y: at[1], value, name }] : []; });
  const [low, high] = rangeOf(known.map(one => one.value));
  const radius = Math.min(width - 70 * ratio, height) / 2 - 9 * ratio, [cx, cy] = [(width - 60 * ratio) / 2, height / 2 + 4 * ratio];
  const picture = new ImageData(GRID, GRID);
  for (let row = 0; row < GRID; row++) for (let column = 0; column < GRID; column++) {
    const [x, y] = [(column + 0.5) / GRID * 2 - 1, 1 - (row + 0.5) / GRID * 2];
    if (x * x + y * y > 1.04) continue;
    let [sum, weights, nearest] = [0, 0, Infinity];
    for (const one of known) {
      const square = (one.x - x) ** 2 + (one.y - y) ** 2, weight = 1 / (square ** 1.5 + 1e-3);
      [sum, weights, nearest] = [sum + weight * one.value, weights + weight, Math.min(nearest, square)];
    }
    // Where no electrode is near, a colour would be invented.
    const seen = clamp((REACH[1] - Math.sqrt(nearest)) / (REACH[1] - REACH[0]), 0, 1);
    picture.data.set([...heat((sum / weights - low) / (high - low)), 255 * seen], (row * GRID + column) * 4);
  }
  const small = new OffscreenCanvas(GRID, GRID);
  small.getContext("2d").putImageData(picture, 0, 0);
  pen.save();
  pen.beginPath();
  pen.arc(cx, cy, radius, 0, 7);
  pen.clip();
  pen.drawImage(small, cx - radius, cy - radius, 2 * radius, 2 * radius);
  pen.restore();
  pen.strokeStyle = theme.dim;
  pen.lineWidth = 1.6 * ratio;
  pen.beginPath();
  pen.arc(cx, cy, radius, 0, 7);
  pen.moveTo(cx - 7 * ratio, cy - radius);
  pen.lineTo(cx, cy - radius - 8 * ratio);
  pen.lineTo(cx + 7 * ratio, cy - radius);
  pen.stroke();
  for (const { x, y } of known) {
    pen.beginPath();
    pen.arc(cx + x * radius, cy - y * radius, 1.8 * ratio, 0, 7);
    pen.fillStyle = "#000a";
    pen.fill();
  }
  drawKey({ pen, ratio }, cx + radius + 16 * ratio, cy, radius, low, high, theme);
}

/** From the lowest value to the highest; a difference of less than one decibel looks like one. */
function rangeOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)], missing = Math.max(0, LEAST_RANGE - (high - low)) / 2;
  return [low - missing, high + missing];
}

function drawKey({ pen, ratio }, x, middle, radius, low, high, theme) {
  const tall = radius * 1.3, top = middle - tall / 2;
  for (let step = 0; step < 40; step++) {
    pen.fillStyle = `rgb(${heat(1 - step / 39).join(" ")})`;
    pen.fillRect(x, top + tall * step / 40, 9 * ratio, tall / 40 + 1);
  }
  pen.fillStyle = theme.dim;
  [pen.textAlign, pen.textBaseline] = ["left", "middle"];
  const digits = high - low < 5 ? 1 : 0;
  pen.fillText(`${high.toFixed(digits)} dB`, x + 13 * ratio, top + 4 * ratio);
  pen.fillText(`${low.toFixed(digits)} dB`, x + 13 * ratio, top + tall - 4 * ratio);
}
