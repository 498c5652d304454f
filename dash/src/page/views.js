// What is in the picture, and what the server is asked for it.

import { Panel } from "./panel.js";

const MOST = 8;          // streams in one picture, as the server has it
const PAUSE = 60;        // ms between two questions while a hand moves
const BIO = /eeg|ecog|eog|ecg|emg|exg|seeg|nirs/i;

export class Views {
  #plot; #link; #changed; #generation = 0; #pending = null; #asked = 0; #labels = new Map();

  /** Calls `changed()` when other streams are shown, or another one is spoken of. */
  constructor(plot, link, changed) { [this.#plot, this.#link, this.#changed] = [plot, link, changed]; }

  /** The panel that controls speak of. */
  get active() { return this.#plot.active; }

  get ids() { return this.#plot.panels.map(panel => panel.id); }

  /** Shows one stream, in place of all others. */
  only(stream) {
    const panel = this.#plot.panels.find(panel => panel.id === stream.id) ?? this.#panel(stream);
    this.#hide(this.#plot.panels.filter(other => other !== panel));
    this.#plot.panels = [panel];
    this.activate(panel);
    this.ask();
  }

  /** Adds a stream to the picture, or takes it out. */
  toggle(stream) {
    const panel = this.#plot.panels.find(panel => panel.id === stream.id);
    if (panel) return this.remove(panel.id);
    if (this.#plot.panels.length >= MOST) return;
    const added = this.#panel(stream);
    this.#plot.panels.push(added);
    this.activate(added);
    this.ask();
  }

  remove(id) {
    const gone = this.#plot.panels.filter(panel => panel.id === id);
    if (!gone.length) return;
    this.#hide(gone);
    this.#plot.panels = this.#plot.panels.filter(panel => panel.id !== id);
    this.activate(this.#plot.panels.at(-1) ?? null);
    this.ask();
  }

  /** What is shown, so that it can be shown again. */
  get saved() {
    return this.#plot.panels.map(({ name, content, layout, montage, muted, wish }) =>
      ({ name, content, layout, montage, muted: [...muted], wish: { ...wish, bad: [...wish.bad] } }));
  }

  /** Shows streams as they were saved, in place of all others. */
  restore(pairs) {
    this.#hide(this.#plot.panels);
    this.#plot.panels = [];
    for (const [{ layout, montage, muted, wish }, stream] of pairs.slice(0, MOST)) {
      const panel = this.#panel(stream);
      Object.assign(panel, { layout: layout === "butterfly" ? layout : "stacked", montage, muted: new Set(muted) });
      Object.assign(panel.wish, { ...wish, bad: new Set(wish.bad) });
      this.#plot.panels.push(panel);
    }
    this.activate(this.#plot.panels[0]);
    this.ask();
  }

  activate(panel) {
    this.#plot.active = panel;
    this.#changed();
  }

  /** The server has said what it will send. */
  take(view) {
    // Names are sent once, perhaps with an answer that another question has overtaken.
    if (view.labels) this.#labels.set(view.stream, view.labels);
    view.labels = this.#labels.get(view.stream) ?? [];
    // On a slow way an answer may come when more was asked already: it is better than none.
    const panel = this.#plot.panels.find(panel => panel.slot === view.view && panel.id === view.stream);
    panel?.show(view);
    return panel;
  }

  /** Asks for all that is shown; many questions within a moment are one. */
  ask() {
    if (this.#pending !== null) return;
    const wait = Math.max(0, this.#asked + PAUSE - performance.now());
    this.#pending = setTimeout(() => { this.#pending = null; this.#asked = performance.now(); this.#askNow(); }, wait);
  }

  /** Asks for one of them. */
  askFor(panel) {
    panel.generation = ++this.#generation;
    const { channels, reference, bad, filters } = panel.wish;
    this.#link.send({ type: "show", view: panel.slot, generation: panel.generation, stream: panel.id, channels, reference, bad: [...bad],
      columns: this.#plot.columns, window: this.#plot.window, until: this.#plot.until, filters });
  }

  #askNow() { this.#plot.panels.forEach(panel => this.askFor(panel)); }

  #hide(panels) {
    if (panels.length) this.#link.send({ type: "hide", views: panels.map(panel => panel.slot) });
  }

  #panel(stream) {
    const taken = this.#plot.panels.map(panel => panel.slot), slot = [...Array(MOST).keys()].find(slot => !taken.includes(slot));
    // Drift and electrode offsets of these signals are larger than what people look for.
    const high_pass = BIO.test(stream.content) && stream.nominal_rate >= 50 ? 0.5 : 0;
    const panel = new Panel(stream, slot, { channels: null, reference: null, bad: new Set(), filters: { high_pass, low_pass: 0, notch: 0 } });
    panel.onScale = () => this.#changed();
    return panel;
  }
}

/** The stream to look at first: what people measure before what runs beside it. */
export function firstOf(streams) {
  const ranks = [/ecog|eeg|seeg|meg/i, /exg|emg|ecg|eog|nirs|ppg/i, /gaze|eye|pupil|eda|gsr|resp/i];
  const rank = ({ content }) => { const found = ranks.findIndex(pattern => pattern.test(content)); return found < 0 ? /audio|video/i.test(content) ? 5 : 4 : found; };
  const signals = streams.filter(stream => stream.kind === "signal" && stream.health === "live");
  return signals.sort((a, b) => rank(a) - rank(b) || b.channels * b.nominal_rate - a.channels * a.nominal_rate || a.id - b.id)[0] ?? null;
}
