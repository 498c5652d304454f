// Streams of other sites, below those of this network: how each is, where it comes from, and who has it on disk.

import { count, plural, rate } from "./format.js";
import { fillState } from "./health.js";

const STATES = { well: "live", early: "connecting", silent: "silent", clock: "unwell", stamps: "unwell", backlog: "unwell", "no answer": "silent", "no key": "refused" };
const LINE = `<span class="health"><svg viewBox="0 0 16 16" aria-hidden="true"></svg><span class="unseen"></span></span><span class="name"></span><span class="rate"></span>`;
const list = Object.assign(document.createElement("ul"), { id: "remote", className: "remote" });
list.setAttribute("aria-label", "Streams of other sites");

/** Shows what goes through hubs; null where nothing is known of it, or no hub is looked at. */
export function tellRemote(remote) {
  const lines = remote ? [...remote.hubs.flatMap(linesOfHub), ...remote.problems.map(text => ({ state: "stopped", text, title: text }))] : [];
  list.hidden = lines.length === 0;
  const shown = JSON.stringify(lines);
  if (list.dataset.shown === shown) return;
  list.dataset.shown = shown;
  list.replaceChildren(...lines.map(elementOf));
  if (!list.isConnected) document.getElementById("streams").after(list);
}

/** What is wrong with it, in words for the line at the top. */
export function worriesOf(remote) {
  if (!remote) return [];
  const wrong = remote.hubs.flatMap(hub => hub.streams).filter(stream => stream.is_wrong).length;
  const lost = remote.hubs.filter(hub => hub.problem).length + remote.problems.length;
  return [...(lost ? [`${plural(lost, "hub")} not reached`] : []), ...(wrong ? [`${count(wrong)} of other sites not well`] : [])];
}

function linesOfHub(hub) {
  const place = hub.address.replace(/^\w+:\/\//, "");
  const heading = { heading: hub.problem ? `${place}: not reached` : `through ${place}`, isWrong: Boolean(hub.problem), title: hub.problem ?? "" };
  // What a hub said before it was lost is not of now.
  return [heading, ...(hub.problem ? [] : hub.streams.map(lineOf))];
}

function lineOf(stream) {
  const receipts = Object.entries(stream.receipts).map(([device, parts]) => `${device} has ${count(parts.reduce((sum, [first, last]) => sum + last - first + 1, 0))} of ${count((stream.newest_block ?? -1) + 1)} blocks on disk`);
  const facts = [stream.type, stream.hostname, stream.lag === null ? "" : `lag ${(stream.lag * 1000).toFixed(0)} ms`, ...receipts];
  const waits = stream.backlog?.is_behind ? `backlog ${stream.backlog.seconds.toFixed(0)} s` : "";
  const state = stream.is_wrong ? stream.state : stream.rate !== null && stream.nominal_rate > 0 ? rate(stream.rate) : "";
  const words = stream.state === "backlog" ? waits : [state, waits].filter(Boolean).join(", ");
  return { state: STATES[stream.state] ?? "unknown", text: `${stream.name ?? "no key"} of ${stream.site}`, rate: words, isWrong: stream.is_wrong, title: facts.filter(Boolean).join(" · ") };
}

function elementOf(line) {
  const element = document.createElement("li");
  element.title = line.title;
  element.className = line.heading ? "host" : "far";
  element.classList.toggle("wrong", Boolean(line.isWrong));
  if (line.heading) { element.textContent = line.heading; return element; }
  element.innerHTML = LINE;
  fillState(element.querySelector(".health"), line.state);
  element.querySelector(".name").textContent = line.text;
  element.querySelector(".rate").textContent = line.rate ?? "";
  return element;
}
