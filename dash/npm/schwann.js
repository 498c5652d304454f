// Talks to a Schwann dashboard: lists and shows streams, sends markers and samples. No dependencies.
// The protocol is in docs/web.md.

const SILENCE = 1500;    // ms; the dashboard speaks four times a second, so this is no pause
const LOOK = 200;        // ms
const ABANDON = 10_000;  // ms of silence after which a connection is taken for dead
const PINGS = [0, 50, 100, 200, 400, 800];   // ms after the begin at which the clock is first asked
const PING = 2000;       // ms between two questions later
const REMEMBERED = 30;   // answers of the clock of which the best counts
const DRIFT = 1e-4;      // two clocks part by less than this part of a time
const GRAIN = 2e-3;      // s; the clock of a page may be as coarse as this

/** A connection to a dashboard, made again whenever it breaks or falls silent. */
export class Schwann {
  #handlers; #address; #token;
  #socket = null; #wait = 250; #heard = 0; #silent = true; #retry = 0;
  #answers = []; #clock = null; #next = 0; #pending = new Map(); #timers = [];

  /**
   * Connects to a dashboard.
   *
   * `handlers[type](message)` is called for each message of the dashboard, `handlers.frame(frame)` for traces,
   * `handlers.open()` when there is a connection, and `handlers.closed()` or `handlers.silent()` when nothing is known
   * of the dashboard any more.
   */
  constructor(address, { token = null, ...handlers } = {}) {
    [this.#address, this.#token, this.#handlers] = [new URL("/live", address), token, handlers];
    this.#address.protocol = this.#address.protocol.replace("http", "ws");
    if (token) this.#address.searchParams.set("token", token);
    this.#connect();
    this.#timers = [setInterval(() => this.look(), LOOK), setInterval(() => this.#ping(), PING)];
  }

  /** Seconds on the lab's clock; null before the dashboard has spoken. */
  get now() { return this.#clock === null ? null : performance.now() / 1000 + this.#clock.offset; }

  /** How far `now` may be wrong, in seconds. It grows until the dashboard is asked again. */
  get bound() { return this.#clock === null ? Infinity : reach(this.#clock, performance.now() / 1000); }

  /** The time on the lab's clock of a `performance.now()` or of the `timeStamp` of an event of the page. */
  timeOf(milliseconds) { return this.#clock === null ? null : milliseconds / 1000 + this.#clock.offset; }

  get isOpen() { return this.#socket?.readyState === WebSocket.OPEN; }

  /** Sends a message as docs/web.md describes it; false while there is no connection. */
  send(message) {
    if (this.isOpen) this.#socket.send(JSON.stringify(message));
    return this.isOpen;
  }

  /** Asks the dashboard's clock. Resolves when `now` and `timeOf` are right, also if this computer just slept. */
  synchronise() { return this.ask({ type: "clock", sent: performance.now() / 1000 }); }

  /** Sends a marker, of now or of the `timeStamp` of an event of the page. Resolves when the dashboard has taken it. */
  async mark(text, milliseconds = performance.now()) {
    await this.synchronise();
    return this.ask({ type: "mark", text, time: this.timeOf(milliseconds) });
  }

  /** Opens a stream of this page. Resolves to an object with `push(samples, times)` and `close()`. */
  async openOutlet({ name, content = "", channels = 1, rate = 0, format = "float32", source = "", labels = [], unit = "" }) {
    const outlet = ++this.#next;
    await this.ask({ type: "outlet", outlet, name, content, channels, rate, format, source, labels, unit });
    return {
      push: (samples, times = null) => this.send({ type: "push", outlet, samples, times }),
      close: () => this.send({ type: "close", outlet }),
    };
  }

  /** Ends the connection for good. */
  close() {
    this.#timers.forEach(clearInterval);
    clearTimeout(this.#retry);
    this.#drop();
  }

  /** Sends a message with a request number; resolves to its answer, and fails with the reason of a refusal. */
  ask(message) {
    const request = ++this.#next;
    return new Promise((resolve, reject) => {
      if (!this.send({ ...message, request })) return reject(new Error("There is no connection to the dashboard."));
      this.#pending.set(request, { resolve, reject });
    });
  }

  #connect() {
    const socket = new WebSocket(this.#address);
    let wasOpen = false;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      [wasOpen, this.#wait, this.#answers] = [true, 250, []];
      this.#hear();
      PINGS.forEach(wait => setTimeout(() => this.#ping(), wait));
      this.#handlers.open?.();
    };
    socket.onmessage = event => this.#take(event.data);
    socket.onclose = () => this.#lose(wasOpen);
    this.#socket = socket;
  }

  #take(data) {
    const arrival = performance.now() / 1000;
    this.#hear();
    if (data instanceof ArrayBuffer) return this.#handlers.frame?.(readFrame(data));
    const message = JSON.parse(data);
    if (message.type === "clock") this.#setClock(message, arrival);
    if (message.type === "hello" && this.#clock === null) this.#clock = { offset: message.now - arrival, bound: Infinity, at: arrival };
    const pending = this.#pending.get(message.request);
    if (pending) {
      this.#pending.delete(message.request);
      if (message.type === "refused") pending.reject(new Error(message.reason)); else pending.resolve(message);
    }
    this.#handlers[message.type]?.(message);
  }

  #ping() { this.send({ type: "clock", sent: performance.now() / 1000 }); }

  /** The middle of a question and its answer is the same moment on both sides, give or take half of the time between. */
  #setClock({ sent, received, now }, arrival) {
    const answer = { offset: (received - sent + now - arrival) / 2, bound: (arrival - sent - (now - received)) / 2, at: arrival };
    // A computer that slept or a clock that was set: what was known before is of no use.
    if (this.#answers.some(old => Math.abs(old.offset - answer.offset) > reach(old, arrival) + answer.bound + GRAIN)) this.#answers = [];
    this.#answers = [...this.#answers, answer].slice(-REMEMBERED);
    this.#clock = this.#answers.reduce((best, answer) => reach(answer, arrival) < reach(best, arrival) ? answer : best);
  }

  #hear() { [this.#heard, this.#silent] = [performance.now(), false]; }

  /** Looks whether the dashboard still speaks. A timer does so, too, but browsers slow the timers of a hidden page down. */
  look() {
    const silence = performance.now() - this.#heard;
    if (!this.#silent && silence > SILENCE) {
      this.#silent = true;
      this.#handlers.silent?.();
    }
    if (this.isOpen && silence > ABANDON) {
      this.#drop();
      this.#lose(true);
    }
  }

  #drop() {
    this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
  }

  #lose(wasOpen) {
    [this.#silent, this.#clock] = [true, null];
    for (const { reject } of this.#pending.values()) reject(new Error("The connection to the dashboard broke."));
    this.#pending.clear();
    this.#handlers.closed?.(wasOpen);
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#connect(), this.#wait);
    this.#wait = Math.min(this.#wait * 1.6, 4000);
  }
}

/** How far an answer of the clock may be wrong at a time. */
function reach({ bound, at }, time) { return bound + DRIFT * Math.abs(time - at); }

/** Columns of traces: their indices, and minimum and maximum per column and row. */
function readFrame(buffer) {
  const head = new DataView(buffer);
  const [generation, rows, columns] = [0, 4, 8].map(at => head.getUint32(at, true));
  // Typed arrays read in the byte order of this computer, and no browser runs on any but little-endian.
  return {
    generation, rows, columns,
    now: head.getFloat64(16, true),
    indices: new Float64Array(buffer, 24, columns),
    extremes: new Float32Array(buffer, 24 + 8 * columns, 2 * rows * columns),
  };
}
