// Puts the page together: what comes in, what is chosen, and the keys.

import { ChannelDialog } from "./channels.js";
import { forgetColors } from "./colors.js";
import { plural } from "./format.js";
import { Link } from "./link.js";
import { StreamList } from "./streams.js";
import { Traces } from "./traces.js";

const element = id => document.getElementById(id);
const announce = text => { element("announcer").textContent = text; };

const state = { streams: [], chosen: null, channels: null, highPass: 0, window: 10, generation: 0, events: [] };
const list = new StreamList(element("streams"), { choose, announce, dismiss: ids => link.send({ dismiss: ids }) });
const traces = new Traces(element("plot"), text => { element("scale").textContent = text; describe(); });
const dialog = new ChannelDialog();
const link = new Link({
  open() { state.events = []; ask(); },
  closed() { cutOff("The program that serves this page has ended or cannot be reached. Trying again …"); },
  silent() { cutOff("No contact: the program that serves this page says nothing. What is below is not of now."); },
  hello(message) { traces.synchronize(message.now); },
  frame(frame) { traces.synchronize(frame.now); traces.add(frame); },
  markers(message) { takeMarkers(message.markers); },
  streams: takeStreams,
  view: takeView,
});

/** Nothing is known of any stream now, and a green light or a calm word would say otherwise. */
function cutOff(text) {
  if (element("offline").textContent !== text) element("offline").textContent = text;
  element("offline").hidden = false;
  document.body.classList.add("cut-off");
  element("summary").replaceChildren(Object.assign(document.createElement("strong"), { textContent: "no contact" }));
  document.title = "■ No contact – Schwann";
  takeRows(state.streams.map(stream => ({ ...stream, health: "unknown" })));
}

function takeStreams(message) {
  traces.synchronize(message.now);
  element("offline").hidden = true;
  document.body.classList.remove("cut-off");
  state.streams = message.streams;
  element("empty").hidden = message.streams.length > 0;
  element("streams").hidden = message.streams.length === 0;
  summarize(message.streams);
  if (message.shown && message.shown.stream === state.chosen) traces.gaps = message.shown.gaps;
  takeRows(message.streams);
}

function takeRows(streams) {
  list.update(streams);
  const chosen = streams.find(stream => stream.id === state.chosen);
  if (chosen) {
    traces.health = chosen.health;
    return tell(chosen);
  }
  // It was dismissed.
  if (state.chosen !== null) [state.chosen, element("view").hidden] = [null, true];
  // The fastest signal is most likely the one to look at first.
  const signals = streams.filter(stream => stream.kind === "signal" && stream.health === "live");
  const first = signals.sort((a, b) => b.channels * b.nominal_rate - a.channels * a.nominal_rate)[0];
  if (first) choose(first.id);
}

function summarize(streams) {
  const number = condition => streams.filter(condition).length;
  const worries = [
    [number(stream => stream.health === "stopped" && !stream.refusal), "gone"],
    [number(stream => stream.refusal), "refused"],
    [number(stream => stream.health === "silent"), "silent"],
    [number(stream => stream.trouble && stream.health === "live"), "not well"],
    [number(stream => stream.gaps > 0), "with gaps"],
  ].filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  const summary = element("summary"), total = plural(streams.length, "stream");
  const unjudged = number(stream => !stream.is_judged);
  const calm = unjudged ? `${unjudged} not judged yet` : "all is well";
  const words = streams.length === 0 ? "" : `${total} · ${worries.join(" · ") || calm}`;
  if (summary.textContent === words) return;
  const strong = document.createElement("strong");
  strong.textContent = worries.join(" · ");
  summary.replaceChildren(...(worries.length ? [`${total} · `, strong] : [words]));
  document.title = worries.length ? `■ ${worries.join(", ")} – Schwann` : streams.length ? `${total} – Schwann` : "Schwann";
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
  // Many streams send many events; a list that changes more often than this is read by no eye.
  state.listing ??= setTimeout(() => { state.listing = null; listEvents(); }, 200);
}

function listEvents() {
  const names = new Map(state.streams.map(stream => [stream.id, stream.name]));
  const items = state.events.slice(-50).reverse().map(marker => {
    const item = document.createElement("li");
    const at = new Date(Date.now() - Math.max(traces.now - marker.time, 0) * 1000);
    const time = `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
    item.append(...[["time", time], ["span", marker.text], ["span", names.get(marker.stream) ?? ""]]
      .map(([tag, text]) => Object.assign(document.createElement(tag), { textContent: text })));
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
    unknown: "No contact",
  };
  const text = texts[stream.health] ?? ((traces.isEmpty && stream.trouble) || "");
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
  recolor();
}

function recolor() {
  forgetColors();
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
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
let resizing = 0;
new ResizeObserver(() => { clearTimeout(resizing); resizing = setTimeout(() => { if (!traces.paused) ask(); }, 200); }).observe(element("plot"));

let remembered = null;
try { remembered = localStorage.getItem("theme"); } catch { /* Private windows remember nothing. */ }
setTheme(["light", "dark"].includes(remembered) ? remembered : "auto");
