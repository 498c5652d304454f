# The benchmark between two computers, which are network namespaces here: over lines of its own with delay and loss, and with
# an agent. Every run checks its own result, sealed and plain; no speed is judged.
# debian: iproute2
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need_networks
[ -e /dev/net/tun ] || { echo "this kernel has no tap devices"; exit 77; }
libraries
build -p schwann-bench
bench="$built/schwann-bench"
results=$(mktemp -d) here=schwann-h-$$ there=schwann-t-$$
trap 'kill ${agent_pid:-} 2> /dev/null || true; ip netns del "$here" || true; ip netns del "$there" || true
      rm -rf "$results"' EXIT
libraries=(--ours "$SCHWANN_LIBLSL" --vs "$REAL_LIBLSL_118")

# Without the rights it says what is missing.
setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$bench" lsl network --quick --trial "${libraries[@]}" \
  --out "$results/none" 2> "$results/refusal" && { echo "a line was laid without the right to"; exit 1; }
grep -q "as root" "$results/refusal" || { cat "$results/refusal"; exit 1; }

"$bench" lsl network --quick --trial --no-null --only wifi-64ch "${libraries[@]}" --out "$results/lines"
awk -F '\t' '$3 == "line_lost_frames" && $10 ~ /[1-9]/ { lost = 1 } END { exit !lost }' "$results/lines/record.tsv" || { echo "the radio lost no frame"; exit 1; }

# Another computer, with an agent; the first token that is tried is wrong.
for space in "$here" "$there"; do ip netns add "$space"; ip -n "$space" link set lo up; done
ip link add cable netns "$here" type veth peer name cable netns "$there"
ip -n "$here" addr add 10.98.0.1/24 dev cable; ip -n "$here" link set cable up
ip -n "$there" addr add 10.98.0.2/24 dev cable; ip -n "$there" link set cable up
coproc agent { exec ip netns exec "$there" "$bench" agent --no-null "${libraries[@]}" 2>&1; }
# Both are gone from the shell once it has ended.
# shellcheck disable=SC2154 # coproc sets it
agent_pid=$agent_PID
# shellcheck disable=SC2154
until read -r line <&"${agent[0]}" && [[ $line == *"--token "* ]]; do :; done
token=${line##*--token }
campaign() { ip netns exec "$here" "$bench" lsl network --agent 10.98.0.2:16580 --quick --trial --no-null "${libraries[@]}" "$@"; }
[[ $token == a* ]] && other=b || other=a
campaign --token "$other${token:1}" --out "$results/stranger" 2> "$results/refusal" \
  && { echo "a stranger's token was taken"; exit 1; }
grep -q "does not take this token" "$results/refusal" || { cat "$results/refusal"; exit 1; }
campaign --token "$token" --only there-and-back --out "$results/agent"
wait "$agent_pid"
