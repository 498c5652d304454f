// Puts the page together: what comes in, what is chosen, and the keys.

import { ChannelDialog } from "./channels.js";
import { plural } from "./format.js";
import { Link } from "./link.js";
import { StreamList } from "./streams.js";
import { Traces } from "./traces.js";

const element = id => document.getElementById(id);
const announce = text => { element("announcer").textContent = text; };

const state = { streams: [], chosen: null, channels: null, highPass: 0, window: 10, generation: 0, events: [] };
const list = new StreamList(element("streams"), choose, announce);
const traces = new Traces(element("plot"), text => { element("scale").textContent = text; describe(); });
const dialog = new ChannelDialog();
const link = new Link({
  open() { element("offline").hidden = true; state.events = []; ask(); },
  closed() {
    element("offline").textContent = "The program that serves this page has ended or cannot be reached. Trying again …";
    element("offline").hidden = false;
    element("summary").textContent = "not connected";
    // Nothing is known of any stream now, and a green light would say otherwise.
    list.update(state.streams.map(stream => ({ ...stream, health: "connecting" })));
  },
  hello(message) { traces.synchronize(message.now); },
  frame(frame) { traces.synchronize(frame.now); traces.add(frame); },
  markers(message) { takeMarkers(message.markers); },
  streams: takeStreams,
  view: takeView,
});

function takeStreams(message) {
  traces.synchronize(message.now);
  state.streams = message.streams;
  list.update(message.streams);
  element("empty").hidden = message.streams.length > 0;
  element("streams").hidden = message.streams.length === 0;
  summarize(message.streams);
  const chosen = message.streams.find(stream => stream.id === state.chosen);
  if (chosen) {
    traces.health = chosen.health;
    if (message.shown?.stream === chosen.id) traces.gaps = message.shown.gaps;
    tell(chosen);
  } else {
    // The fastest signal is most likely what somebody wants to look at first.
    const signals = message.streams.filter(stream => stream.kind === "signal" && stream.health === "live");
    const first = signals.sort((a, b) => b.channels * b.nominal_rate - a.channels * a.nominal_rate)[0];
    if (first) choose(first.id);
  }
}

function summarize(streams) {
  const bad = streams.filter(stream => stream.health === "stopped" || stream.health === "silent");
  const gaps = streams.filter(stream => stream.gaps > 0);
  const worries = [
    bad.length && `${bad.length} not sending`,
    gaps.length && `gaps in ${gaps.length}`,
  ].filter(Boolean);
  const summary = element("summary");
  const text = streams.length === 0 ? "" : `${plural(streams.length, "stream")} · ${worries.join(" · ") || "all is well"}`;
  if (summary.textContent !== text) {
    summary.textContent = text;
    document.title = streams.length ? `${bad.length ? "■ " : ""}${plural(streams.length, "stream")} – Schwann` : "Schwann";
  }
}

function choose(id) {
  const stream = state.streams.find(stream => stream.id === id);
  if (!stream) return;
  if (stream.kind === "markers") {
    element("events").hidden = false;
    element("events").open = true;
    return;
  }
  if (state.chosen !== id) {
    state.channels = null;
    // Drift and electrode offsets of these signals are larger than what people look for.
    const bio = /eeg|ecog|eog|ecg|emg|exg|seeg|nirs/i.test(stream.content) && stream.nominal_rate >= 50;
    state.highPass = bio ? 0.5 : 0;
    element("high-pass").value = String(state.highPass);
  }
  state.chosen = id;
  list.markChosen(id);
  element("view").hidden = false;
  const title = element("view-title");
  title.textContent = stream.name;
  title.append(Object.assign(document.createElement("small"), { textContent: stream.content }));
  setPaused(false);
}

/** Asks the server for what is chosen; what it remembers comes at once. */
function ask() {
  if (state.chosen === null || element("view").hidden) return;
  state.generation += 1;
  link.send({ generation: state.generation, stream: state.chosen, channels: state.channels, columns: traces.columns,
    window: state.window, high_pass: state.highPass });
}

function takeView(view) {
  if (view.generation !== state.generation) return;
  traces.gaps = [];
  traces.show(view);
  const all = view.labels.length;
  element("channels").textContent = view.channels.length === all ? `Channels: all ${all}` : `Channels: ${view.channels.length} of ${all}`;
  // Labels arrive a moment after the stream was found.
  if (view.labels[0] === "1" && !state.askedLabels?.has(view.stream)) {
    (state.askedLabels ??= new Set()).add(view.stream);
    setTimeout(() => { if (state.chosen === view.stream && !traces.paused) ask(); }, 1500);
  }
  describe();
}

function takeMarkers(markers) {
  state.events = [...state.events, ...markers].slice(-400);
  traces.events = state.events;
  element("events").hidden = false;
  const items = state.events.slice(-50).reverse().map(marker => {
    const item = document.createElement("li");
    const source = state.streams.find(stream => stream.id === marker.stream)?.name ?? "";
    const age = Math.max(traces.now - marker.time, 0);
    const at = new Date(Date.now() - age * 1000);
    item.append(
      Object.assign(document.createElement("time"), { textContent: at.toTimeString().slice(0, 8) + "." + String(at.getMilliseconds()).padStart(3, "0") }),
      Object.assign(document.createElement("span"), { textContent: marker.text }),
      Object.assign(document.createElement("span"), { textContent: source }));
    return item;
  });
  element("event-list").replaceChildren(...items);
}

/** Says over the traces why they do not move. */
function tell(stream) {
  const note = element("plot-note");
  const texts = {
    stopped: `${stream.name} has stopped. It goes on here when it is back.`,
    silent: `${stream.name} is connected but sends nothing.`,
    connecting: "Connecting …",
  };
  const text = texts[stream.health] ?? "";
  if (note.textContent !== text) note.textContent = text;
  note.className = `note ${stream.health}`;
  note.hidden = text === "";
}

function describe() {
  const view = traces.view, stream = state.streams.find(stream => stream.id === state.chosen);
  if (!view || !stream) return;
  element("plot").setAttribute("aria-label",
    `Traces of ${stream.name}: ${plural(view.channels.length, "channel")}, ${traces.layout}, ${state.window} seconds, ` +
    `${element("scale").textContent} per lane${traces.paused ? ", paused" : ""}`);
}

function setPaused(paused) {
  traces.paused = paused;
  const button = element("pause");
  button.setAttribute("aria-pressed", paused);
  button.textContent = paused ? "Paused" : "Pause";
  if (!paused) ask();
  describe();
}

function setLayout(layout) {
  document.querySelector(`input[name="layout"][value="${layout}"]`).checked = true;
  traces.layout = layout;
  traces.redraw();
  describe();
}

function setWindow(seconds) {
  state.window = seconds;
  element("window").value = String(seconds);
  setPaused(false);
}

function stepWindow(step) {
  const options = [...element("window").options].map(option => Number(option.value));
  const next = options[options.indexOf(state.window) + step];
  if (next) setWindow(next);
}

function pickChannels() {
  if (traces.view) dialog.open(traces.view.labels, traces.view.channels, channels => {
    if (channels.length) { state.channels = channels; setPaused(false); }
  });
}

function setTheme(theme) {
  const names = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" };
  if (theme === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
  element("theme").textContent = names[theme];
  try { localStorage.setItem("theme", theme); } catch { /* Private windows remember nothing. */ }
  traces.redraw();
  list.drawAll();
}

function themeNow() { return document.documentElement.dataset.theme ?? "auto"; }

const KEYS = {
  "+": () => traces.zoom(1), "=": () => traces.zoom(1), "-": () => traces.zoom(-1),
  f: () => traces.fit(), b: () => setLayout("butterfly"), s: () => setLayout("stacked"), c: pickChannels,
  "[": () => stepWindow(-1), "]": () => stepWindow(1), "?": () => element("help-dialog").showModal(),
  " ": () => setPaused(!traces.paused),
};

document.addEventListener("keydown", event => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog")) return;
  // A space belongs to the button or field that has the focus.
  if (target.matches("input[type=search], select") || (event.key === " " && target.matches("button, summary, input, a"))) return;
  const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (action) { event.preventDefault(); action(); }
});
element("smaller").addEventListener("click", () => traces.zoom(-1));
element("larger").addEventListener("click", () => traces.zoom(1));
element("fit").addEventListener("click", () => traces.fit());
element("channels").addEventListener("click", pickChannels);
element("pause").addEventListener("click", () => setPaused(!traces.paused));
element("help").addEventListener("click", () => element("help-dialog").showModal());
element("theme").addEventListener("click", () => setTheme({ auto: "light", light: "dark", dark: "auto" }[themeNow()]));
element("window").addEventListener("change", event => setWindow(Number(event.target.value)));
element("high-pass").addEventListener("change", event => { state.highPass = Number(event.target.value); setPaused(false); });
for (const radio of document.querySelectorAll('input[name="layout"]')) radio.addEventListener("change", () => setLayout(radio.value));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { traces.redraw(); list.drawAll(); });
let resizing = 0;
new ResizeObserver(() => { clearTimeout(resizing); resizing = setTimeout(() => { if (!traces.paused) ask(); }, 200); }).observe(element("plot"));

let remembered = null;
try { remembered = localStorage.getItem("theme"); } catch { /* Private windows remember nothing. */ }
setTheme(["light", "dark"].includes(remembered) ? remembered : "auto");
