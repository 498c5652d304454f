// A list of lines of which only those in sight, and near it, are in the page.
//
// A browser pays for every element in every frame while traces scroll. A short list is in the page as a whole, so that a search of
// the browser and a screen reader find all of it.

import { clamp } from "./format.js";

const SHORT = 250;       // lines
const MARGIN = 20;       // lines above and below what is in sight
const LINE = 33;         // px, until it has been measured

export class Shelf {
  #list; #seen; #lines = []; #places = new Map(); #top = 0; #height = 800; #pitch = LINE; #isMeasured = false; #order = "";
  #above = space(); #below = space();

  /** Calls `seen(element)` for a line that comes into sight. */
  constructor(list, seen) {
    [this.#list, this.#seen] = [list, seen];
    list.addEventListener("scroll", () => { this.#top = list.scrollTop; this.#put(); }, { passive: true });
    new ResizeObserver(([entry]) => { this.#height = entry.contentRect.height; this.#measure(); this.#put(); }).observe(list);
  }

  /** Shows these elements in their order. */
  show(lines) {
    this.#lines = lines;
    this.#places = new Map(lines.map((line, place) => [line, place]));
    this.#put();
  }

  /** Whether a line is in sight, or nearly so. */
  isSeen(line) {
    const place = this.#places.get(line), [first, last] = this.#sight;
    return place >= first - 2 && place <= last + 2;
  }

  /** The line with the class `stream` before (-1) or after (1) another one; brings it into the page. */
  next(line, step) {
    let place = this.#places.get(line);
    do place += step; while (this.#lines[place] && !this.#lines[place].classList.contains("stream"));
    const found = this.#lines[place];
    if (found) this.#bring(place);
    return found;
  }

  /** Brings a line into sight. */
  reveal(line) {
    const place = this.#places.get(line);
    if (place === undefined) return;
    this.#bring(place);
    line.scrollIntoView({ block: "nearest" });
  }

  /** Brings a line into the page. */
  #bring(place) {
    if (this.#lines[place].isConnected) return;
    this.#list.scrollTop = this.#top = Math.max(0, place * this.#pitch - this.#height / 2);
    this.#put();
  }

  get #sight() { return [this.#top / this.#pitch, (this.#top + this.#height) / this.#pitch]; }

  #put() {
    const count = this.#lines.length, isShort = count <= SHORT, [top, bottom] = this.#sight;
    const first = isShort ? 0 : clamp(Math.floor(top) - MARGIN, 0, count), last = isShort ? count : clamp(Math.ceil(bottom) + MARGIN, first, count);
    const lines = this.#lines.slice(first, last);
    const order = `${first} ${count} ${lines.map(line => line.dataset.host ?? line.dataset.id ?? "fold").join("\n")}`;
    if (order === this.#order) return;
    this.#order = order;
    const focused = document.activeElement, holds = this.#list.contains(focused);
    this.#above.style.height = `${first * this.#pitch}px`;
    this.#below.style.height = `${(count - last) * this.#pitch}px`;
    this.#replace(isShort ? lines : [this.#above, ...lines, this.#below]);
    if (holds && focused.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
    if (!this.#isMeasured && lines.length > 3) requestAnimationFrame(() => { this.#measure(); this.#put(); });
    lines.forEach((line, place) => {
      if (!isShort) for (const [name, value] of [["aria-posinset", first + place + 1], ["aria-setsize", count]]) line.setAttribute(name, value);
      if (this.isSeen(line)) this.#seen(line);
    });
  }

  /** Brings the list to these elements. What stays is not moved: a browser would lose the focus in it, and the place. */
  #replace(wanted) {
    const list = this.#list, kept = new Set(wanted);
    for (const child of [...list.children]) if (!kept.has(child)) child.remove();
    wanted.forEach((element, place) => { if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null); });
    if (wanted[0] === this.#above && list.scrollTop !== this.#top) list.scrollTop = this.#top;
  }

  /** How far lines are apart; asked only when the page has just been laid out. */
  #measure() {
    const [one, other] = this.#list.querySelectorAll(".stream + .stream");
    if (!one || !other || other.offsetTop <= one.offsetTop) return;
    [this.#pitch, this.#isMeasured, this.#order] = [other.offsetTop - one.offsetTop, true, ""];
  }
}

function space() {
  const element = document.createElement("li");
  element.setAttribute("aria-hidden", "true");
  return element;
}
