// Recording from the page: what, how it is called, start, stop, and what goes wrong meanwhile.

import { count, duration, plural } from "./format.js";
import { isWrong, stateOf, wordOf } from "./health.js";

const part = id => document.getElementById(id);

export class Recording {
  #lab; #announce; #dialog = part("record-dialog"); #streams = []; #status = null; #wrong = new Set(); #remarks = 0; #isLost = false; #worry = null;

  /** `announce(text)` says something to all ears. */
  constructor(lab, announce) {
    [this.#lab, this.#announce] = [lab, announce];
    part("record").addEventListener("click", () => this.#isOn ? this.#order({ order: "stop" }) : this.#open());
    part("next-run").addEventListener("click", () => this.#order({ order: "next" }));
    part("note-form").addEventListener("submit", event => this.#note(event));
    part("record-naming").addEventListener("change", () => this.#showNaming());
    this.#dialog.addEventListener("close", () => { if (this.#dialog.returnValue === "start") this.#start(); });
  }

  get #isOn() { return Boolean(this.#status?.recording); }

  /** Takes in how the recorder and the streams are. */
  update(status, streams) {
    [this.#status, this.#streams] = [status, streams];
    const { recording, ended, failure, remarks } = status, button = part("record");
    text(button, recording ? "Stop" : "Record");
    button.classList.toggle("on", Boolean(recording));
    for (const id of ["next-run", "note-form"]) part(id).hidden = !recording;
    text(part("recording"), recording ? progress(recording) : failure ? `Recording failed: ${failure}` : ended ? last(ended) : "not recording");
    const isOdd = worriesOfRecording(status).length > 0 || (!recording && ended && !ended.is_well);
    part("recording").className = `fact ${isOdd ? "odd" : ""} ${recording ? "on" : ""}`;
    this.#isLost = false;
    part("recording").title = recording ? [recording.path, ...recording.missing, ...recording.streams.filter(stream => stream.trouble).map(stream => `${stream.name}: ${stream.trouble}`)].join("\n")
      : failure ?? ended?.path ?? `Recordings go to ${status.folder}`;
    remarks.slice(Math.max(0, this.#remarks - status.remarks_passed)).forEach(remark => this.#notify(remark));
    this.#remarks = status.remarks_passed + remarks.length;
    this.#tellWorry(failure, recording);
    if (recording) this.#watch(streams); else this.#wrong.clear();
  }

  /** Says once that a recording has failed, or that the disk will end it. A page that comes later finds it at the top. */
  #tellWorry(failure, recording) {
    const worry = failure ?? (recording?.is_short ? "little disk" : ""), isNews = worry && this.#worry !== null && worry !== this.#worry;
    this.#worry = worry;
    if (isNews) this.#notify(failure ? `Recording failed: ${failure}` : `Little disk is left for the recording: ${size(recording.free_bytes)}.`);
  }

  /** Nothing is known of the recorder now. */
  forget() {
    text(part("recording"), "recording: unknown");
    part("recording").className = `fact ${this.#isOn ? "odd" : ""}`;
    if (this.#isOn && !this.#isLost) this.#notify("No contact with the program that records.");
    this.#isLost = true;
  }

  /** A stream that drops while it is recorded is said at once, also to those who look elsewhere. */
  #watch(streams) {
    for (const stream of streams) {
      const wrong = isWrong(stream);
      if (wrong && !this.#wrong.has(stream.id)) this.#notify(`${stream.name}: ${wordOf(stateOf(stream))} while it is recorded`);
      if (wrong) this.#wrong.add(stream.id); else this.#wrong.delete(stream.id);
    }
  }

  #notify(sentence) {
    this.#announce(sentence);
    if ("Notification" in window && Notification.permission === "granted") new Notification("Schwann", { body: sentence, tag: sentence });
  }

  #open() {
    part("record-folder").textContent = `The file goes into ${this.#status?.folder ?? "the folder in which the program runs"}.`;
    part("record-streams").replaceChildren(...this.#streams.filter(stream => stream.health !== "stopped").map(stream => line(stream, this.#status?.markers)));
    this.#showNaming();
    this.#dialog.returnValue = "";
    this.#dialog.showModal();
  }

  #showNaming() {
    const naming = part("record-naming").value;
    for (const field of this.#dialog.querySelectorAll("[data-for]")) field.hidden = !field.dataset.for.split(" ").includes(naming);
  }

  #start() {
    // Browsers ask only after a hand has done something.
    if ("Notification" in window && Notification.permission === "default") Notification.requestPermission();
    const lines = [...part("record-streams").querySelectorAll("li")];
    const of = (...kinds) => lines.filter(line => kinds.some(kind => line.querySelector(`[name=${kind}]`).checked)).map(line => line.dataset.query);
    // What is required is recorded. No query at all would choose every stream.
    const chosen = of("wanted", "required"), value = id => part(id).value.trim();
    if (lines.length && !chosen.length) return void refuse("No stream is ticked, so nothing is recorded.");
    this.#order({ order: "start", wanted: chosen.length === lines.length ? [] : chosen, required: of("required"), naming: value("record-naming"),
      participant: value("record-participant"), session: value("record-session"), task: value("record-task"), template: value("record-template") });
  }

  #note(event) {
    event.preventDefault();
    const note = part("note").value.trim();
    if (note) this.#order({ order: "note", text: note }).then(done => { if (done) part("note").value = ""; });
  }

  async #order(order) {
    try {
      await this.#lab.ask({ type: "record", ...order });
      return true;
    } catch (error) {
      refuse(error.message);
      return false;
    }
  }
}

function refuse(sentence) {
  part("record-problem").textContent = sentence;
  part("problem-dialog").showModal();
}

/** What may be ticked of a stream. The dashboard's own markers, of the source `markers`, are in each of its recordings. */
function line(stream, markers) {
  const item = document.createElement("li");
  item.dataset.query = queryOf(stream);
  const box = (name, words, checked) => {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { type: "checkbox", name, checked, disabled: name === "wanted" && stream.source === markers });
    label.append(input, words);
    return label;
  };
  item.append(box("wanted", stream.name, true), box("required", "required", false));
  return item;
}

/** What is wrong with the recording, in words for the line at the top. */
export function worriesOfRecording({ recording, failure }) {
  if (failure) return ["recording failed"];
  if (!recording) return [];
  const troubles = recording.streams.filter(stream => stream.trouble).length, missing = recording.missing.length;
  return [...gone(recording), missing && `${count(missing)} missing in the recording`, troubles && `${count(troubles)} not well in the recording`, recording.is_short && "little disk left"].filter(Boolean);
}

/** What chooses this stream and its successors after a restart. */
function queryOf({ name, host, source }) {
  const quote = text => text.includes("'") ? `"${text}"` : `'${text}'`;
  return [["name", name], ["hostname", host], ["source_id", source]].filter(([, text]) => text).map(([tag, text]) => `${tag}=${quote(text)}`).join(" and ");
}

function progress({ bytes, seconds, streams, missing, seconds_left: left }) {
  const clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map(number => String(Math.floor(number)).padStart(2, "0")).join(":");
  return [`recording ${clock}`, missing.length ? `${count(missing.length)} missing` : "", size(bytes), left === null ? "" : `disk for ${duration(left)}`,
    plural(streams.length, "stream")].filter(Boolean).join(" · ");
}

function last(ended) {
  const { seconds, bytes, is_well: well } = ended;
  return [`recorded ${duration(seconds)}, ${size(bytes)}`, ...gone(ended), ...(well ? [] : ["not all is well"])].join(", ");
}

/** What may be missing with files before the last one: somebody moved or deleted them meanwhile, or their disk failed. */
function gone({ lost_files: lost, incomplete_files: incomplete }) {
  const files = ({ length }, what) => length && `${count(length)} ${length === 1 ? "file was" : "files were"} ${what}`;
  return [files(lost, "moved or deleted while recorded"), files(incomplete.filter(file => !lost.includes(file)), "not completed")].filter(Boolean);
}

function size(bytes) {
  const [unit, name] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : [1e3, "kB"];
  return `${(bytes / unit).toFixed(bytes / unit < 10 ? 1 : 0)} ${name}`;
}

function text(element, value) { if (element.textContent !== value) element.textContent = value; }
