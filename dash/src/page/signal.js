// Beside the traces: spectrum, power of bands, map of the head, spectrogram, and which channels are not good.

import { color, heat, inkOf, isDark } from "./colors.js";
import { clockText, plain, plural } from "./format.js";
import { positionOf } from "./positions.js";
import { drawMap } from "./topography.js";

const WORDS = { flat: "flat", railing: "at the end of its range", line: "mostly mains", noisy: "far larger than the others", invalid: "some values are no numbers" };
const OTHERS = 12;       // thin lines of other channels behind the chosen one
const HIGHEST = 120;     // Hz that are shown at most

export class SignalPanel {
  #element = document.getElementById("signal");
  #row = document.getElementById("signal-row");
  #band = document.getElementById("band");
  #link; #wallOf; #panel = null; #asked = ""; #last = null; #theme = null;

  constructor(link, wallOf) {
    [this.#link, this.#wallOf] = [link, wallOf];
    this.#row.addEventListener("change", () => this.ask());
    this.#band.addEventListener("change", () => this.redraw());
  }

  get isOpen() { return !this.#element.hidden; }

  toggle() {
    this.#element.hidden = this.isOpen;
    this.#asked = "";
    if (!this.isOpen) this.#link.send({ type: "analyse", view: 0, rows: [] }); else this.ask();
  }

  /** Speaks of another panel, or of other rows of it. */
  show(panel) {
    this.#panel = panel;
    const names = panel?.view?.names ?? [], key = names.join("\n");
    if (this.#row.dataset.key !== key) {
      const before = this.#row.value;
      this.#row.dataset.key = key;
      this.#row.replaceChildren(...names.map((name, row) => new Option(name, row)));
      if (before && Number(before) < names.length) this.#row.value = before;
    }
    this.ask();
    this.#tellQuality();
  }

  /** Shows the spectrum of one row. */
  choose(row) {
    if (!this.isOpen) this.#element.hidden = false;
    this.#row.value = String(row);
    this.ask();
  }

  ask() {
    if (!this.isOpen || !this.#panel?.view) return;
    const row = Number(this.#row.value) || 0, count = this.#panel.view.names.length;
    const others = [...Array(Math.min(count, OTHERS)).keys()].filter(other => other !== row);
    const wish = { type: "analyse", view: this.#panel.slot, rows: [row, ...others], spectrogram: row }, key = JSON.stringify(wish) + this.#panel.generation;
    if (key === this.#asked) return;
    this.#asked = key;
    this.#link.send(wish);
  }

  take(analysis) {
    if (analysis.stream !== this.#panel?.id) return;
    this.#last = analysis;
    this.redraw();
  }

  /** Which channels are not good; also marked in the traces. */
  takeQuality(panel, { channels, found }) {
    panel.marks = new Map(channels.flatMap((channel, place) => found[place].mark ? [[channel, found[place].mark]] : []));
    panel.quality = new Map(channels.map((channel, place) => [channel, found[place]]));
    if (panel === this.#panel) this.#tellQuality();
  }

  redraw() {
    if (!this.isOpen || !this.#last) return;
    this.#theme = { dark: isDark(), ...Object.fromEntries(["ink", "dim", "line", "accent", "card", "raised"].map(name => [name, color(`--${name}`)])) };
    const { spectra, spectrogram, stream } = this.#last;
    // What was computed of another stream or montage is not that of this one.
    if (stream !== this.#panel?.id || (spectra && spectra.powers.length !== this.#panel.view.names.length)) return;
    if (spectra) { this.#drawSpectrum(spectra); this.#tellBands(spectra); this.#drawHead(spectra); } else this.#clearSpectrum();
    if (spectrogram) this.#drawSpectrogram(spectrogram); else this.#clear("spectrogram");
  }

  /** What was computed of samples that are not of now is shown no longer. */
  #clearSpectrum() {
    this.#clear("spectrum");
    document.getElementById("bands").replaceChildren();
    document.getElementById("head-part").hidden = true;
  }

  #clear(id, why = this.#panel.view.rate > 0 ? "Too few samples come." : "This stream has no regular rate.") {
    this.#pen(id);
    document.getElementById(`${id}-note`).textContent = why;
  }

  #tellQuality() {
    const list = document.getElementById("quality"), panel = this.#panel;
    if (!panel?.view || !panel.quality) return this.#fill(list, []);
    const name = channel => panel.view.labels[channel] ?? String(channel + 1), unit = panel.view.unit ? ` ${panel.view.unit}` : "";
    if (!panel.quality.size) return this.#fill(list, [`Not judged: ${panel.view.rate > 0 ? "too few samples come" : "this stream has no regular rate"}.`]);
    // A channel with a value that is no number has no size.
    const sizeText = rms => Number.isFinite(rms) ? `RMS ${plain(Number(rms.toPrecision(3)))}${unit}` : "RMS unknown";
    const sizes = [...panel.quality.values()].map(one => one.rms).filter(Number.isFinite).sort((a, b) => a - b), { size } = panel.quality;
    const good = [...panel.quality.values()].filter(one => !one.mark && Number.isFinite(one.rms)).length;
    const lines = [`${good} of ${plural(size, "channel")} good, typical ${sizeText(sizes[sizes.length >> 1])}`,
      ...[...panel.marks].slice(0, 12).map(([channel, mark]) => {
        const { rms, line, mains } = panel.quality.get(channel);
        const detail = mark === "line" ? `${Math.round(line * 100)} % at ${mains} Hz` : ["flat", "invalid"].includes(mark) ? "" : sizeText(rms);
        return `${name(channel)}: ${WORDS[mark]}${detail ? `, ${detail}` : ""}`;
      }), ...(panel.marks.size > 12 ? [`and ${panel.marks.size - 12} more`] : [])];
    this.#fill(list, lines);
  }

  #fill(list, lines) {
    if (list.dataset.text === lines.join("\n")) return;
    list.dataset.text = lines.join("\n");
    list.replaceChildren(...lines.map((line, place) => Object.assign(document.createElement("li"), { textContent: line, className: place ? "odd" : "" })));
  }

  #pen(id) {
    const canvas = document.getElementById(id), ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map(size => Math.max(1, Math.round(size * ratio)));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, width, height);
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    return { pen, width, height, ratio };
  }

  #drawSpectrum({ step, densities, seconds }) {
    // A channel with values that are no numbers has none.
    const length = densities.find(density => density)?.length;
    if (!length) return this.#clear("spectrum", "Some values of this channel are no numbers.");
    const { pen, width, height, ratio } = this.#pen("spectrum"), left = 34 * ratio, bottom = height - 18 * ratio, top = 6 * ratio;
    const decibels = densities.map(density => (density ?? []).map(power => 10 * Math.log10(Math.max(power, 1e-30))));
    const shown = Math.min(length, Math.floor(HIGHEST / step) + 1), first = Math.max(1, Math.round(0.5 / step));
    const all = decibels.flatMap(line => line.slice(first, shown)).sort((a, b) => a - b);
    const [low, high] = [Math.floor(all[Math.floor(all.length * 0.01)] / 10) * 10, Math.ceil((all.at(-1) + 1) / 10) * 10];
    const x = place => left + (width - left - 4 * ratio) * place / (shown - 1), y = value => bottom - (bottom - top) * Math.min(Math.max((value - low) / (high - low), 0), 1);
    pen.fillStyle = this.#theme.dim;
    [pen.textAlign, pen.textBaseline] = ["right", "middle"];
    for (let value = low; value <= high; value += Math.max(10, Math.ceil((high - low) / 40) * 10)) {
      pen.fillText(String(value), left - 5 * ratio, y(value));
      pen.globalAlpha = 0.25;
      pen.fillRect(left, Math.round(y(value)), width, Math.max(1, Math.floor(ratio)));
      pen.globalAlpha = 1;
    }
    [pen.textAlign, pen.textBaseline] = ["center", "top"];
    const every = [5, 10, 20, 50, 100, 500, 1000].find(every => every >= shown * step / 6) ?? 5000;
    for (let hertz = 0; hertz <= (shown - 1) * step; hertz += every) pen.fillText(`${hertz}${hertz ? "" : " Hz"}`, Math.max(x(hertz / step), left + 8 * ratio), bottom + 4 * ratio);
    decibels.slice(0, densities.length).reverse().forEach((line, place) => {
      const chosen = place === decibels.length - 1;
      pen.strokeStyle = chosen ? inkOf(this.#panel.content, this.#theme.dark) : this.#theme.dim;
      [pen.lineWidth, pen.globalAlpha] = [(chosen ? 1.8 : 0.8) * ratio, chosen ? 1 : 0.3];
      pen.beginPath();
      for (let place = first; place < shown; place++) pen.lineTo(x(place), y(line[place]));
      pen.stroke();
    });
    pen.globalAlpha = 1;
    const unit = this.#last.unit || "1";
    document.getElementById("spectrum-note").textContent = `dB of ${unit}²/Hz, mean of ${plain(Number(seconds.toPrecision(2)))} s`;
  }

  #tellBands({ bands, powers, rows }) {
    const list = document.getElementById("bands"), own = powers[rows[0]], all = own.reduce((sum, power) => sum + power, 0) || 1;
    if (this.#band.options.length !== bands.length) {
      this.#band.replaceChildren(...bands.map(({ name, low, high }, place) => new Option(`${name}, ${low} to ${high} Hz`, place, false, name === "alpha")));
    }
    const unit = this.#last.unit ? ` ${this.#last.unit}²` : "";
    list.replaceChildren(...bands.map(({ name }, place) => {
      const line = document.createElement("li"), bar = document.createElement("meter");
      Object.assign(bar, { max: 1, value: (own[place] ?? 0) / all });
      bar.setAttribute("aria-label", `${name}, part of the power`);
      line.append(Object.assign(document.createElement("span"), { textContent: name }), bar,
        Object.assign(document.createElement("small"), { textContent: own[place] === null ? "–" : `${plain(Number(own[place].toPrecision(3)))}${unit}` }));
      return line;
    }));
  }

  #drawHead({ powers }) {
    const { names } = this.#panel.view, band = Number(this.#band.value) || 0;
    // A band beyond half the rate, before enough samples came, or of values that are no numbers, has no power that could be told.
    const values = powers.map((power, row) => ({ power: power[band], row })).filter(({ power }) => power !== null).map(({ power, row }) => ({ name: names[row], value: 10 * Math.log10(Math.max(power, 1e-30)), channel: this.#panel.view.channels[row] }))
      .filter(({ channel }) => !this.#panel.wish.bad.has(channel) && this.#panel.marks.get(channel) !== "flat");
    const places = values.filter(({ name }) => positionOf(name)).length, part = document.getElementById("head-part");
    // A map of fewer electrodes would be invented.
    part.hidden = places < 4;
    if (!part.hidden) drawMap(this.#pen("head"), values, this.#theme);
  }

  #drawSpectrogram({ slices, step, low, high, begin, slice_seconds: seconds, row }) {
    const { pen, width, height, ratio } = this.#pen("spectrogram"), left = 34 * ratio, bottom = height - 18 * ratio;
    if (!slices.length) return;
    const bins = Math.max(2, Math.min(slices[0].length, Math.floor(Math.min(HIGHEST, step * slices[0].length) / step)));
    const picture = new ImageData(slices.length, bins);
    slices.forEach((slice, place) => {
      for (let bin = 0; bin < bins; bin++) picture.data.set([...heat(slice[bin] / 255), 255], ((bins - 1 - bin) * slices.length + place) * 4);
    });
    const small = new OffscreenCanvas(slices.length, bins);
    small.getContext("2d").putImageData(picture, 0, 0);
    pen.drawImage(small, left, 0, width - left, bottom);
    pen.fillStyle = this.#theme.dim;
    [pen.textAlign, pen.textBaseline] = ["right", "middle"];
    for (const part of [0, 0.5, 1]) pen.fillText(String(Math.round(part * (bins - 1) * step)), left - 5 * ratio, bottom - part * (bottom - 8 * ratio));
    pen.textBaseline = "top";
    [0, 1].forEach(end => { pen.textAlign = end ? "right" : "left"; const wall = this.#wallOf(begin + end * slices.length * seconds); if (wall) pen.fillText(clockText(wall, 1), end ? width : left, bottom + 4 * ratio); });
    document.getElementById("spectrogram-note").textContent = `${this.#panel.view.names[row] ?? ""}, Hz over time, ${Math.round(low)} to ${Math.round(high)} dB`;
  }
}
