// What is known of the stream that is selected in the rail.

import { count, duration, plural, rate } from "./format.js";
import { LOCKS, LOCK_TITLES, fillState, isWrong, sentenceOf, stateOf } from "./health.js";

export class Details {
  #element = document.getElementById("details");
  #values = new Map();

  constructor(dismiss) {
    for (const value of this.#element.querySelectorAll("dd[data-of]")) this.#values.set(value.dataset.of, value);
    document.getElementById("dismiss").addEventListener("click", () => this.stream && dismiss([this.stream.id]));
  }

  /** Shows a stream at a time of the lab; none shows nothing. */
  update(stream, now) {
    this.stream = stream;
    this.#element.hidden = !stream;
    if (!stream) return;
    const part = id => document.getElementById(id);
    text(part("details-title"), stream.name);
    if (part("details-title").title !== stream.name) part("details-title").title = stream.name;
    const state = stateOf(stream), health = part("details-state");
    if (!health.classList.contains(state)) fillState(health, state);
    text(part("details-sentence"), sentenceOf(stream));
    part("details-sentence").hidden = sentenceOf(stream) === "";
    this.#element.classList.toggle("wrong", isWrong(stream));
    part("dismiss").hidden = stream.gone === null;
    for (const [name, [main, sub, style]] of Object.entries(facts(stream, now))) {
      const value = this.#values.get(name);
      text(value.firstElementChild, main);
      if (value.firstElementChild.className !== (style ?? "")) value.firstElementChild.className = style ?? "";
      text(value.lastElementChild, sub ?? "");
    }
    this.#lock(stream);
  }

  #lock({ lock, refusal, sender }) {
    const value = this.#values.get("lock"), key = `${lock} ${refusal} ${sender}`;
    if (value.dataset.key === key) return;
    value.dataset.key = key;
    value.className = `lock ${lock ?? ""}`;
    value.title = refusal ?? LOCK_TITLES[lock] ?? "";
    value.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true">${LOCKS[lock] ?? ""}</svg><span></span><small></small>`;
    value.children[1].textContent = lock ?? "–";
    value.children[2].textContent = sender ? `from ${sender}` : "";
  }
}

function facts(stream, now) {
  const kept = stream.oldest === null ? 0 : Math.floor(now - stream.oldest);
  const { nominal_rate: nominal, clock_offset: offset, lag } = stream, live = !["stopped", "unknown", "listed"].includes(stream.health);
  const off = live && stream.rate !== null && nominal > 0 ? stream.rate / nominal - 1 : 0, odd = Math.abs(off) > 0.01;
  const known = value => value === null || value === undefined || value === "" ? "–" : value;
  return {
    content: [known(stream.content), `${plural(stream.channels, "channel")}, ${stream.format}`],
    rate: [live && stream.rate !== null ? rate(stream.rate) : "–",
      nominal > 0 ? odd ? `${off > 0 ? "▲" : "▼"} ${Math.abs(off * 100).toFixed(1)} % of ${rate(nominal)}` : `of ${rate(nominal)}` : "irregular", odd ? "odd" : ""],
    lag: lag && live ? [duration(lag[0]), `p99 ${duration(lag[1])}`, lag[0] > 0.5 ? "odd" : ""] : ["–"],
    gaps: nominal > 0 ? [stream.gaps ? count(stream.gaps) : "none", stream.gaps ? plural(stream.missing, "sample") : "", stream.gaps ? "odd" : ""] : ["–"],
    clock: offset === null ? ["–"] : [`${offset >= 0 ? "+" : "−"}${duration(Math.abs(offset))}`, `± ${duration(stream.clock_uncertainty / 2)}`],
    samples: [count(stream.total), stream.dropped ? `${count(stream.dropped)} not drawn` : kept >= 1 ? `${duration(kept).replace(/\.\d+/, "")} kept` : ""],
    host: [known(stream.host), stream.gone !== null ? `gone for ${duration(stream.gone).replace(/\.\d+ s/, " s")}` : ""],
    source: [known(stream.source), stream.session === "default" ? "" : `session ${stream.session}`],
  };
}

function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}
