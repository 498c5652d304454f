# Sourced by checks: makes the Python environment of interop/ once and puts it on PATH, builds our library, and
# sets SCHWANN_LIBLSL, REAL_LIBLSL_118 and REAL_LIBLSL_117.
: "${SCHWANN_ROOT:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
: "${SCHWANN_STATE:=$SCHWANN_ROOT/target/checks}"
venv="$SCHWANN_STATE/interop-venv"
if ! cmp -s "$SCHWANN_ROOT/interop/requirements.txt" "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv" || { apt-get update -qq && apt-get install -y -qq python3-venv && python3 -m venv "$venv"; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$SCHWANN_ROOT/interop/requirements.txt"
  cp "$SCHWANN_ROOT/interop/requirements.txt" "$venv/requirements.txt"
fi
export PATH="$venv/bin:$PATH"
packages=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
REAL_LIBLSL_118=$(ls "$packages"/pylsl/lib/liblsl.so.1.18.*)
REAL_LIBLSL_117=$(ls "$packages"/mne_lsl/lsl/lib/liblsl.so.1.17.*)

cargo build --locked --release --quiet -p schwann-capi --manifest-path "$SCHWANN_ROOT/Cargo.toml"
SCHWANN_LIBLSL="${CARGO_TARGET_DIR:-$SCHWANN_ROOT/target}/release/liblsl.so"
export SCHWANN_LIBLSL REAL_LIBLSL_118 REAL_LIBLSL_117
