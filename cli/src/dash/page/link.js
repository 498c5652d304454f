// The connection to the program, made again whenever it breaks.

/**
 * Calls `handlers[type](message)` for each message, `handlers.frame(frame)` for traces, and `handlers.open()` and
 * `handlers.closed()`.
 */
export class Link {
  #handlers;
  #socket = null;
  #wait = 250;

  constructor(handlers) {
    this.#handlers = handlers;
    this.#connect();
  }

  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #connect() {
    const socket = new WebSocket(`ws://${location.host}/live`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { this.#wait = 250; this.#handlers.open(); };
    socket.onmessage = event => {
      if (event.data instanceof ArrayBuffer) return this.#handlers.frame(readFrame(event.data));
      const message = JSON.parse(event.data);
      this.#handlers[message.type]?.(message);
    };
    socket.onclose = () => {
      this.#handlers.closed();
      setTimeout(() => this.#connect(), this.#wait);
      this.#wait = Math.min(this.#wait * 1.6, 4000);
    };
    this.#socket = socket;
  }
}

/** Columns of traces: their indices, and minimum and maximum per column and channel. */
function readFrame(buffer) {
  const head = new DataView(buffer);
  const [generation, channels, columns] = [0, 4, 8].map(at => head.getUint32(at, true));
  // Typed arrays read in the byte order of this computer, and no browser runs on any but little-endian.
  return {
    generation, channels, columns,
    now: head.getFloat64(16, true),
    indices: new Float64Array(buffer, 24, columns),
    extremes: new Float32Array(buffer, 24 + 8 * columns, 2 * channels * columns),
  };
}
