// What is done with samples before they are drawn: filters and montage; and that it is said.

import { bipolarPairs } from "./positions.js";

const part = id => document.getElementById(id);
const KINDS = { high_pass: "high-pass", low_pass: "low-pass", notch: "notch" };

export class Filters {
  #panel = null; #ask; #key = "";

  /** Calls `ask(panel)` when a panel is to be shown in another way. */
  constructor(ask) {
    this.#ask = ask;
    for (const [kind, id] of Object.entries(KINDS)) {
      part(id).addEventListener("change", event => { this.#panel.wish.filters[kind] = Number(event.target.value); ask(this.#panel); });
    }
    part("reference").addEventListener("change", event => this.#refer(event.target.value));
  }

  /** Brings the controls to a panel. */
  show(panel) {
    this.#panel = panel;
    for (const [kind, id] of Object.entries(KINDS)) {
      const { view } = panel, select = part(id);
      for (const option of select.options) option.disabled = view ? Number(option.value) >= view.rate / 2 && option.value !== "0" : false;
      select.value = String(panel.wish.filters[kind]);
    }
    if (!panel.view) return;
    this.#fillReferences(panel);
    part("processing").textContent = sentence(panel);
  }

  #fillReferences({ view, montage }) {
    const key = view.labels.join("\n");
    if (this.#key !== key) {
      this.#key = key;
      const fixed = [["", "as sent"], ["average", "common average"], ["bipolar", "bipolar"]];
      const channels = view.labels.slice(0, 300).map((label, channel) => [String(channel), `minus ${label}`]);
      part("reference").replaceChildren(...[...fixed, ...channels].map(([value, text]) => new Option(text, value)));
    }
    part("reference").value = montage ?? "";
  }

  #refer(value) {
    const panel = this.#panel, { wish, view } = panel;
    if (panel.montage === "bipolar") wish.channels = panel.before;
    panel.montage = value;
    wish.reference = value === "" ? null : value === "average" ? value : Number(value);
    if (value === "bipolar") {
      panel.before = wish.channels;
      const pairs = bipolarPairs(view.labels, view.channels);
      [wish.channels, wish.reference] = [pairs.map(([one]) => one), pairs.map(([, other]) => other)];
    }
    this.#ask(panel);
  }
}

/**
 * What is taken from the traces, as the program says of each: a wish is not heeded where a long stretch is drawn from an index.
 * A channel minus itself would be a line of nothing, so that it is shown as it is.
 */
function minus({ averaged, minus: others, labels, channels }, montage) {
  if (averaged) return `minus the average of ${averaged}`;
  if (others.every(other => other === null)) return "";
  if (montage === "bipolar") return "bipolar";
  const reference = others.find(other => other !== null);
  return `minus ${labels[reference]}${channels.includes(reference) ? " (itself as sent)" : ""}`;
}

/** What is shown is not what was sent: that is said. */
function sentence({ view, montage }) {
  const { high_pass, low_pass, notch } = view.filters;
  const parts = [
    minus(view, montage), high_pass && `above ${high_pass} Hz`, low_pass && `below ${low_pass} Hz`, notch && `without ${notch} Hz and harmonics`,
  ].filter(Boolean);
  return parts.length ? `Shown ${parts.join(", ")}; recorded as sent.` : "Shown as sent.";
}
