// Wakes the page also while it is hidden. Browsers slow the timers of a hidden page down to one a minute, and not those of a
// worker: the title of its tab says within two seconds that there is no contact.

setInterval(() => postMessage(null), 200);
