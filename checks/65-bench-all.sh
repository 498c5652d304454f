# The suites of steps in their quick form, and all suites in one command that ends in one report. Each step checks its own
# result: what a kernel or a library gives wrongly fails it. That a machine is too restless to be measured on fails nothing.
# cores: 0
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
libraries
bench="$built/schwann-bench"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
libraries=(--ours "$SCHWANN_LIBLSL" --vs "$REAL_LIBLSL_118")

# A record names its commit, or is called a trial.
program=$(realpath "$bench")
{ (cd "$results" && "$program" aead --only allocating) 2>&1 || true; } | grep -q "names the commit" ||
  { echo "a record was made of no commit"; exit 1; }
"$bench" aead --quick --trial --out "$results/aead" > "$results/said" 2>&1 ||
  { grep -q "too restless to measure" "$results/said" && ! grep -q panicked "$results/said"; } || { cat "$results/said"; exit 1; }
grep -E "NOT MET|too restless" "$results/said" || true
# What is done is not done again.
"$bench" aead --quick --trial --only allocating --out "$results/aead" > /dev/null 2>&1
[ "$(grep -c '^allocating' "$results/aead/record.tsv")" = 2 ] || { echo "a step was made twice"; exit 1; }

# A cell or a step of each.
only=(--only latency-1khz --only latency-8ch --only flow-64ch-256 --only wifi-64ch --only allocating --only cipher --only "32 x 16"
  --only handshake --only QEMU)
"$bench" all --quick --trial --no-null --no-sealed "${only[@]}" "${libraries[@]}" --out "$results/all" > "$results/said" 2>&1 ||
  { tail -n 40 "$results/said"; exit 1; }
for suite in lsl lsl-latency lsl-throughput aead mse fieldtrip sealed; do
  grep -qx "## $suite" "$results/all/report.md" || { echo "the report does not tell of $suite"; cat "$results/said"; exit 1; }
  [ "$(wc -l < "$results/all/$suite/record.tsv")" -gt 1 ] || { echo "$suite left no figures"; exit 1; }
done
