// The connection to the program, made again whenever it breaks or falls silent.

const SILENCE = 1500;    // ms; the program speaks four times a second, so this is no pause
const LOOK = 200;        // ms
const ABANDON = 10_000;  // ms of silence after which a connection is taken for dead

/**
 * Calls `handlers[type](message)` for each message, `handlers.frame(frame)` for traces, `handlers.open()`, and
 * `handlers.closed()` or `handlers.silent()` when nothing is known of the program any more.
 */
export class Link {
  #handlers;
  #socket = null;
  #wait = 250;
  #heard = 0;
  #silent = true;          // so is one that was never made
  #retry = 0;

  constructor(handlers) {
    this.#handlers = handlers;
    this.#connect();
    setInterval(() => this.#look(), LOOK);
  }

  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #connect() {
    const socket = new WebSocket(`ws://${location.host}/live`);
    let wasOpen = false;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      wasOpen = true;
      this.#wait = 250;
      this.#hear();
      this.#handlers.open();
    };
    socket.onmessage = event => {
      this.#hear();
      if (event.data instanceof ArrayBuffer) return this.#handlers.frame(readFrame(event.data));
      const message = JSON.parse(event.data);
      this.#handlers[message.type]?.(message);
    };
    socket.onclose = () => this.#lose(wasOpen);
    this.#socket = socket;
  }

  #hear() {
    this.#heard = performance.now();
    this.#silent = false;
  }

  #look() {
    const silence = performance.now() - this.#heard;
    if (!this.#silent && silence > SILENCE) {
      this.#silent = true;
      this.#handlers.silent();
    }
    if (this.#socket.readyState === WebSocket.OPEN && silence > ABANDON) {
      this.#socket.onmessage = this.#socket.onclose = null;
      this.#socket.close();
      this.#lose(true);
    }
  }

  #lose(wasOpen) {
    this.#silent = true;
    this.#handlers.closed();
    if (!wasOpen) leaveIfLocked();
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#connect(), this.#wait);
    this.#wait = Math.min(this.#wait * 1.6, 4000);
  }
}

/** The program was started anew and has another token: the page that says so is better than trying for ever. */
async function leaveIfLocked() {
  const answer = await fetch("/", { cache: "no-store" }).catch(() => null);
  if (answer?.status === 403) location.reload();
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
