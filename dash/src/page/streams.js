// The list of streams: a table whose rows keep their place while their cells change.

import { ROW, drawSpark, fill } from "./cells.js";
import { count } from "./format.js";

const FOLD = 20;         // seconds after which a stream that is gone is folded away

export class StreamList {
  #body; #gone; #fold; #foldText; #unfold;
  #rows = new Map();
  #chosen = null;
  #isOpen = false;
  #handlers;
  #sight;

  /** Calls `handlers.choose(id)`, `handlers.dismiss(ids)` and `handlers.announce(text)`. */
  constructor(table, handlers) {
    [this.#body, this.#gone] = table.tBodies;
    this.#handlers = handlers;
    this.#fold = document.getElementById("gone-fold");
    this.#unfold = document.getElementById("unfold");
    this.#foldText = document.getElementById("gone-text");
    this.#unfold.addEventListener("click", () => this.#setOpen(!this.#isOpen));
    document.getElementById("dismiss-all").addEventListener("click", () => this.#dismissAll());
    table.addEventListener("keydown", event => this.#move(event));
    // Pictures that are out of sight are not drawn.
    this.#sight = new IntersectionObserver(entries => entries.forEach(entry => this.#see(entry)));
  }

  update(streams) {
    const known = new Set(streams.map(stream => stream.id));
    for (const id of [...this.#rows.keys()]) if (!known.has(id)) this.#remove(id);
    for (const stream of streams) {
      const row = this.#rows.get(stream.id) ?? this.#add(stream.id), before = row.stream;
      row.stream = stream;
      fill(row, stream, before).forEach(this.#handlers.announce);
      this.#place(row);
    }
    this.#tellFold();
  }

  markChosen(id) {
    this.#chosen = id;
    for (const [key, row] of this.#rows) {
      row.element.classList.toggle("chosen", key === id);
      row.name.setAttribute("aria-pressed", key === id);
    }
  }

  drawAll() {
    for (const row of this.#rows.values()) if (row.isVisible) drawSpark(row);
  }

  #add(id) {
    const element = this.#body.insertRow();
    element.className = "stream";
    element.innerHTML = ROW;
    const [name, dismiss, spark] = [".name", ".dismiss", ".spark"].map(part => element.querySelector(part));
    const row = { id, element, name, dismiss, spark, cells: [...element.cells], stream: null, isVisible: false };
    element.addEventListener("click", () => this.#handlers.choose(id));
    dismiss.addEventListener("click", event => { event.stopPropagation(); this.#handlers.dismiss([id]); });
    spark.row = row;
    this.#sight.observe(spark);
    this.#rows.set(id, row);
    return row;
  }

  #remove(id) {
    const row = this.#rows.get(id);
    this.#sight.unobserve(row.spark);
    row.element.remove();
    this.#rows.delete(id);
  }

  #see({ target, isIntersecting }) {
    target.row.isVisible = isIntersecting;
    if (isIntersecting && target.row.stream) drawSpark(target.row);
  }

  /** A stream that has been gone for a while is with the others that are; one that is back is where it was. */
  #place(row) {
    const isGone = row.stream.gone > FOLD && row.id !== this.#chosen, { element } = row;
    element.hidden = isGone && !this.#isOpen;
    if (element.classList.contains("gone") === isGone) return;
    element.classList.toggle("gone", isGone);
    const body = isGone ? this.#gone : this.#body;
    const next = [...this.#rows.values()].find(other => other.id > row.id && other.element.parentNode === body);
    body.insertBefore(element, next?.element ?? null);
  }

  #tellFold() {
    const gone = [...this.#rows.values()].filter(row => row.element.classList.contains("gone"));
    const label = gone.length === 1 ? `${gone[0].stream.name} is gone` : `${count(gone.length)} gone streams`;
    if (this.#foldText.textContent !== label) this.#foldText.textContent = label;
    this.#fold.hidden = gone.length === 0;
  }

  #setOpen(isOpen) {
    this.#isOpen = isOpen;
    this.#unfold.setAttribute("aria-expanded", isOpen);
    for (const row of this.#rows.values()) this.#place(row);
  }

  #dismissAll() {
    this.#handlers.dismiss([...this.#rows.values()].filter(row => row.stream.gone !== null).map(row => row.id));
  }

  #move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const rows = [...this.#body.rows, ...this.#gone.rows].filter(row => row.classList.contains("stream") && !row.hidden);
    const next = rows[rows.indexOf(document.activeElement.closest("tr")) + step];
    if (next) { next.querySelector(".name").focus(); event.preventDefault(); }
  }
}
