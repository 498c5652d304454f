// How a stream is doing: in a word, in a shape, and whether a person should look.

const SHAPES = {
  live: '<circle cx="8" cy="8" r="6"/>',
  connecting: '<circle cx="8" cy="8" r="6"/>',
  listed: '<circle cx="8" cy="8" r="3"/>',
  unknown: '<path d="M3 8h10"/>',
  unwell: '<path d="M8 2 15 14H1Z" stroke-linejoin="round"/>',
  refused: '<path d="M3 3 13 13M13 3 3 13"/>',
  silent: '<path d="M8 2 15 14H1Z" stroke-linejoin="round"/>',
  stopped: '<rect x="2.5" y="2.5" width="11" height="11" rx="1.5"/>',
};
export const LOCKS = {
  plain: '<rect x="3" y="8" width="10" height="7" rx="1.5"/><path d="M5 8V5a3 3 0 0 1 5.6-1.5"/>',
  sealed: '<rect x="3" y="8" width="10" height="7" rx="1.5"/><path d="M5 8V5a3 3 0 0 1 6 0v3"/>',
  refused: '<path d="M3 3 13 13M13 3 3 13"/>',
};
export const LOCK_TITLES = {
  plain: "Not encrypted: everybody on the network can read and change it.",
  sealed: "Encrypted and authenticated.",
};

/** How a stream is, in a word. */
export function stateOf({ health, trouble, refusal }) {
  if (health === "unknown") return health;
  if (refusal) return "refused";
  // One that is only listed has a trouble if it cannot be received.
  return trouble && ["live", "listed"].includes(health) ? "unwell" : health;
}

/** The same, as it is said. */
export function wordOf(state) { return state === "unwell" ? "not well" : state; }

/** Whether something is wrong with a stream that a person should look at. */
export function isWrong(stream) { return ["silent", "stopped", "unwell", "refused"].includes(stateOf(stream)); }

/** Whether a person should look at it: it is not well, or samples of it are missing, now or before. */
export function isSuspect(stream) { return isWrong(stream) || (stream.gaps > 0 && stream.health !== "unknown"); }

/** What is wrong, in a sentence; nothing if nothing is. */
export function sentenceOf(stream) {
  if (stream.health === "unknown") return "No contact: nothing is known of it now.";
  if (stream.refusal || stream.trouble) return stream.refusal ?? stream.trouble;
  if (stream.health === "stopped") return "The sender has ended or cannot be reached. It goes on here when it is back.";
  if (stream.health === "silent") return "It is connected but sends nothing.";
  if (stream.health === "listed") return "It is found and not received: the dashboard receives 200 streams at a time. Choose it to receive it.";
  return "";
}

/** Shows a state by its shape, its colour and its word. */
export function fillState(element, state) {
  element.className = `health ${state}`;
  element.firstElementChild.innerHTML = SHAPES[state];
  element.lastElementChild.textContent = wordOf(state);
}
