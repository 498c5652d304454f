// A recording in place of the lab: where in it the picture is, and what speaks against it.

import { clamp, duration, plural } from "./format.js";
import { WINDOWS } from "./hands.js";

const LONGER = [1800, 3600, 7200, 14400, 28800, 57600, 86400];   // seconds
const SLIDES = 10_000;   // steps of the slider

/** Shows a recording; calls `moved()` when another stretch is to be seen, and `goTo(time)` for a verdict. */
export class Tape {
  #plot; #handlers; #span = null; #bar = null; #slider = null; #place = null; #note = null; #list = null;

  constructor(plot, handlers) { [this.#plot, this.#handlers] = [plot, handlers]; }

  get isOpen() { return this.#span !== null; }

  /** What the server shows is a recording. */
  begin({ path, from, until }) {
    const isNew = this.#span === null;
    this.#span = this.#plot.span = { from, until };
    this.#plot.until ??= Math.min(from + this.#plot.window, until);
    document.body.dataset.shows = "recording";
    document.title = `${path.split(/[\\/]/).at(-1)} – Schwann`;
    if (isNew) this.#build(path);
    this.moved();
  }

  /** The picture shows another stretch. */
  moved() {
    if (!this.isOpen) return;
    const { from, until } = this.#span, whole = until - from, { window } = this.#plot, edge = this.#plot.until ?? until;
    const begin = Math.max(edge - window - from, 0), room = Math.max(whole - window, 0);
    this.#slider.disabled = room === 0;
    this.#slider.value = String(room ? Math.round(begin / room * SLIDES) : 0);
    const text = `${stopwatch(begin)} to ${stopwatch(Math.min(edge - from, whole))} of ${stopwatch(whole)}`;
    this.#place.textContent = text;
    this.#slider.setAttribute("aria-valuetext", text);
  }

  /** The server has read on, or found something. */
  take({ done, all, seconds_left: left, verdicts, failure }) {
    if (!this.isOpen) return;
    const percent = all ? Math.floor(done / all * 100) : 0;
    this.#note.textContent = failure ? `Not all was read: ${failure}` :
      verdicts === null ? `Looking for faults: ${percent} %${left === null ? "" : `, ${duration(Math.ceil(left))} left`}` :
      verdicts.length ? plural(verdicts.length, "verdict") : "No problems found in these streams.";
    this.#list.hidden = !verdicts?.length;
    const names = this.#handlers.names();
    this.#list.replaceChildren(...(verdicts ?? []).map(({ stream, text, time }) => {
      const line = document.createElement("li"), name = names.get(stream) ?? "";
      const what = document.createElement(time === null ? "span" : "button");
      if (time !== null) { what.type = "button"; what.addEventListener("click", () => this.#handlers.goTo(time)); }
      what.textContent = `${name}: ${text}${time === null ? "" : ` (at ${stopwatch(time - this.#span.from)})`}`;
      line.append(what);
      return line;
    }));
  }

  /** Whether all events of the stretch are drawn. */
  tellEvents(isAll) { if (this.isOpen) this.#bar.dataset.events = isAll === false ? "some" : "all"; }

  #build(path) {
    const whole = this.#span.until - this.#span.from, first = WINDOWS.findIndex(seconds => seconds >= whole);
    const longer = LONGER.filter(seconds => seconds < whole);
    WINDOWS.splice(first < 0 ? WINDOWS.length : first + 1, Infinity, ...(first < 0 ? [...longer, Math.ceil(whole)] : []));
    this.#handlers.windows();
    this.#bar = make("section", { id: "tape", className: "card tape" });
    this.#bar.setAttribute("aria-label", "The recording");
    this.#slider = make("input", { type: "range", min: 0, max: SLIDES, id: "tape-place" });
    this.#slider.setAttribute("aria-label", "Place in the recording");
    this.#slider.addEventListener("input", () => this.#slide());
    [this.#place, this.#note, this.#list] = [make("p", { id: "tape-time" }), make("p", { id: "tape-note" }), make("ul", { id: "verdicts", hidden: true })];
    this.#note.setAttribute("role", "status");
    const some = make("p", { className: "some", textContent: "More events lie here than are drawn: zoom in to see all." });
    this.#bar.append(make("h2", { textContent: path }), this.#slider, this.#place, this.#note, some, this.#list);
    document.querySelector("main").before(this.#bar);
  }

  #slide() {
    const { from, until } = this.#span, room = Math.max(until - from - this.#plot.window, 0);
    this.#plot.until = clamp(from + Number(this.#slider.value) / SLIDES * room + this.#plot.window, from, until);
    this.#handlers.moved();
  }
}

function make(tag, properties) { return Object.assign(document.createElement(tag), properties); }

/** A time into a recording, such as 1:02:03.4. */
function stopwatch(seconds) {
  const tenths = Math.round(seconds * 10), parts = [Math.floor(tenths / 36000), Math.floor(tenths / 600) % 60, (tenths % 600) / 10];
  const rest = parts[2].toFixed(1).padStart(4, "0");
  return parts[0] ? `${parts[0]}:${String(parts[1]).padStart(2, "0")}:${rest}` : `${parts[1]}:${rest}`;
}
