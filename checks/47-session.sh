# The secure session at full strength: a million mutated streams of records, none of which may pass for the
# original; the symbolic models, if Verifpal is installed.
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages

SCHWANN_MUTATIONS=1000000 built_tests 'package(schwann-session) and test(/no_mutated_record_is_ever|nothing_from_the_attacked_record_on_is_ever/)'

if command -v verifpal >/dev/null; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  for model in stolen quantum found; do
    verifpal verify --sessions 1 --fail-on-attack "docs/spec/model/$model.vp"
  done
  # Without the binding signatures it must fall, or it would prove nothing.
  sed '/SIGNVERIF(seen_pd/d' docs/spec/model/stolen.vp >"$work/without-binding.vp"
  if verifpal verify --sessions 1 --fail-on-attack "$work/without-binding.vp" >/dev/null; then
    echo "the model holds without the binding: it is empty"
    exit 1
  fi
  # Of searches and of the relay some things are expected to fall; the scripts know which.
  bash docs/spec/model/search.sh
  bash docs/spec/model/relay.sh short
else
  echo "Verifpal is not installed: the models' committed output stands"
fi
