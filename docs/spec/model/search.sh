#!/usr/bin/env bash
# Asks Verifpal about searches: about search.vp, variants of it, former.vp and a variant of found.vp. Its output is
# search.txt.
source "$(dirname "$0")/ask.sh"

# Never stolen; a principal must do something in the last phase.
kept='s/leaks discovery/_ = HASH(discovery)/'
# The attacker has it from the beginning.
known='s/knows private discovery/knows public discovery/'
listens='s/attacker\[active\]/attacker[passive]/'
# An attacker with an X25519 public key finds the private one, later.
quantum='s/PUBKEY/PUBKEY[weak from phase 1]/'
# A reply's key without X25519, and one that is the same for every question of a lab.
no_agreement='s/label, shared_., /label, /'
no_asker='s/label, shared_., (seen_)?pa, po/label, po/'
no_nonce='s/CONCAT\(reply_magic, nonce, po\)/CONCAT(reply_magic, po)/'

ask kept 1 c0c0a0a0f0f0 search.vp "$kept"
ask kept 2 c0c0a1a0f1f0 search.vp "$kept"
ask stolen-later 2 c1c0a1a0f1f0 search.vp
ask stolen-later 3 c1c0a1a0f1f0 search.vp
ask stolen-before 1 c1c1a1a1f1f0 search.vp "$kept" "$known"
ask stolen-before 2 c1c1a1a1f1f0 search.vp "$kept" "$known"
ask stolen-before-only-listens 2 c1c0a0a0f0f0 search.vp "$kept" "$known" "$listens"
ask quantum 2 c0c0a1a0f1f0 search.vp "$kept" "$quantum"
ask quantum-and-stolen-later 2 c1c1a1a0f1f0 search.vp "$quantum"
ask former 2 c0c1a0a1f0f0 former.vp

# Without X25519 a stolen key opens the reply. The nonce and the asker's key each tie a reply to its question; without
# both, an old one counts. So the model can fail.
ask without-agreement 2 c1c1a1a0f1f0 search.vp "$no_agreement"
ask without-nonce 2 c0c0a1a0f1f0 search.vp "$kept" "$no_nonce"
ask without-asker 2 c0c0a1a0f1f0 search.vp "$kept" "$no_asker"
ask without-asker-and-nonce 2 c0c0a1a1f1f1 search.vp "$kept" "$no_asker" "$no_nonce"
ask found-without-binding 1 c1c1a1a1 found.vp '/SIGNVERIF\(seen_pd/d'
echo "every verdict is as expected"
