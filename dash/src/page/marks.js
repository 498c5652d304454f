// Markers by hand: M, and the keys 1 to 9.

const KEYS = ["m", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const SEEN = 2500;       // ms that a note stays

export class Marks {
  isAllowed = true;        // whether this link may mark
  #lab; #note = document.getElementById("mark-note"); #dialog = document.getElementById("mark-dialog"); #timer = 0;
  #texts = Object.fromEntries(KEYS.map(key => [key, key === "m" ? "mark" : `mark ${key}`]));

  constructor(lab) {
    this.#lab = lab;
    try { Object.assign(this.#texts, JSON.parse(localStorage.getItem("marks") ?? "{}")); } catch { /* Private windows remember nothing. */ }
    document.getElementById("mark-list").append(...KEYS.map(key => this.#line(key)));
    this.#dialog.addEventListener("close", () => {
      if (this.#dialog.returnValue !== "apply") return;
      for (const input of this.#dialog.querySelectorAll("input")) this.#texts[input.name] = input.value.trim();
      try { localStorage.setItem("marks", JSON.stringify(this.#texts)); } catch { /* Private windows remember nothing. */ }
    });
    document.getElementById("mark").addEventListener("click", event => this.mark("m", event.timeStamp));
    document.getElementById("mark-keys").addEventListener("click", () => this.#open());
  }

  /** Whether a key is one that marks. */
  has(key) { return this.isAllowed && Boolean(this.#texts[key]); }

  /** Writes the marker of a key, with the stamp of the moment in which it was pressed. */
  async mark(key, timeStamp) {
    const text = this.#texts[key];
    try {
      await this.#lab.mark(text, timeStamp);
      const { bound } = this.#lab;
      this.#tell(`Marked “${text}”, to ${bound < 0.001 ? "1 ms" : bound < 1 ? `${Math.ceil(bound * 1000)} ms` : "an unknown precision"}`, false);
    } catch (error) {
      this.#tell(`Not marked: ${error.message}`, true);
    }
  }

  #open() {
    this.#dialog.returnValue = "";
    for (const input of this.#dialog.querySelectorAll("input")) input.value = this.#texts[input.name];
    this.#dialog.showModal();
  }

  #line(key) {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { name: key, type: "text", maxLength: 200, autocomplete: "off" });
    label.append(Object.assign(document.createElement("kbd"), { textContent: key.toUpperCase() }), input);
    return label;
  }

  #tell(text, isBad) {
    clearTimeout(this.#timer);
    this.#note.textContent = text;
    this.#note.classList.toggle("bad", isBad);
    this.#note.hidden = false;
    this.#timer = setTimeout(() => { this.#note.hidden = true; }, SEEN);
  }
}
