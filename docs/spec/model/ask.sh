# Sourced by search.sh and relay.sh: asks Verifpal about a model, or about a variant of it.
#
# A verdict is a letter per query in the model's order (c confidentiality, a authentication, f freshness) and 0 if it
# holds, 1 if it falls. What is expected to fall, and why, is in README.md; any other verdict ends a script with an error.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ask NAME SESSIONS EXPECTED MODEL [CHANGE ...]: each change, a command to sed, must change the model.
ask() {
  local name=$1 sessions=$2 expected=$3 model=$4 verdict
  cp "$model" "$work/$name.vp"
  shift 4
  for change in "$@"; do
    cp "$work/$name.vp" "$work/before"
    sed -E "$change" "$work/before" >"$work/$name.vp"
    if cmp -s "$work/before" "$work/$name.vp"; then
      echo "'$change' changes nothing"
      exit 1
    fi
  done
  printf '\n=== %s, %s at a time\n' "$name" "$sessions"
  [ $# = 0 ] || printf '%s\n' "$@"
  verifpal verify --sessions "$sessions" --result-code "$work/$name.vp" | tee "$work/output"
  verdict=$(tail -n 1 "$work/output")
  if [ "$verdict" != "$expected" ]; then
    echo "$name: $verdict instead of $expected"
    exit 1
  fi
}
