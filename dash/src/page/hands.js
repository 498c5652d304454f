// What hands do in the picture: look at a value, go back, zoom in, see other channels.

const STEPS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600];   // seconds

/** The windows that can be chosen, in seconds. */
export const WINDOWS = STEPS;

/** Handles the pointer over `canvas`; calls `moved()` when another stretch is to be seen, and `label(panel, row, event)`. */
export class Hands {
  #canvas; #plot; #views; #handlers; #drag = null; #wheel = 0;

  constructor(canvas, plot, views, handlers) {
    [this.#canvas, this.#plot, this.#views, this.#handlers] = [canvas, plot, views, handlers];
    canvas.addEventListener("pointerdown", event => this.#press(event));
    canvas.addEventListener("pointermove", event => this.#move(event));
    canvas.addEventListener("pointerup", event => this.#release(event));
    canvas.addEventListener("pointercancel", () => { this.#drag = null; });
    canvas.addEventListener("pointerleave", () => { if (!this.#drag) plot.cursor = null; });
    canvas.addEventListener("wheel", event => this.#roll(event), { passive: false });
  }

  /** Goes `seconds` forward, or back; following ends, and begins again at the newest sample. */
  pan(seconds) {
    const plot = this.#plot;
    plot.until = plot.place((plot.until ?? plot.edge) + seconds);
    this.#handlers.moved();
  }

  /** Shows this time in the middle. */
  goTo(time) {
    const plot = this.#plot;
    plot.until = plot.place(time + plot.window / 2);
    this.#handlers.moved();
  }

  /** A shorter window (-1) or a longer one (1), around a place of the canvas. */
  zoomTime(step, x = null) {
    const plot = this.#plot, at = STEPS.findIndex(seconds => seconds >= plot.window - 1e-9);
    const next = STEPS[Math.min(Math.max(at + step, 0), STEPS.length - 1)];
    if (next === plot.window) return;
    // While the picture follows, its right edge stays.
    if (x !== null && !plot.following) {
      const time = plot.timeAt(x), part = (plot.edge - time) / plot.window;
      plot.until = Math.min(time + part * next, plot.now);
    }
    plot.window = next;
    if (plot.span) plot.until = plot.place(plot.until);
    this.#handlers.moved();
  }

  #press(event) {
    if (event.button !== 0) return;
    const place = this.#plot.placeOf(event), panel = this.#plot.panelAt(place.y);
    if (panel && panel !== this.#views.active) this.#views.activate(panel);
    this.#drag = { x: event.offsetX, y: event.offsetY, until: this.#plot.until ?? this.#plot.edge, first: panel?.first ?? 0, panel, far: false,
      gutter: this.#plot.isInGutter(place.x), strip: this.#plot.stripAt(place) };
    this.#canvas.setPointerCapture(event.pointerId);
    this.#drag.strip?.goTo(place.y);
  }

  #move(event) {
    const plot = this.#plot, drag = this.#drag;
    plot.cursor = plot.placeOf(event);
    this.#canvas.classList.toggle("in-strip", Boolean(drag ? drag.strip : plot.stripAt(plot.cursor)));
    if (!drag) return;
    if (drag.strip) return drag.strip.goTo(plot.cursor.y);
    const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
    drag.far ||= Math.hypot(dx, dy) > 4;
    if (!drag.far || drag.gutter) return;
    this.#canvas.classList.add("dragged");
    const until = drag.until - dx * plot.secondsPerPixel;
    this.pan(until - (plot.until ?? plot.edge));
    if (drag.panel?.view) {
      const { lane } = drag.panel.lanes();
      drag.panel.scroll(drag.first - dy * (devicePixelRatio || 1) / lane - drag.panel.first);
    }
  }

  #release(event) {
    const drag = this.#drag, place = this.#plot.placeOf(event);
    this.#drag = null;
    this.#canvas.classList.remove("dragged");
    const row = drag && !drag.far && drag.gutter ? drag.panel?.rowAt(place.y) ?? null : null;
    if (row !== null) this.#handlers.label(drag.panel, row, event);
  }

  #roll(event) {
    event.preventDefault();
    const plot = this.#plot, place = plot.placeOf(event), [x, y] = [event.deltaX, event.deltaY].map(delta => delta * (event.deltaMode ? 16 : 1));
    if (event.ctrlKey || event.metaKey) {
      this.#wheel += y;
      if (Math.abs(this.#wheel) < 40) return;
      this.zoomTime(Math.sign(this.#wheel), place.x);
      this.#wheel = 0;
      return;
    }
    const panel = plot.panelAt(place.y), sideways = event.shiftKey ? x || y : x;
    if (!event.shiftKey && Math.abs(y) > Math.abs(x) && panel?.scroll(y / 40)) return;
    const way = sideways || y;
    if (way) this.pan(way * plot.secondsPerPixel * 1.5);
  }
}
