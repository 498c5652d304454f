# Homebrew: brew install schwann
class Schwann < Formula
  desc "See, record, seal and check live streams of a lab"
  homepage "https://example.invalid/schwann"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    url "#{homepage}/releases/download/v@VERSION@/schwann-@VERSION@-universal2-apple-darwin.tar.gz"
    sha256 "@SHA256 schwann-@VERSION@-universal2-apple-darwin.tar.gz@"
  end
  on_linux do
    url "#{homepage}/releases/download/v@VERSION@/schwann-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
    sha256 "@SHA256 schwann-@VERSION@-x86_64-unknown-linux-gnu.tar.gz@"
  end

  conflicts_with "labstreaminglayer/tap/lsl", because: "both install liblsl"

  def install
    prefix.install Dir["*"]
  end

  test do
    assert_match "schwann @VERSION@", shell_output("#{bin}/schwann --version")
  end
end
