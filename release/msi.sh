#!/usr/bin/env bash
# Makes the installer for Windows: program and libraries below Program Files, and the folder on PATH.
#
#   release/msi.sh TARGET BUILT FOLDER VERSION
# shellcheck disable=SC2016 # SQL's quotes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "$1" in
  x86_64-*) processor=x64 component=5F0B3A0E-2E0C-4B6B-8A93-0E2B6F1C7D21 ;;
  aarch64-*) processor=Arm64 component=9D4C7A16-3F58-4D2B-A0E9-71B35C8E2F64 ;;
  i686-*) processor=Intel component=2B8F9E52-6C1D-4E0A-9D73-51A6C0E4B7F3 ;;
esac
# wixl 0.101 does not know ARM with 64 bits; such a package differs from that of x64 by the processor that it names.
case "$processor" in
  Intel) architecture=x86 is64=no programs=ProgramFilesFolder ;;
  *) architecture=x64 is64=yes programs=ProgramFiles64Folder ;;
esac
file="$(realpath "$3")/schwann-$4-$1.msi"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# wixl takes files from its own folder alone.
cp "$2"/{schwann.exe,lsl.dll,lsl.lib,fieldtripbuffer.dll} LICENSE-MIT LICENSE-APACHE release/schwann.wxs "$stage"
epoch=$(git log -1 --format=%ct) commit=$(git rev-parse HEAD)
find "$stage" -type f -exec touch -d "@$epoch" {} +
# By these Windows tells products and packages apart. The same commit has the same.
identity() {
  python3 -c 'import sys, uuid; print(str(uuid.uuid5(uuid.NAMESPACE_URL, " ".join(sys.argv[1:]))).upper())' "$1" "$processor" "$commit"
}
(cd "$stage" && wixl --arch "$architecture" -D "version=$4" -D "product=$(identity product)" -D "programs=$programs" -D "is64=$is64" -D "component=$component" -o "$file" schwann.wxs)
summary="$stage/_SummaryInformation.idt" moment=$(date -u -d "@$epoch" '+%Y\/%m\/%d %H:%M:%S')
msiinfo export "$file" _SummaryInformation | sed "s/^7\t[^;]*/7\t$processor/; s/^9\t.*}/9\t{$(identity package)}/; s/^\(1[23]\)\t[0-9/: ]*/\1\t$moment/" > "$summary"
msibuild "$file" -i "$summary"
# The folder on PATH: wixl 0.101 does not know the element Environment.
msibuild "$file" \
  -q 'CREATE TABLE `Environment` (`Environment` CHAR(72) NOT NULL, `Name` CHAR(255) NOT NULL, `Value` CHAR(255), `Component_` CHAR(72) NOT NULL PRIMARY KEY `Environment`)' \
  -q "INSERT INTO \`Environment\` (\`Environment\`, \`Name\`, \`Value\`, \`Component_\`) VALUES ('Path', '=-*PATH', '[~];[INSTALLDIR]', 'Program')" \
  -q "INSERT INTO \`InstallExecuteSequence\` (\`Action\`, \`Sequence\`) VALUES ('RemoveEnvironmentStrings', 3300)" \
  -q "INSERT INTO \`InstallExecuteSequence\` (\`Action\`, \`Sequence\`) VALUES ('WriteEnvironmentStrings', 5200)"
