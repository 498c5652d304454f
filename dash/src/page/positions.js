// Where electrodes of the international 10-10 system are, seen from above.

// From the front to the back: angle of the outermost electrode from the nose, and where the row crosses the midline.
const ROWS = { FP: [18, 0.8], AF: [36, 0.6], F: [54, 0.4], FC: [72, 0.2], FT: [72, 0.2], C: [90, 0], T: [90, 0], CP: [108, -0.2], TP: [108, -0.2],
  P: [126, -0.4], PO: [144, -0.6], O: [162, -0.8], I: [180, -1] };
const OLD = { T3: "T7", T4: "T8", T5: "P7", T6: "P8", M1: "TP9", M2: "TP10", A1: "T9", A2: "T10" };
const RING = 0.8;        // the outermost row of a usual cap; 1 is the edge of the head

/**
 * Right and front of the middle of the head, in head radii; null for another name.
 *
 * Source: R. Oostenveld and P. Praamstra, "The five percent electrode system", 2001; flattened so that distances from
 * the middle stay.
 */
export function positionOf(label) {
  const plain = label.trim().toUpperCase().replace(/^EEG[ _-]*/, "").replace(/[ _-]*(REF|AVG|LE|M[12]|A[12])$/, "");
  const found = (OLD[plain] ?? plain).match(/^(FP|AF|FC|FT|CP|TP|PO|F|C|T|P|O|I)(Z|10|[1-9])$/);
  if (!found) return null;
  const [, row, place] = found, [angle, middle] = ROWS[row];
  if (place === "Z") return [0, middle];
  const number = Number(place), side = number % 2 ? -1 : 1, step = Math.ceil(number / 2);
  // The first and the last row have only their outermost electrodes.
  const part = row === "FP" || row === "O" ? 1 : Math.min(step / 4, 1), radius = step > 4 ? 1 : RING, turn = angle * Math.PI / 180;
  const [x, y] = [radius * Math.sin(turn), radius * Math.cos(turn)];
  return [side * part * x, middle + part * (y - middle)];
}

// The chains of the longitudinal bipolar montage, from the front to the back.
const CHAINS = ["Fp1 F7 T7 P7 O1", "Fp1 F3 C3 P3 O1", "Fz Cz Pz", "Fp2 F4 C4 P4 O2", "Fp2 F8 T8 P8 O2"].map(chain => chain.split(" "));

/** Pairs of channels for a bipolar montage: along the head where the names are known, otherwise each and the next one. */
export function bipolarPairs(labels, channels) {
  const places = new Map();
  labels.forEach((label, channel) => { const at = positionOf(label); if (at) places.set(at.map(part => part.toFixed(3)).join(), channel); });
  const channelOf = name => places.get(positionOf(name).map(part => part.toFixed(3)).join());
  const pairs = CHAINS.flatMap(chain => chain.slice(1).map((name, place) => [channelOf(chain[place]), channelOf(name)]));
  const known = pairs.filter(([one, other]) => one !== undefined && other !== undefined);
  return known.length >= 4 ? known : channels.slice(1).map((channel, place) => [channels[place], channel]);
}
