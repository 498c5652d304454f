# Sourced by musl_python.sh and old_python.sh.

# Unpacks the sources of packages of this Debian into the current folder, whether or not this machine fetches sources.
debian_sources() { # PACKAGES
  local archive
  mkdir -p lists/partial
  sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources > debian.sources
  local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$PWD/debian.sources" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$PWD/lists" -o APT::Sandbox::User=root)
  "${apt[@]}" update
  "${apt[@]}" source --download-only --tar-only "$@"
  for archive in *.orig.tar.*; do tar -xf "$archive"; done
}
