// The streams, one line each: state, name, small picture, rate. By host where there are several; searched and sorted.

import { Shelf } from "./shelf.js";
import { sparkPath } from "./spark.js";
import { count, plural, rate } from "./format.js";
import { fillState, isSuspect, isWrong, stateOf, wordOf } from "./health.js";

const FOLD = 20;         // seconds after which a stream that is gone is folded away
const LINE = `<button class="row" type="button"><span class="health"><svg viewBox="0 0 16 16" aria-hidden="true"></svg><span class="unseen"></span></span>
  <span class="name"></span><svg class="spark" viewBox="0 0 60 22" preserveAspectRatio="none" aria-hidden="true"><path/></svg><span class="rate"></span></button>
  <button class="beside" type="button" title="Show in one picture with the others"></button>`;
const SORTS = {
  found: (a, b) => a.id - b.id,
  name: (a, b) => a.stream.name.localeCompare(b.stream.name, undefined, { numeric: true }) || a.id - b.id,
  rate: (a, b) => b.stream.nominal_rate * b.stream.channels - a.stream.nominal_rate * a.stream.channels || a.id - b.id,
  trouble: (a, b) => weight(b) - weight(a) || a.id - b.id,
};

export class Rail {
  #list; #search; #sort; #handlers;
  #rows = new Map(); #hosts = new Map(); #shelf; #isOpen = false;
  #fold = document.getElementById("gone-fold");
  #unfold = document.getElementById("unfold");
  #foldText = document.getElementById("gone-text");
  #none = document.getElementById("none-found");

  /** Calls `handlers.choose(id)`, `beside(id)`, `dismiss(ids)` and `announce(text)`. */
  constructor(list, handlers) {
    [this.#list, this.#handlers] = [list, handlers];
    [this.#search, this.#sort] = ["search", "sort"].map(id => document.getElementById(id));
    this.#search.addEventListener("input", () => this.#arrange());
    this.#sort.addEventListener("change", () => this.#arrange());
    this.#unfold.addEventListener("click", () => { this.#isOpen = !this.#isOpen; this.#arrange(); });
    document.getElementById("dismiss-all").addEventListener("click", () =>
      handlers.dismiss([...this.#rows.values()].filter(row => row.stream.gone !== null).map(row => row.id)));
    list.addEventListener("keydown", event => this.#move(event));
    // Pictures that are out of sight are not drawn.
    this.#shelf = new Shelf(list, element => this.#see(element));
  }

  update(streams) {
    const known = new Set(streams.map(stream => stream.id));
    for (const id of [...this.#rows.keys()]) if (!known.has(id)) this.#remove(id);
    for (const stream of streams) {
      const row = this.#rows.get(stream.id) ?? this.#add(stream.id), before = row.stream;
      row.stream = stream;
      this.#fill(row, before);
    }
    this.#arrange();
  }

  /** Marks the stream whose details are shown, and those that are in the picture. */
  mark(selected, shown) {
    for (const [id, row] of this.#rows) {
      row.element.classList.toggle("chosen", id === selected);
      put(row.button, "aria-current", id === selected ? "true" : null);
      put(row.beside, "aria-pressed", String(shown.includes(id)));
      row.isKept = id === selected || shown.includes(id);
    }
  }

  /** Chooses the next stream that a person should look at, also one that is out of sight or folded away. */
  goToSuspect() {
    const order = [...this.#rows.values()].filter(row => row.stream && isSuspect(row.stream)).sort((a, b) => weight(b) - weight(a) || a.id - b.id);
    if (!order.length) return;
    const chosen = order.findIndex(row => row.element.classList.contains("chosen")), { id, element } = order[(chosen + 1) % order.length];
    this.#search.value = "";
    this.#isOpen ||= element.classList.contains("gone");
    this.#arrange();
    this.#shelf.reveal(element);
    this.#handlers.choose(id);
  }

  #add(id) {
    const element = document.createElement("li");
    element.className = "stream";
    element.dataset.id = id;
    element.innerHTML = LINE;
    const [button, beside, name, spark, rateText, health] = [".row", ".beside", ".name", ".spark", ".rate", ".health"].map(part => element.querySelector(part));
    const row = { id, element, button, beside, name, spark: spark.firstElementChild, rate: rateText, health, stream: null };
    button.addEventListener("click", event => event.ctrlKey || event.metaKey ? this.#handlers.beside(id) : this.#handlers.choose(id));
    beside.addEventListener("click", () => this.#handlers.beside(id));
    this.#rows.set(id, row);
    return row;
  }

  #remove(id) {
    const row = this.#rows.get(id);
    row.element.remove();
    this.#rows.delete(id);
  }

  #fill(row, before) {
    const { stream } = row, [now, then] = [stateOf(stream), before && stateOf(before)];
    if (now !== then) {
      fillState(row.health, now);
      row.element.classList.toggle("wrong", isWrong(stream));
      row.element.classList.toggle("stopped-row", stream.health === "stopped");
      if (then && ![now, then].includes("unknown")) this.#handlers.announce(`${stream.name}: ${wordOf(now)}`);
    }
    if (before?.name !== stream.name) {
      row.name.textContent = stream.name;
      row.button.title = [stream.name, stream.content, stream.host].filter(Boolean).join(" · ");
      row.beside.setAttribute("aria-label", `${stream.name} beside the others`);
      row.beside.classList.toggle("none", stream.kind !== "signal");
    }
    const text = wordsOf(stream);
    if (row.rate.textContent !== text) {
      row.rate.textContent = text;
      row.element.classList.toggle("gappy", isSuspect(stream) && !isWrong(stream));
    }
    if (this.#shelf.isSeen(row.element)) drawSpark(row);
  }

  /** Puts the lines in their order, under the names of their hosts. Touches the page only where something changes. */
  #arrange() {
    const wanted = this.#search.value.trim().toLowerCase(), rows = [...this.#rows.values()].filter(row => row.stream);
    const fits = ({ stream }) => [stream.name, stream.content, stream.host, stream.source].some(text => text.toLowerCase().includes(wanted));
    const isGone = row => row.stream.gone > FOLD && !row.isKept;
    const present = rows.filter(row => !isGone(row)).sort(SORTS[this.#sort.value]), gone = rows.filter(isGone);
    const hosts = [...new Set(present.map(row => row.stream.host))], groups = hosts.length > 1;
    const lines = [];
    for (const host of hosts) {
      const members = present.filter(row => row.stream.host === host && fits(row));
      if (groups && members.length) lines.push(this.#heading(host));
      lines.push(...members.map(row => row.element));
    }
    lines.push(...(gone.length ? [this.#fold] : []), ...(this.#isOpen ? gone.filter(fits).map(row => row.element) : []));
    this.#tellFold(gone);
    this.#none.hidden = !wanted || lines.some(line => line.classList.contains("stream"));
    for (const row of rows) row.element.classList.toggle("gone", isGone(row));
    this.#shelf.show(lines);
  }

  #heading(host) {
    if (!this.#hosts.has(host)) {
      const element = Object.assign(document.createElement("li"), { className: "host", textContent: host || "unknown host" });
      element.dataset.host = host;
      this.#hosts.set(host, element);
    }
    return this.#hosts.get(host);
  }

  #tellFold(gone) {
    const label = gone.length === 1 ? `${gone[0].stream.name} is gone` : `${count(gone.length)} gone streams`;
    if (this.#foldText.textContent !== label) this.#foldText.textContent = label;
    this.#fold.hidden = gone.length === 0;
    put(this.#unfold, "aria-expanded", String(this.#isOpen));
  }

  #see(element) {
    const row = this.#rows.get(Number(element.dataset.id));
    if (row?.stream) drawSpark(row);
  }

  #move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const next = this.#shelf.next(document.activeElement.closest(".stream"), step)?.querySelector(".row");
    if (next) { next.focus(); event.preventDefault(); }
  }
}

/** How much a stream needs a person. */
function weight({ stream }) { return isWrong(stream) ? 2 : isSuspect(stream) ? 1 : 0; }

/** What the line says at its end: what is wrong, or how much comes. */
function wordsOf(stream) {
  if (isWrong(stream)) return wordOf(stateOf(stream));
  if (isSuspect(stream)) return plural(stream.gaps, "gap");
  if (stream.health !== "live") return "";
  if (stream.kind === "markers") return count(stream.total);
  return stream.rate === null ? "" : stream.nominal_rate > 0 ? rate(stream.rate) : "events";
}

/** Writes only what changed, so that a screen reader is not interrupted. */
function put(element, name, value) {
  if (element.getAttribute(name) === value) return;
  if (value === null) element.removeAttribute(name); else element.setAttribute(name, value);
}

function drawSpark({ spark, stream }) { put(spark, "d", sparkPath(stream.spark, stream.kind === "markers")); }
