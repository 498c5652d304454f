# Every citation in a comment names a document, and the section exists: `lsl-wire §5`, `RFC 8439 §2.3`.
set -euo pipefail
exec python3 checks/citations.py
