// The dialog in which channels are chosen.

import { plural } from "./format.js";

const LIMIT = 256;
const BOXES = 600;

export class ChannelDialog {
  #dialog = document.getElementById("channel-dialog");
  #filter = document.getElementById("channel-filter");
  #list = document.getElementById("channel-list");
  #count = document.getElementById("channel-count");
  #labels = [];
  #chosen = new Set();
  #onApply = () => {};

  constructor() {
    this.#filter.addEventListener("input", () => this.#fill());
    document.getElementById("channel-all").addEventListener("click", () => this.#choose(this.#shown()));
    document.getElementById("channel-none").addEventListener("click", () => this.#clear());
    this.#list.addEventListener("change", event => {
      const channel = Number(event.target.value);
      if (event.target.checked) this.#chosen.add(channel); else this.#chosen.delete(channel);
      this.#tell();
    });
    this.#filter.addEventListener("keydown", event => {
      // Enter in the search field chooses what it found instead of closing the dialog.
      if (event.key === "Enter") { event.preventDefault(); this.#choose(this.#shown()); }
    });
    this.#dialog.addEventListener("close", () => {
      if (this.#dialog.returnValue === "apply") this.#onApply([...this.#chosen].sort((a, b) => a - b).slice(0, LIMIT));
    });
  }

  open(labels, chosen, onApply) {
    [this.#labels, this.#chosen, this.#onApply] = [labels, new Set(chosen), onApply];
    this.#filter.value = "";
    this.#dialog.returnValue = "";
    this.#fill();
    this.#dialog.showModal();
  }

  /** Channels whose label or number fits the search; `3-17` is a range of numbers. */
  #shown() {
    const wanted = this.#filter.value.trim().toLowerCase();
    const range = wanted.match(/^(\d+)\s*[-–]\s*(\d+)$/);
    const fits = (label, channel) => range ? channel + 1 >= Number(range[1]) && channel + 1 <= Number(range[2])
      : label.toLowerCase().includes(wanted) || String(channel + 1) === wanted;
    return this.#labels.flatMap((label, channel) => fits(label, channel) ? [channel] : []);
  }

  #choose(channels) {
    for (const channel of channels) this.#chosen.add(channel);
    this.#fill();
  }

  #clear() {
    this.#chosen.clear();
    this.#fill();
  }

  #fill() {
    const boxes = this.#shown().slice(0, BOXES).map(channel => {
      const [label, box] = [document.createElement("label"), document.createElement("input")];
      Object.assign(box, { type: "checkbox", value: channel, checked: this.#chosen.has(channel) });
      label.append(box, this.#labels[channel]);
      return label;
    });
    this.#list.replaceChildren(...boxes);
    this.#tell();
  }

  #tell() {
    const over = this.#chosen.size > LIMIT ? `; the first ${LIMIT} are drawn` : "";
    this.#count.textContent = `${plural(this.#chosen.size, "channel")} of ${this.#labels.length} chosen${over}`;
  }
}
