# XPath queries have the value that libxml2 gives them: on expressions made today, not only on the committed table.
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
for seed in "$(date +%j)" "$RANDOM"; do
  echo "seed $seed"
  python3 proto/tests/xpath_cases.py "$seed" 5000 > "$SCHWANN_STATE/xpath_cases.tsv"
  SCHWANN_XPATH_CASES="$SCHWANN_STATE/xpath_cases.tsv" built_tests 'package(schwann-proto) and binary(xpath)'
done
