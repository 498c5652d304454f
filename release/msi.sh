#!/usr/bin/env bash
# Makes the installer for Windows: program and libraries below Program Files, and the folder on PATH.
#
#   release/msi.sh TARGET BUILT FOLDER VERSION
# shellcheck disable=SC2016 # SQL's quotes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "$1" in x86_64-*) architecture=x64 ;; i686-*) architecture=x86 ;; esac
file="$(realpath "$3")/schwann-$4-$1.msi"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# wixl takes files from its own folder alone.
cp "$2"/{schwann.exe,lsl.dll,lsl.lib,fieldtripbuffer.dll} LICENSE-MIT LICENSE-APACHE release/schwann.wxs "$stage"
(cd "$stage" && wixl --arch "$architecture" -D "version=$4" -o "$file" schwann.wxs)
# The folder on PATH: wixl 0.101 does not know the element Environment.
msibuild "$file" \
  -q 'CREATE TABLE `Environment` (`Environment` CHAR(72) NOT NULL, `Name` CHAR(255) NOT NULL, `Value` CHAR(255), `Component_` CHAR(72) NOT NULL PRIMARY KEY `Environment`)' \
  -q "INSERT INTO \`Environment\` (\`Environment\`, \`Name\`, \`Value\`, \`Component_\`) VALUES ('Path', '=-*PATH', '[~];[INSTALLDIR]', 'Program')" \
  -q "INSERT INTO \`InstallExecuteSequence\` (\`Action\`, \`Sequence\`) VALUES ('RemoveEnvironmentStrings', 3300)" \
  -q "INSERT INTO \`InstallExecuteSequence\` (\`Action\`, \`Sequence\`) VALUES ('WriteEnvironmentStrings', 5200)"
