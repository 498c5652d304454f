// Events: the lane above the traces, and the list below them.

import { clockText } from "./format.js";

const LISTED = 50;

/** Draws what happened above the traces, and a line through them. */
export function drawEvents(pen, events, x, { left, width, top, bottom, ratio }, theme) {
  pen.font = `550 ${11 * ratio}px system-ui, sans-serif`;
  [pen.textAlign, pen.textBaseline] = ["left", "middle"];
  let free = -Infinity;
  for (const event of events) {
    const at = Math.round(x(event.time));
    if (at < left || at > left + width) continue;
    const text = event.text.length > 22 ? `${event.text.slice(0, 21)}…` : event.text;
    const wide = pen.measureText(text).width + 12 * ratio;
    pen.fillStyle = eventColor(event.text, theme.dark);
    pen.globalAlpha = 0.5;
    pen.fillRect(at, top - 6 * ratio, Math.max(1, ratio), bottom - top + 6 * ratio);
    pen.globalAlpha = 1;
    // Events that come too close keep their line and leave out the text; the list below has all of them.
    if (at < free || at + wide > left + width + 16 * ratio) continue;
    pen.beginPath();
    pen.roundRect(at, top - 24 * ratio, wide, 18 * ratio, [0, 5 * ratio, 5 * ratio, 0]);
    pen.globalAlpha = 0.16;
    pen.fill();
    pen.globalAlpha = 1;
    pen.fillRect(at, top - 24 * ratio, 2 * ratio, 18 * ratio);
    pen.fillText(text, at + 7 * ratio, top - 14.5 * ratio);
    free = at + wide + 2 * ratio;
  }
}

/** The same text always has the same colour, whatever came before. */
function eventColor(text, dark) {
  let hash = 0;
  for (const letter of text) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return `hsl(${[20, 45, 285, 320, 340, 205][hash % 6]} ${dark ? 75 : 70}% ${dark ? 70 : 38}%)`;
}

/** The list of the newest events; a click on one goes to its time. */
export class EventList {
  #list; #open; #pending = null; #source = null;

  constructor(list, goTo) {
    this.#list = list;
    this.#open = list.closest("details");
    list.addEventListener("click", event => {
      const button = event.target.closest("button");
      if (button) goTo(Number(button.dataset.time));
    });
    this.#open.addEventListener("toggle", () => this.#fill());
  }

  /** Shows events; `nameOf` gives the name of a stream, `wallOf` the time of day. */
  update(events, nameOf, wallOf) {
    this.#source = { events, nameOf, wallOf };
    this.#open.hidden = events.length === 0;
    // Many streams send many events; a list that changes more often than this is read by no eye.
    this.#pending ??= setTimeout(() => { this.#pending = null; this.#fill(); }, 250);
  }

  #fill() {
    if (!this.#open.open || !this.#source) return;
    const { events, nameOf, wallOf } = this.#source;
    // A list that is in use keeps still under the hand.
    if (this.#list.contains(document.activeElement)) return;
    // Two streams may come with different delays.
    this.#list.replaceChildren(...events.slice(-LISTED).sort((a, b) => b.time - a.time).map(event => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      button.dataset.time = event.time;
      const parts = [["time", clockText(wallOf(event.time) ?? event.time, 0.001)], ["span", event.text], ["small", nameOf(event.stream)]];
      button.append(...parts.map(([tag, text]) => Object.assign(document.createElement(tag), { textContent: text })));
      item.append(button);
      return item;
    }));
  }
}
