# The code is formatted by rustfmt, and bash can read every script.
set -euo pipefail
git ls-files -z '*.rs' | xargs -0 rustfmt --check
git ls-files -z '*.sh' .ci/run | xargs -0 -n 1 bash -n
