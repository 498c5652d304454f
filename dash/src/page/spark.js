// The small picture of a stream's last seconds, as a path 22 high with a unit for each column.

const HEIGHT = 22, LEAST = 1.2;

/** `spark` has lowest and highest value per column, from 0 to 100, or -1 for none; markers are ticks. */
export function sparkPath(spark, isTicks) {
  let path = "";
  for (let column = 0; column < spark.length / 2; column++) {
    const [low, high] = [spark[2 * column], spark[2 * column + 1]];
    if (low < 0) continue;
    const room = HEIGHT - 4, [top, bottom] = isTicks ? [0.2 * HEIGHT, 0.8 * HEIGHT] : [2 + room * (1 - high / 100), 2 + room * (1 - low / 100)];
    path += `M${column} ${top.toFixed(1)}h1v${Math.max(bottom - top, LEAST).toFixed(1)}h-1z`;
  }
  return path;
}
