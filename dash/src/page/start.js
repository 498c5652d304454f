// Loads the other parts of the page. A network that changes meanwhile may stop some of them; then the page begins again.

const RETRY_MS = 1000;

async function beginAgain(error) {
  console.warn(error);
  const offline = document.getElementById("offline");
  offline.textContent = "Parts of this page did not come, so it shows nothing. Trying again …";
  offline.hidden = false;
  let answer = null;
  while (!answer) {
    await new Promise(done => setTimeout(done, RETRY_MS));
    answer = await fetch("/", { cache: "no-store" }).catch(() => null);
  }
  location.reload();
}

import("/app.js").catch(beginAgain);
