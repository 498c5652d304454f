# XPath queries have the value that libxml2 gives them: on expressions made today, not only on the committed table.
set -euo pipefail
venv="$SCHWANN_STATE/xpath-venv"
if ! "$venv/bin/python" -c 'import lxml' 2>/dev/null; then
  python3 -m venv "$venv" || { echo "no python3 with venv on this machine"; exit 77; }
  "$venv/bin/pip" install --quiet lxml || { echo "lxml cannot be installed"; exit 77; }
fi
for seed in "$(date +%j)" "$RANDOM"; do
  echo "seed $seed"
  "$venv/bin/python" proto/tests/xpath_cases.py "$seed" 5000 > "$SCHWANN_STATE/xpath_cases.tsv"
  SCHWANN_XPATH_CASES="$SCHWANN_STATE/xpath_cases.tsv" cargo test --quiet --locked -p schwann-proto --test xpath
done
