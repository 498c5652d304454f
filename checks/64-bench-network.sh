# The benchmark between two computers, which are network namespaces here: over lines of its own with delay and loss, and by
# the same program on another. Every run checks its own result, sealed and plain; no speed is judged.
# cores: 0
# debian: iproute2
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need_networks
[ -e /dev/net/tun ] || { echo "this kernel has no tap devices"; exit 77; }
libraries
bench="$built/schwann-bench"
results=$(mktemp -d) here=schwann-h-$$ there=schwann-t-$$
trap 'ip netns del "$here" || true; ip netns del "$there" || true
      rm -rf "$results"' EXIT
libraries=(--ours "$SCHWANN_LIBLSL" --vs "$REAL_LIBLSL_118")

# Without the rights it says what is missing.
setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$bench" lsl network --quick --trial "${libraries[@]}" \
  --out "$results/none" 2> "$results/refusal" && { echo "a line was laid without the right to"; exit 1; }
grep -q "as root" "$results/refusal" || { cat "$results/refusal"; exit 1; }

"$bench" lsl network --quick --trial --no-null --only wifi-64ch "${libraries[@]}" --out "$results/lines"
awk -F '\t' '$3 == "line_lost_frames" && $10 ~ /[1-9]/ { lost = 1 } END { exit !lost }' "$results/lines/record.tsv" || { echo "the radio lost no frame"; exit 1; }

# Another computer: the same program there, over the standard streams of a command.
for space in "$here" "$there"; do ip netns add "$space"; ip -n "$space" link set lo up; done
ip link add cable netns "$here" type veth peer name cable netns "$there"
ip -n "$here" addr add 10.98.0.1/24 dev cable; ip -n "$here" link set cable up
ip -n "$there" addr add 10.98.0.2/24 dev cable; ip -n "$there" link set cable up
campaign() { ip netns exec "$here" "$bench" lsl network --between 10.98.0.1 10.98.0.2 --quick --trial --no-null "${libraries[@]}" "$@"; }
campaign --other "false" --out "$results/stranger" 2> "$results/refusal" && { echo "no computer was taken for one"; exit 1; }
grep -q -- "--other takes the words" "$results/refusal" || { cat "$results/refusal"; exit 1; }
campaign --other "ip netns exec $there" --only there --out "$results/other"
for cell in there-and-back-64ch-1000hz there-flow; do
  grep -q "^$cell"$'\tschwann-sealed\t' "$results/other/record.tsv" || { echo "$cell was not measured sealed"; exit 1; }
done
find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'schwann-bench-[0-9]*' -newer "$results" -print -quit | grep . && { echo "keys were left behind"; exit 1; }
exit 0
