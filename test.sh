#!/usr/bin/env bash
# Runs every check of the project and says how many passed. Installs what a check needs where it can.
#
#   ./test.sh            everything
#   ./test.sh rust lsl   only the checks whose file name contains one of these words
#
# A check is a file checks/NN-name.sh. It exits 0 (passed), 77 (cannot exist on this machine; says why
# on its last line) or anything else (failed).
set -uo pipefail
cd "$(dirname "$0")" || exit 1
export SCHWANN_ROOT="$PWD" SCHWANN_STATE="$PWD/target/checks" RUSTFLAGS="${RUSTFLAGS--D warnings}"
# Nothing is built twice here, and nothing is timed: no incremental state, no link-time optimisation.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false
mkdir -p "$SCHWANN_STATE"

free_mib=$(df -Pm . | awk 'NR == 2 { print $4 }')
if [ "$free_mib" -lt 6500 ]; then
  echo "Only $free_mib MiB are free here, and the checks may need 6500: if one fails for want of space, 'cargo clean' or a" \
    "larger disk mends it."
fi

passed=0 failed=0 skipped=0 failures=() skips=()
for check in checks/[0-9]*.sh; do
  name=$(basename "$check" .sh)
  if [ $# -gt 0 ]; then
    wanted=no
    for word in "$@"; do [[ $name == *"$word"* ]] && wanted=yes; done
    [ $wanted = yes ] || continue
  fi
  printf '\n=== %s\n' "$name"
  started=$SECONDS
  log="$SCHWANN_STATE/$name.log"
  bash "$check" 2>&1 </dev/null | tee "$log"
  code=${PIPESTATUS[0]}
  took=$((SECONDS - started))
  case $code in
    0) passed=$((passed + 1)); echo "--- passed $name (${took} s)" ;;
    77) skipped=$((skipped + 1)); skips+=("$name: $(tail -n 1 "$log")"); echo "--- SKIPPED $name (${took} s)" ;;
    *) failed=$((failed + 1)); failures+=("$name (exit $code, ${took} s)"); echo "--- FAILED $name (exit $code, ${took} s)" ;;
  esac
done

# What failed, once more at the end: nobody should have to look for it in a long output.
for line in "${failures[@]}"; do
  printf '\n=== the last lines of %s\n' "$line"
  tail -n 40 "$SCHWANN_STATE/${line%% *}.log"
done

printf '\nchecks in %s s\n' "$SECONDS"
for line in "${skips[@]}"; do echo "SKIPPED $line"; done
for line in "${failures[@]}"; do echo "FAILED $line"; done
# Tests inside the checks, as their own runners counted them.
cat "$SCHWANN_STATE"/*.log 2>/dev/null | awk '
  /^test result:/ { for (i = 1; i < NF; i++) { if ($(i+1) ~ /^passed/) p += $i; if ($(i+1) ~ /^failed/) f += $i } }
  /^=* ?[0-9]+ (passed|failed).* in [0-9.]+s/ { for (i = 1; i < NF; i++) { if ($(i+1) ~ /^passed/) p += $i; if ($(i+1) ~ /^failed/) f += $i } }
  END { printf "tests inside them: %d passed, %d failed\n", p, f }'
echo "$passed passed, $failed failed, $skipped skipped"
[ $((passed + failed)) -gt 0 ] && [ $failed -eq 0 ]
