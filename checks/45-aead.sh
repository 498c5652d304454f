# The AEAD engine: more random cases than `cargo test` takes time for; secrets that steer, under valgrind;
# undefined behaviour, under miri; NEON, and x86-64 without each of its vector units, under qemu.
# debian: valgrind qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
# target: aarch64-unknown-linux-gnu
# nightly: miri rust-src
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

need valgrind qemu-aarch64 aarch64-linux-gnu-gcc
python_packages

# Prints the path of a test program of this crate; options of nextest follow.
program() {
  cargo nextest list --locked --cargo-quiet --list-type binaries-only --message-format json "${@:2}" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["rust-binaries"][sys.argv[1]]["binary-path"])' "$1"
}

echo "--- random batches, every kernel against the portable one"
SCHWANN_AEAD_CASES=${SCHWANN_AEAD_CASES:-100000} SCHWANN_AEAD_SEED=$RANDOM \
  built_tests 'package(schwann-aead) and binary(kernels)'

echo "--- nothing stays on the stack, in the build that people install, too"
cargo test --locked --profile dist -p schwann-aead --lib residue

if [ "$(uname -m)" = x86_64 ]; then
  kernels=$(program schwann-aead::kernels --workspace)
  vectors=$(program schwann-aead::rfc8439 --workspace)
  echo "--- without AVX-512"
  SCHWANN_AEAD_CASES=2000 SCHWANN_AEAD_EXPECT=portable,avx2 qemu-x86_64 -cpu max "$kernels" random expected
  qemu-x86_64 -cpu max "$vectors"
  echo "--- without AVX2"
  SCHWANN_AEAD_CASES=2000 SCHWANN_AEAD_EXPECT=portable qemu-x86_64 -cpu Nehalem "$kernels" random expected
  qemu-x86_64 -cpu Nehalem "$vectors"

  echo "--- secrets must not steer: valgrind"
  # Overflow checks would branch on every sum.
  export CARGO_PROFILE_DEV_OVERFLOW_CHECKS=false CARGO_PROFILE_DEV_DEBUG_ASSERTIONS=false
  taint=$(CARGO_TARGET_DIR=target/taint program schwann-aead -p schwann-aead --lib)
  unset CARGO_PROFILE_DEV_OVERFLOW_CHECKS CARGO_PROFILE_DEV_DEBUG_ASSERTIONS
  valgrind -q --error-exitcode=9 "$taint" kernel::tests::taint::secrets_steer_nothing
  if valgrind -q --error-exitcode=9 "$taint" --ignored --exact \
    kernel::tests::taint::a_branch_on_a_secret_is_reported >/dev/null 2>&1; then
    echo "valgrind does not report a branch on a secret: the test above shows nothing"
    exit 1
  fi
fi

echo "--- NEON"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
SCHWANN_AEAD_CASES=2000 SCHWANN_AEAD_EXPECT=portable,neon \
  cargo test --locked -p schwann-aead --target aarch64-unknown-linux-gnu --tests

echo "--- miri"
if cargo +nightly miri --version >/dev/null 2>&1; then
  MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=target/miri timeout 900 \
    cargo +nightly miri test --locked -p schwann-aead --lib -- the_model a_block ct:: chacha20poly1305 chunked
else
  echo "SKIPPED miri: the nightly compiler or its component is not here"
fi
