// The line at the top: is all well, is it locked, what time is it.

import { clockText, plural } from "./format.js";
import { isSuspect, stateOf } from "./health.js";

const part = id => document.getElementById(id);

/** Says how all streams are, with `more` of the recording and of other sites; the words are red and in the title where something is wrong. */
export function tellStatus(streams, more = []) {
  const number = condition => streams.filter(condition).length;
  const worries = [
    [number(stream => stream.health === "stopped" && !stream.refusal), "gone"],
    [number(stream => stream.refusal), "refused"],
    [number(stream => stream.health === "silent"), "silent"],
    [number(stream => stateOf(stream) === "unwell"), "not well"],
    [number(stream => stream.gaps > 0), "with gaps"],
  ].filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`).concat(more);
  const total = plural(streams.length, "stream"), unjudged = number(stream => !stream.is_judged);
  const listed = number(stream => stream.health === "listed");
  const calm = unjudged ? `${unjudged} not judged yet` : listed ? `${listed} only listed` : "all is well";
  say(streams.length === 0 ? "" : `${total} · `, worries.join(" · "), streams.length && !worries.length ? calm : "");
  part("summary").disabled = !streams.some(isSuspect);
  document.title = worries.length ? `■ ${worries.join(", ")} – Schwann` : streams.length ? `${total} – Schwann` : "Schwann";
  const sealed = number(stream => stream.lock === "sealed"), plain = number(stream => stream.lock === "plain");
  const locks = [sealed && `${sealed} sealed`, plain && `${plain} plain`].filter(Boolean).join(", ");
  if (part("locks").textContent !== locks) part("locks").textContent = locks;
}

/** Nothing is known of any stream now, and a green light or a calm word would say otherwise. */
export function tellNoContact() {
  say("", "no contact", "");
  part("summary").disabled = true;
  part("locks").textContent = "";
  document.title = "■ No contact – Schwann";
}

/** Says that this device's certificate expires soon; null if it does not. */
export function tellKey(days) {
  const text = days === null ? "" : `key expires in ${plural(days, "day")}`;
  if (part("key").textContent !== text) part("key").textContent = text;
}

/** Shows the time of day of the lab; none while it is not known. */
export function tellTime(wall) {
  const text = wall === null ? "" : clockText(wall, 1);
  if (part("wall").textContent !== text) part("wall").textContent = text;
}

function say(total, worries, calm) {
  const summary = part("summary"), words = total + worries + calm;
  if (summary.textContent === words) return;
  const strong = Object.assign(document.createElement("strong"), { textContent: worries });
  summary.replaceChildren(total, ...(worries ? [strong] : [calm]));
  summary.classList.toggle("calm", !worries);
}
