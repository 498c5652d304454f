// What is shown and how, kept by name in this browser, or handed on in an address.

const part = id => document.getElementById(id);

export class Layouts {
  #handlers; #wanted = null;

  /** `handlers.now()` gives the layout that is shown; `handlers.apply(layout)` shows one, and says whether its streams are there. */
  constructor(handlers) {
    this.#handlers = handlers;
    part("layout").addEventListener("change", event => this.#choose(event.target.value));
    part("layout-form").addEventListener("submit", event => this.#save(event));
    addEventListener("hashchange", () => this.#readAddress());
    this.#fill();
    this.#readAddress();
  }

  /** Streams have come: a layout that waits for its streams may be shown. */
  look() {
    if (this.#wanted && this.#handlers.apply(this.#wanted)) this.#wanted = null;
  }

  #all() {
    try { return JSON.parse(localStorage.getItem("layouts") ?? "{}"); } catch { return {}; }
  }

  #keep(layouts) {
    try { localStorage.setItem("layouts", JSON.stringify(layouts)); } catch { /* Private windows remember nothing. */ }
    this.#fill();
  }

  #fill() {
    const names = Object.keys(this.#all()).sort();
    const options = [["", "Layout"], ...names.map(name => [`=${name}`, name]), ["save", "Save …"], ["share", "Copy its address"], ...(names.length ? [["forget", "Forget all"]] : [])];
    part("layout").replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  }

  async #choose(value) {
    part("layout").value = "";
    if (value.startsWith("=")) this.#show(this.#all()[value.slice(1)]);
    if (value === "save") { part("layout-name").value = ""; part("layout-dialog").showModal(); }
    if (value === "forget") this.#keep({});
    if (value === "share") {
      location.hash = `layout=${encodeURIComponent(JSON.stringify(this.#handlers.now()))}`;
      // Without the right to copy, the address is where addresses are.
      await navigator.clipboard?.writeText(location.href).catch(() => {});
    }
  }

  #save(event) {
    const name = part("layout-name").value.trim();
    if (event.submitter?.value === "save" && name) this.#keep({ ...this.#all(), [name]: this.#handlers.now() });
  }

  #readAddress() {
    const found = location.hash.match(/^#layout=(.+)$/);
    if (!found) return;
    try { this.#show(JSON.parse(decodeURIComponent(found[1]))); } catch { /* Not an address of ours. */ }
  }

  #show(layout) {
    this.#wanted = layout;
    this.look();
  }
}
