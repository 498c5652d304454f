// The cells of a row: what is said of one stream, and its small picture.

import { color } from "./colors.js";
import { count, duration, plural, rate } from "./format.js";

const SHAPES = {
  live: '<circle cx="8" cy="8" r="6"/>',
  connecting: '<circle cx="8" cy="8" r="6"/>',
  unknown: '<path d="M3 8h10"/>',
  unwell: '<path d="M8 2 15 14H1Z" stroke-linejoin="round"/>',
  silent: '<path d="M8 2 15 14H1Z" stroke-linejoin="round"/>',
  stopped: '<rect x="2.5" y="2.5" width="11" height="11" rx="1.5"/>',
};
const LOCKS = {
  plain: '<rect x="3" y="8" width="10" height="7" rx="1.5"/><path d="M5 8V5a3 3 0 0 1 5.6-1.5"/>',
  sealed: '<rect x="3" y="8" width="10" height="7" rx="1.5"/><path d="M5 8V5a3 3 0 0 1 6 0v3"/>',
  refused: '<path d="M3 3 13 13M13 3 3 13"/>',
};
const LOCK_TITLES = {
  plain: "Not encrypted: everybody on the network can read and change it.",
  sealed: "Encrypted and authenticated.",
};
const SPARK = { width: 150, height: 30 };   // as in the style sheet: asking the page would make it lay itself out

export const ROW = `
  <td class="state"><span class="health"><svg viewBox="0 0 16 16" aria-hidden="true"></svg><span></span></span></td>
  <th scope="row"><button class="name" type="button"></button><small></small></th>
  <td class="wide"><canvas class="spark" aria-hidden="true"></canvas></td>
  <td class="number"><span></span><small></small></td>
  <td class="number"><span></span><small></small></td>
  <td class="number"><span></span><small></small></td>
  <td class="wide"><span></span><small></small></td>
  <td><span class="lock"><svg viewBox="0 0 16 16" aria-hidden="true"></svg><span></span></span><button class="dismiss" type="button" hidden>Dismiss</button></td>`;

/** Whether something is wrong with a stream that a person should look at. */
export function isWrong(stream) { return ["silent", "stopped", "unwell"].includes(state(stream)); }

/** How a stream is, in a word. */
function state({ health, trouble }) { return health === "live" && trouble ? "unwell" : health; }

/** Brings a row up to date, and returns what should be announced of it. */
export function fill(row, stream, before) {
  const [stateCell, title, , rateCell, lagCell, gapCell, clockCell, lockCell] = row.cells;
  const news = [], [now, then] = [state(stream), before && state(before)];
  if (now !== then) {
    fillState(stateCell.firstElementChild, now);
    row.element.classList.toggle("stopped-row", stream.health === "stopped");
    row.element.classList.toggle("wrong", isWrong(stream));
    if (then && ![now, then].includes("unknown")) news.push(`${stream.name}: ${now}`);
  }
  text(row.name, stream.name);
  text(title.lastElementChild, describe(stream));
  if (title.lastElementChild.title !== title.lastElementChild.textContent) title.lastElementChild.title = title.lastElementChild.textContent;
  fillRate(rateCell, stream);
  fillLag(lagCell, stream);
  fillGaps(gapCell, stream);
  fillClock(clockCell, stream);
  const gone = stream.gone !== null;
  if (row.dismiss.hidden === gone) {
    [row.dismiss.hidden, lockCell.firstElementChild.hidden] = [!gone, gone];
    row.dismiss.setAttribute("aria-label", `Dismiss ${stream.name}`);
  }
  if (!before || before.lock !== stream.lock || before.sender !== stream.sender || before.refusal !== stream.refusal) {
    fillLock(lockCell.firstElementChild, stream);
    if (stream.refusal && before?.refusal !== stream.refusal) news.push(`${stream.name} is refused: ${stream.refusal}`);
  }
  if (row.isVisible) drawSpark(row);
  return news;
}

function describe(stream) {
  const shape = stream.nominal_rate > 0 ? `${plural(stream.channels, "channel")} at ${Number(stream.nominal_rate.toPrecision(6))} Hz`
    : `${plural(stream.channels, "channel")}, irregular`;
  const gone = stream.gone !== null && `gone for ${duration(stream.gone).replace(/\.\d+ s/, " s")}`;
  return stream.refusal ?? stream.trouble ?? [gone, stream.content, shape, stream.format, stream.host].filter(Boolean).join(" · ");
}

function fillState(element, word) {
  element.className = `health ${word}`;
  element.firstElementChild.innerHTML = SHAPES[word];
  element.lastElementChild.textContent = word === "unwell" ? "not well" : word;
}

function fillLock(lock, stream) {
  lock.className = `lock ${stream.lock ?? ""}`;
  lock.title = stream.refusal ?? [LOCK_TITLES[stream.lock], stream.sender && `From ${stream.sender}.`].filter(Boolean).join(" ");
  lock.firstElementChild.innerHTML = LOCKS[stream.lock] ?? "";
  text(lock.lastElementChild, stream.lock ?? "–");
}

function fillRate(cell, stream) {
  const known = stream.rate !== null && stream.health !== "stopped";
  const off = known && stream.nominal_rate > 0 ? stream.rate / stream.nominal_rate - 1 : 0;
  const odd = Math.abs(off) > 0.01;
  put(cell, known ? rate(stream.rate) : "–", odd ? `${off > 0 ? "▲" : "▼"} ${Math.abs(off * 100).toFixed(1)} %` :
    `${count(stream.total)} samples`, odd ? "odd" : "");
}

function fillLag(cell, stream) {
  if (!stream.lag || stream.health === "stopped") return put(cell, "–", "");
  put(cell, duration(stream.lag[0]), `p99 ${duration(stream.lag[1])}`, stream.lag[0] > 0.5 ? "odd" : "");
}

function fillGaps(cell, stream) {
  if (stream.nominal_rate === 0) return put(cell, "–", "");
  put(cell, stream.gaps ? count(stream.gaps) : "none", stream.gaps ? `${plural(stream.missing, "sample")}` : "",
    stream.gaps ? "lost" : "");
}

function fillClock(cell, stream) {
  if (stream.clock_offset === null) return put(cell, "–", "");
  const sign = stream.clock_offset >= 0 ? "+" : "−";
  put(cell, sign + duration(Math.abs(stream.clock_offset)), `± ${duration(stream.clock_uncertainty / 2)}`);
}

function put(cell, main, sub, style = "") {
  text(cell.firstElementChild, main);
  if (cell.firstElementChild.className !== style) cell.firstElementChild.className = style;
  text(cell.lastElementChild, sub);
}

/** Writes only what changed, so that a screen reader that reads a row is not interrupted. */
function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

export function drawSpark({ spark, stream }) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [SPARK.width * ratio, SPARK.height * ratio].map(Math.round);
  if (spark.width !== width || spark.height !== height) [spark.width, spark.height] = [width, height];
  const pen = spark.getContext("2d");
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = color(isWrong(stream) ? "--bad" : "--accent");
  const columns = stream.spark.length / 2, step = width / columns, room = height - 4 * ratio;
  for (let column = 0; column < columns; column++) {
    const [low, high] = [stream.spark[2 * column], stream.spark[2 * column + 1]];
    if (low < 0) continue;
    const tick = stream.kind === "markers";
    const [top, bottom] = tick ? [0.15 * height, 0.85 * height] : [2 * ratio + room * (1 - high / 100), 2 * ratio + room * (1 - low / 100)];
    pen.fillRect(column * step, top, Math.max(step - ratio * 0.6, 1), Math.max(bottom - top, 1.5 * ratio));
  }
}
