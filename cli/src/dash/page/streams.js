// The list of streams: a table whose rows keep their place while their cells change.

import { color } from "./colors.js";
import { count, duration, plural, rate } from "./format.js";

const SHAPES = {
  live: '<circle cx="8" cy="8" r="6"/>',
  connecting: '<circle cx="8" cy="8" r="6"/>',
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

export class StreamList {
  #body;
  #rows = new Map();
  #onChoose;
  #announce;

  constructor(table, onChoose, announce) {
    this.#body = table.tBodies[0];
    this.#onChoose = onChoose;
    this.#announce = announce;
    this.#body.addEventListener("keydown", event => this.#move(event));
  }

  update(streams) {
    for (const stream of streams) {
      const row = this.#rows.get(stream.id) ?? this.#add(stream);
      this.#fill(row, stream);
    }
  }

  markChosen(id) {
    for (const [key, row] of this.#rows) {
      row.element.classList.toggle("chosen", key === id);
      row.name.setAttribute("aria-pressed", key === id);
    }
  }

  drawAll() {
    for (const row of this.#rows.values()) drawSpark(row);
  }

  #add(stream) {
    const element = this.#body.insertRow();
    element.innerHTML = `
      <td class="state"><span class="health"><svg viewBox="0 0 16 16" aria-hidden="true"></svg><span></span></span></td>
      <th scope="row"><button class="name" type="button"></button><small></small></th>
      <td class="wide"><canvas class="spark" aria-hidden="true"></canvas></td>
      <td class="number"><span></span><small></small></td>
      <td class="number"><span></span><small></small></td>
      <td class="number"><span></span><small></small></td>
      <td class="wide"><span></span><small></small></td>
      <td><span class="lock"><svg viewBox="0 0 16 16" aria-hidden="true"></svg><span></span></span></td>`;
    const name = element.querySelector(".name");
    element.addEventListener("click", () => this.#onChoose(stream.id));
    const row = { element, name, cells: [...element.cells], spark: element.querySelector("canvas"), stream: null };
    this.#rows.set(stream.id, row);
    return row;
  }

  #fill(row, stream) {
    const before = row.stream;
    row.stream = stream;
    const [state, title, , rateCell, lagCell, gapCell, clockCell, lockCell] = row.cells;
    if (before?.health !== stream.health) {
      const health = state.firstElementChild;
      health.className = `health ${stream.health}`;
      health.firstElementChild.innerHTML = SHAPES[stream.health];
      health.lastElementChild.textContent = stream.health;
      row.element.classList.toggle("stopped-row", stream.health === "stopped");
      if (before) this.#announce(`${stream.name}: ${stream.health}`);
    }
    const shape = stream.nominal_rate > 0 ? `${plural(stream.channels, "channel")} at ${Number(stream.nominal_rate.toPrecision(6))} Hz`
      : `${plural(stream.channels, "channel")}, irregular`;
    text(row.name, stream.name);
    text(title.lastElementChild, stream.refusal ?? [stream.content, shape, stream.format, stream.host].filter(Boolean).join(" · "));
    fillRate(rateCell, stream);
    fillLag(lagCell, stream);
    fillGaps(gapCell, stream);
    fillClock(clockCell, stream);
    if (!before || before.lock !== stream.lock || before.sender !== stream.sender || before.refusal !== stream.refusal) {
      const lock = lockCell.firstElementChild;
      lock.className = `lock ${stream.lock ?? ""}`;
      lock.title = stream.refusal ?? [LOCK_TITLES[stream.lock], stream.sender && `From ${stream.sender}.`].filter(Boolean).join(" ");
      if (stream.refusal && before?.refusal !== stream.refusal) this.#announce(`${stream.name} is refused: ${stream.refusal}`);
      lock.firstElementChild.innerHTML = LOCKS[stream.lock] ?? "";
      text(lock.lastElementChild, stream.lock ?? "–");
    }
    drawSpark(row);
  }

  #move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const names = [...this.#body.querySelectorAll(".name")];
    const next = names[names.indexOf(document.activeElement) + step];
    if (next) { next.focus(); event.preventDefault(); }
  }
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

function drawSpark({ spark, stream }) {
  if (!stream || spark.clientWidth === 0) return;
  const ratio = devicePixelRatio || 1;
  const [width, height] = [spark.clientWidth * ratio, spark.clientHeight * ratio].map(Math.round);
  if (spark.width !== width || spark.height !== height) [spark.width, spark.height] = [width, height];
  const pen = spark.getContext("2d");
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = color(stream.health === "stopped" ? "--bad" : "--accent");
  const columns = stream.spark.length / 2, step = width / columns, room = height - 4 * ratio;
  for (let column = 0; column < columns; column++) {
    const [low, high] = [stream.spark[2 * column], stream.spark[2 * column + 1]];
    if (low < 0) continue;
    const tick = stream.kind === "markers";
    const [top, bottom] = tick ? [0.15 * height, 0.85 * height] : [2 * ratio + room * (1 - high / 100), 2 * ratio + room * (1 - low / 100)];
    pen.fillRect(column * step, top, Math.max(step - ratio * 0.6, 1), Math.max(bottom - top, 1.5 * ratio));
  }
}
