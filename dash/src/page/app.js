// Puts the page together: what comes in, what is chosen, and the keys.

import { ChannelDialog } from "./channels.js";
import { forgetColors } from "./colors.js";
import { Details } from "./details.js";
import { EventList } from "./events.js";
import { count, duration, plural } from "./format.js";
import { Filters } from "./filters.js";
import { Hands, WINDOWS } from "./hands.js";
import { sentenceOf } from "./health.js";
import { Layouts } from "./layouts.js";
import { Marks } from "./marks.js";
import { LabelMenu } from "./menu.js";
import { Plot } from "./plot.js";
import { Recording, worriesOfRecording } from "./record.js";
import { Rail } from "./rail.js";
import { tellRemote, worriesOf } from "./remote.js";
import { Schwann } from "./schwann.js";
import { Tape } from "./tape.js";
import { SignalPanel } from "./signal.js";
import { tellKey, tellNoContact, tellStatus, tellTime } from "./status.js";
import { Views, firstOf } from "./views.js";

const element = id => document.getElementById(id);
const announce = text => { element("announcer").textContent = text; };
const EVENTS_KEPT = 400;

const state = { streams: [], selected: null };
const link = new Schwann(location.origin, {
  open() { plot.events = []; views.ask(); },
  closed(wasOpen) {
    cutOff("The program that serves this page has ended or cannot be reached. Trying again …");
    if (!wasOpen) leaveIfLocked();
  },
  silent() { cutOff("No contact: the program that serves this page says nothing. What is below is not of now."); },
  hello(message) {
    takeRole(message.role);
    if (message.recording) tape.begin(message.recording);
    element("kept-note").textContent = `The last ${duration(message.kept_seconds)} are kept, and at most ${message.kept_bytes / 2 ** 20} MB of all streams together.`;
  },
  frame(frame) { plot.add(frame); },
  markers: takeMarkers,
  streams: takeStreams,
  analysis(message) { signal.take(message); },
  quality: takeQuality,
  verdicts(message) { tape.take(message); },
  view: takeView,
});
const plot = new Plot(element("plot"), () => link.now);
new Worker("/pulse.js").onmessage = () => link.look();
const marks = new Marks(link);
const recording = new Recording(link, announce);
const views = new Views(plot, link, describe);
const rail = new Rail(element("streams"), { choose, beside, announce, dismiss });
const details = new Details(dismiss);
const dialog = new ChannelDialog();
const events = new EventList(element("event-list"), time => hands.goTo(time));
const hands = new Hands(element("plot"), plot, views, { moved, label: (panel, row, event) => menu.open(panel, row, event) });
const tape = new Tape(plot, { moved, goTo(time) { hands.goTo(time); }, windows: offerWindows, names: namesOf });
const filters = new Filters(panel => views.askFor(panel));
const signal = new SignalPanel(link, time => plot.wallOf(time));
const menu = new LabelMenu({ changed: describe, asked: panel => views.askFor(panel), spectrum(panel, row) { views.activate(panel); showSignal(true); signal.choose(row); } });

/** The program was started anew and has another token: the page that says so is better than trying for ever. */
async function leaveIfLocked() {
  const answer = await fetch("/", { cache: "no-store" }).catch(() => null);
  if (answer?.status === 403) location.reload();
}

/** Shows no control that the server would refuse to the holder of this link. */
function takeRole(role) {
  document.body.dataset.role = role;
  marks.isAllowed = role !== "look";
  element("role").textContent = { look: "looking only", mark: "looking and marking" }[role] ?? "";
}

/** Nothing is known of any stream now, and nothing may look as if it were. */
function cutOff(text) {
  if (element("offline").textContent !== text) element("offline").textContent = text;
  element("offline").hidden = false;
  document.body.classList.add("cut-off");
  element("loading").hidden = element("empty").hidden = true;
  tellNoContact();
  tellRemote(null);
  recording.forget();
  takeRows(state.streams.map(stream => ({ ...stream, health: "unknown" })));
}

function takeStreams(message) {
  // A clock that was set tells other times of day, of what was before as well.
  if (message.wall !== null && plot.setWall(message.wall - message.now)) listEvents();
  element("offline").hidden = true;
  document.body.classList.remove("cut-off");
  state.streams = message.streams;
  element("loading").hidden = true;
  element("empty").hidden = message.streams.length > 0;
  for (const part of ["streams", "finder"]) element(part).hidden = message.streams.length === 0;
  const unlisted = message.unlisted ? [`${count(message.unlisted)} more not listed`] : [];
  tellStatus(message.streams, [...unlisted, ...worriesOfRecording(message.recorder), ...worriesOf(message.remote)]);
  tellRemote(message.remote);
  for (const shown of message.shown) {
    const panel = plot.panels.find(panel => panel.id === shown.stream);
    if (panel) panel.gaps = shown.gaps;
  }
  tellKey(message.key_days);
  recording.update(message.recorder, message.streams);
  takeRows(message.streams);
  layouts.look();
}

function takeRows(streams) {
  rail.update(streams);
  for (const panel of plot.panels) {
    const stream = streams.find(stream => stream.id === panel.id);
    // It was dismissed.
    if (stream) [panel.health, panel.oldest] = [stream.health, stream.oldest]; else views.remove(panel.id);
  }
  if (!streams.some(stream => stream.id === state.selected)) state.selected = null;
  if (!plot.panels.length) {
    const first = firstOf(streams);
    if (first) choose(first.id); else arrangeView();
  }
  details.update(streams.find(stream => stream.id === state.selected), plot.now);
  rail.mark(state.selected, views.ids);
  tell();
}

/** Streams beyond what the program receives by itself are received when they are chosen. */
function receive(streams) {
  const listed = streams.filter(stream => stream.health === "listed").map(stream => stream.id);
  if (listed.length) link.send({ type: "receive", streams: listed });
}

function choose(id) {
  const stream = state.streams.find(stream => stream.id === id);
  if (!stream) return;
  receive([stream]);
  state.selected = id;
  if (stream.kind === "markers") element("events").open = true; else views.only(stream);
  arrangeView();
  details.update(stream, plot.now);
  rail.mark(id, views.ids);
}

function beside(id) {
  const stream = state.streams.find(stream => stream.id === id);
  if (stream?.kind !== "signal") return;
  receive([stream]);
  views.toggle(stream);
  arrangeView();
  rail.mark(state.selected, views.ids);
}

function dismiss(ids) { link.send({ type: "dismiss", streams: ids }); }

function takeView(view) {
  const panel = views.take(view);
  if (!panel) return;
  // Names may come after the first view of a stream that was just found.
  if (panel.view.labels[0] === "1" && !panel.hasAsked) {
    panel.hasAsked = true;
    setTimeout(() => { if (plot.panels.includes(panel) && plot.following) views.askFor(panel); }, 1500);
  }
  describe();
}

function takeMarkers(message) {
  // Of a recording, these are all that are in sight.
  plot.events = [...(tape.isOpen ? [] : plot.events), ...message.markers].slice(-EVENTS_KEPT);
  tape.tellEvents(message.is_all);
  listEvents();
  arrangeView();
}

function listEvents() {
  const names = namesOf();
  events.update(plot.events, id => names.get(id) ?? "", time => plot.wallOf(time));
}

/** Without traces the events have the room to themselves; without either there is nothing to see. */
function arrangeView() {
  const view = element("view"), isBare = plot.panels.length === 0;
  view.hidden = isBare && plot.events.length === 0;
  if (isBare === view.classList.contains("only-events")) return;
  view.classList.toggle("only-events", isBare);
  element("events").open = isBare;
}

function namesOf() { return new Map(state.streams.map(stream => [stream.id, stream.name])); }

function takeQuality(message) {
  const panel = plot.panels.find(panel => panel.id === message.stream && panel.slot === message.view);
  if (panel) signal.takeQuality(panel, message);
}

function showSignal(open) {
  if (open !== signal.isOpen) signal.toggle();
  element("analyse").setAttribute("aria-pressed", open);
}

/** Opens the menu of the channel under the pointer, or of the first one in sight. */
function openMenu() {
  const panel = views.active, { left, top } = element("plot").getBoundingClientRect();
  if (!panel?.view) return;
  const reading = plot.reading(), row = reading?.row ?? panel.rows[panel.first] ?? 0;
  menu.open(reading?.panel ?? panel, row, { x: left + 40, y: top + ((plot.cursor?.y ?? panel.box.top) / (devicePixelRatio || 1)) });
}

const layouts = new Layouts({ now: () => ({ window: plot.window, panels: views.saved }), apply: applyLayout });

/** Shows a saved layout once all of its streams are there; says whether they are. */
function applyLayout({ window, panels }) {
  const pairs = panels.map(saved => [saved, state.streams.find(stream => stream.kind === "signal" && stream.name === saved.name && stream.content === saved.content)]);
  if (!pairs.length || pairs.some(([, stream]) => !stream)) return false;
  if (WINDOWS.includes(window)) plot.window = window;
  plot.until = null;
  state.selected = pairs[0][1].id;
  receive(pairs.map(([, stream]) => stream));
  views.restore(pairs);
  arrangeView();
  moved();
  return true;
}

/** Says over the traces why they do not move. */
function tell() {
  const note = element("plot-note"), panel = views.active, stream = state.streams.find(stream => stream.id === panel?.id);
  if (!panel || !stream) return;
  const texts = {
    stopped: `${stream.name} has stopped. It goes on here when it is back.`,
    silent: `${stream.name} is connected but sends nothing.`,
    connecting: "Connecting …",
    listed: stream.trouble ?? "Connecting …",
    unknown: "No contact",
  };
  const empty = panel.isEmpty(plot.edge);
  const text = !plot.following ? "" : texts[panel.health] ?? (empty ? sentenceOf(stream) : "");
  if (note.textContent !== text) note.textContent = text;
  note.className = `note ${panel.health} ${empty ? "" : "corner"}`;
  note.hidden = text === "" || (plot.panels.length > 1 && !empty);
  const sight = element("sight");
  if (sight.textContent !== panel.sight) sight.textContent = panel.sight;
}

/** Brings the controls to what is shown. */
function describe() {
  const panel = views.active;
  if (!panel) return;
  const stream = state.streams.find(stream => stream.id === panel.id), title = element("view-title");
  if (title.dataset.of !== String(panel.id)) {
    title.dataset.of = panel.id;
    title.textContent = title.title = panel.name;
    title.append(Object.assign(document.createElement("small"), { textContent: panel.content }));
  }
  element("scale").textContent = panel.scaleText;
  filters.show(panel);
  signal.show(panel);
  document.querySelector(`input[name="layout"][value="${panel.layout}"]`).checked = true;
  const { view } = panel;
  if (!view || !stream) return;
  element("channels").textContent = view.channels.length === stream.channels ? "Channels" : `${view.channels.length} of ${stream.channels}`;
  element("plot").setAttribute("aria-label", `Traces of ${plot.panels.map(panel => panel.name).join(", ")}: ` +
    `${plural(view.channels.length, "channel")}, ${panel.layout}, ${plot.window} seconds, ${panel.scaleText} per lane${plot.following ? "" : ", paused"}`);
}

/** Another stretch of time is to be seen. */
function moved() {
  element("window").value = String(plot.window);
  const pause = element("pause");
  pause.setAttribute("aria-pressed", !plot.following);
  pause.textContent = plot.following ? "Pause" : "Follow";
  tape.moved();
  views.ask();
  describe();
  tell();
}

function setPaused(paused) {
  if (tape.isOpen) plot.until = plot.span.until;
  else if (paused) plot.hold();
  else plot.until = null;
  moved();
}

function change(action) { if (views.active) { action(views.active); describe(); } }

function setLayout(layout) {
  change(panel => { panel.layout = layout; panel.ring?.redraw(); });
}

function pickChannels() {
  const panel = views.active;
  if (panel?.view) dialog.open(panel.view.labels, panel.view.channels, channels => {
    if (channels.length) { panel.wish.channels = channels; views.ask(); }
  });
}

function setTheme(theme) {
  const names = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" };
  if (theme === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
  element("theme-name").textContent = element("theme").title = names[theme];
  try { localStorage.setItem("theme", theme); } catch { /* Private windows remember nothing. */ }
  recolor();
}

function recolor() {
  forgetColors();
  plot.redraw();
  signal.redraw();
}

function themeNow() { return document.documentElement.dataset.theme ?? "auto"; }

function page(way) { change(panel => panel.scroll(way * Math.max(1, panel.lanes().shown - 1))); tell(); }

const KEYS = {
  "+": () => change(panel => panel.zoom(1)), "=": () => change(panel => panel.zoom(1)), "-": () => change(panel => panel.zoom(-1)),
  f: () => change(panel => panel.fit(plot.edge)), b: () => setLayout("butterfly"), s: () => setLayout("stacked"), c: pickChannels,
  a: () => showSignal(!signal.isOpen), l: openMenu,
  "[": () => hands.zoomTime(-1), "]": () => hands.zoomTime(1), "?": () => element("help-dialog").showModal(),
  ArrowLeft: () => hands.pan(-plot.window / 4), ArrowRight: () => hands.pan(plot.window / 4), End: () => setPaused(false),
  PageUp: () => page(-1), PageDown: () => page(1), "/": () => element("search").focus(),
  " ": () => { if (!tape.isOpen) setPaused(plot.following); },
};

document.addEventListener("keydown", event => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog, [role=menu]")) return;
  // What is typed belongs to the field that takes text; a space to the button or box that has the focus, and arrows to a choice.
  if (target.matches("input:not([type=radio], [type=checkbox], [type=range]), textarea, select") || (event.key === " " && target.matches("button, summary, input, a")) ||
    (event.key.startsWith("Arrow") && target.matches("input"))) return;
  if (marks.has(event.key.toLowerCase()) && !event.repeat) { event.preventDefault(); return void marks.mark(event.key.toLowerCase(), event.timeStamp); }
  const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (action) { event.preventDefault(); action(); }
});
element("smaller").addEventListener("click", KEYS["-"]);
element("larger").addEventListener("click", KEYS["+"]);
element("fit").addEventListener("click", KEYS.f);
element("channels").addEventListener("click", pickChannels);
element("pause").addEventListener("click", KEYS[" "]);
element("help").addEventListener("click", KEYS["?"]);
element("theme").addEventListener("click", () => setTheme({ auto: "light", light: "dark", dark: "auto" }[themeNow()]));
function offerWindows() {
  element("window").replaceChildren(...WINDOWS.map(seconds => new Option(duration(seconds).replace(/\.0+(?= )/, ""), seconds, false, seconds === plot.window)));
}
offerWindows();
element("window").addEventListener("change", event => {
  plot.window = Number(event.target.value);
  if (tape.isOpen) plot.until = plot.place(plot.until);
  moved();
});
element("sheet-button").addEventListener("click", () => {
  const open = element("sheet").classList.toggle("open");
  element("sheet-button").setAttribute("aria-expanded", open);
  element("sheet-button").textContent = open ? "Done" : "Controls";
});
element("analyse").addEventListener("click", () => showSignal(!signal.isOpen));
element("summary").addEventListener("click", () => rail.goToSuspect());
for (const radio of document.querySelectorAll('input[name="layout"]')) radio.addEventListener("change", () => setLayout(radio.value));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
let resizing = 0;
new ResizeObserver(() => { clearTimeout(resizing); resizing = setTimeout(() => views.ask(), 200); }).observe(element("plot"));
setInterval(() => tellTime(document.body.classList.contains("cut-off") || !plot.now ? null : plot.wallOf(tape.isOpen ? plot.until : plot.now)), 250);

let remembered = null;
try { remembered = localStorage.getItem("theme"); } catch { /* Private windows remember nothing. */ }
setTheme(["light", "dark"].includes(remembered) ? remembered : "auto");
