// The menu of one channel: alone, hidden, bad, its spectrum.

export class LabelMenu {
  #menu = document.getElementById("label-menu");
  #handlers; #panel = null; #row = 0; #back = null;

  /** Calls `handlers.changed(panel)` when other lanes are to be seen, `asked(panel)` when other samples are, and `spectrum(panel, row)`. */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#menu.addEventListener("click", event => this.#do(event.target.closest("button")?.dataset.do));
    this.#menu.addEventListener("keydown", event => this.#key(event));
    this.#menu.addEventListener("focusout", event => { if (!this.#menu.contains(event.relatedTarget)) this.#close(); });
  }

  open(panel, row, { x, y }) {
    [this.#panel, this.#row, this.#back] = [panel, row, document.activeElement];
    const channel = panel.view.channels[row], is = { solo: panel.solo === channel, mute: panel.muted.has(channel), bad: panel.wish.bad.has(channel) };
    document.getElementById("label-name").textContent = panel.view.names[row] ?? String(channel + 1);
    for (const button of this.#menu.querySelectorAll("[role=menuitemcheckbox]")) button.setAttribute("aria-checked", is[button.dataset.do]);
    this.#menu.hidden = false;
    const { width, height } = this.#menu.getBoundingClientRect();
    this.#menu.style.left = `${Math.min(x, innerWidth - width - 8)}px`;
    this.#menu.style.top = `${Math.min(y, innerHeight - height - 8)}px`;
    this.#menu.querySelector("button").focus();
  }

  #close() {
    this.#menu.hidden = true;
  }

  #key(event) {
    const buttons = [...this.#menu.querySelectorAll("button")], step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) buttons.at((buttons.indexOf(document.activeElement) + step) % buttons.length).focus();
    else if (event.key === "Escape") { this.#back?.focus(); this.#close(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #do(what) {
    const panel = this.#panel, channel = panel?.view.channels[this.#row];
    if (!what || channel === undefined) return;
    const toggle = set => set.has(channel) ? set.delete(channel) : set.add(channel);
    if (what === "solo") panel.solo = panel.solo === channel ? null : channel;
    if (what === "mute") toggle(panel.muted);
    if (what === "bad") toggle(panel.wish.bad);
    if (what === "all") { panel.solo = null; panel.muted.clear(); }
    this.#back?.focus();
    this.#close();
    if (what === "spectrum") return this.#handlers.spectrum(panel, this.#row);
    panel.scroll(0);
    panel.ring.redraw();
    // A bad channel is in no average, so the server has to know.
    if (what === "bad") this.#handlers.asked(panel);
    this.#handlers.changed(panel);
  }
}
