#!/usr/bin/env bash
# Asks Verifpal about a relayed stream: about relay.vp, revoked.vp, probe.vp, joins.vp, claimed.vp, and variants of them. Its
# output is relay.txt, without the steps of the attacks and the ends of long lines. `relay.sh short` leaves out relay.vp with two
# sessions.
source "$(dirname "$0")/ask.sh"

# Never stolen; a principal must do something in the last phase.
no_disk='s/leaks salt/_ = HASH(salt)/'
# Stolen later, besides what relay.vp says.
device='s/_ = HASH\(sd_m\)/leaks sd_m/'
epoch='s/_ = HASH\(epoch_key\)/leaks epoch_key/'
# The attacker has the epoch key as another member does, and that member's device.
reads='s/^\tsigned_wrap = .*/&\n\tleaks epoch_key/'
member='s/^\tcert_m = .*/&\n\tknows public sd_g\n\tpd_g = PUBKEY(sd_g)\n\tcert_g = SIGN(ska, HASH(subscribe, pd_g))\n\tleaks cert_g/'
publisher=${member/subscribe/publish}
# The edge takes receipts of one named recorder; the member takes streams of one named device.
named_recorder='s/Member -> Edge: pd_m,/Member -> Edge: [pd_m],/'
named_device='s/(Edge -> Member: run), pd_e,/\1, [pd_e],/'
# X25519 and Ed25519 fall later; or ML-KEM does.
quantum='s/(p[a-z_]+) = PUBKEY\(/\1 = PUBKEY[weak from phase 1](/'
lattice='s/ek = PUBKEY\(/ek = PUBKEY[weak from phase 1](/'
# The edge's device is stolen, and then the member reads what the hub has.
late='s/^Edge -> Member: run, .*/phase[1]\n\nprincipal Edge[\n\tleaks sd_e\n]\n\n&/'
later=('s/^phase\[1\]/phase[2]/' "$late" '/^phase\[2\]/,$s/leaks sd_e/_ = HASH(sd_e)/')
# The check of a signature counts for nothing.
unchecked() { printf 's/(SIGNVERIF.*%s\\))\\?/\\1/' "$1"; }

echo "Queries of relay.vp: sample, description; key of a member, announcement, wrapped key, block, receipt"
ask relay 1 c0c0a0a0a0a0a0 relay.vp
is_short=${1:-}
[ -n "$is_short" ] || ask relay 2 c0c0a1a1a1a1a0 relay.vp
ask device-later 1 c0c0a0a0a0a0a0 relay.vp "$no_disk" "$device"
ask device-and-disk-later 1 c1c1a0a0a0a0a0 relay.vp "$device"
ask epoch-key-later 1 c1c1a0a0a0a0a0 relay.vp "$epoch"
ask quantum 1 c0c0a0a0a0a0a0 relay.vp "$no_disk" "$quantum"
ask quantum-and-disk-later 1 c1c1a0a0a0a0a0 relay.vp "$quantum"
ask lattice 1 c0c0a0a0a0a0a0 relay.vp "$lattice"
ask quantum-and-lattice 1 c1c1a0a0a0a0a0 relay.vp "$no_disk" "$quantum" "$lattice"
ask edge-before-reading 1 c0c0a0a1a1a1a0 relay.vp "${later[@]}"
ask member 1 c1c1a1a0a0a0a1 relay.vp "$reads" "$member"
ask member-named-recorder 1 c1c1a0a0a0a0a0 relay.vp "$reads" "$member" "$named_recorder"
ask publisher 1 c0c0a0a1a1a1a0 relay.vp "$publisher"
ask publisher-named-device 1 c0c0a0a0a0a0a0 relay.vp "$publisher" "$named_device"

# Weaker designs, which must fall. Without one of the two agreements, the other alone is in the wrapped key.
ask without-mlkem 1 c1c1a0a0a0a0a0 relay.vp "$no_disk" "$quantum" 's/HASH\(shared_., agreed/HASH(agreed/'
ask without-x25519 1 c1c1a0a0a0a0a0 relay.vp "$lattice" 's/HASH\((shared_.), agreed_.,/HASH(\1,/'
# A member forges blocks; a hub that has no key cannot.
ask without-block-signature 1 c0c0a0a0a0a0a0 relay.vp "$(unchecked signed_block)"
ask without-block-signature-member 1 c1c1a0a0a0a1a0 relay.vp "$reads" "$(unchecked signed_block)"
# The hub puts its own wrapping key in the place of a member's.
ask without-key-signature 1 c1c1a1a0a0a0a0 relay.vp "$(unchecked signed_key)"
ask without-certificate 1 c0c0a0a1a1a1a0 relay.vp "$(unchecked cert_e)"
ask without-roles 1 c1c1a1a1a1a1a1 relay.vp "$reads" "$member" 's/HASH\(subscribe/HASH(publish/'
ask without-wrap-signature-member 1 c1c1a0a0a1a0a0 relay.vp "$reads" "$(unchecked signed_wrap)"
# The first block confirms the description, too: each of the two alone prevents another description.
ask without-announcement-signature-member 1 c1c1a0a0a0a0a0 relay.vp "$reads" "$(unchecked announced)"
ask without-both-member 1 c1c1a0a1a0a0a0 relay.vp "$reads" "$(unchecked announced)" \
  's/HASH\(for_root, run, pd_e, HASH\(.*\)\)/HASH(for_root, run, pd_e)/'
# An old receipt counts for another run.
[ -n "$is_short" ] || ask receipt-without-run 2 c0c0a1a1a1a1a1 relay.vp 's/HASH\(srr, run, pd_m, cert_m, HASH\(sealed, signed_block\)\)/HASH(srr, pd_m, cert_m)/'

printf '\nQueries of revoked.vp: sample before and after the revocation; block before and after it, list\n'
# The newcomer has the second key and not the first.
newcomer=('s/zero, key_0, HASH\(srk, run, epoch_0, px_g/zero, run, HASH(srk, run, epoch_0, px_g/'
  's/^\tsigned_1 = .*/&\n\tleaks key_1/')
ask revoked 1 c1c0a0a0a0 revoked.vp
ask newcomer 1 c0c1a0a0a0 revoked.vp "${newcomer[@]}"
# The next key made from the present one, and a list without a signature.
ask derived-key 1 c1c1a0a0a0 revoked.vp 's/generates key_1/key_1 = HASH(key_0)/'
ask without-list-signature 1 c1c0a0a0a1 revoked.vp "$(unchecked list)"

printf '\nQueries of probe.vp: samples of both blocks; answer, first block, second block; the same three are fresh\n'
key_known='s/knows private epoch_key/knows public epoch_key/'
no_chain='s/(root|link)_[em]\)/run)/g'
no_number=('s/\b(zero|one), (root_|link_|run)/srb, \2/g' 's/(block_.), one/\1, zero/')
ask probe 2 c0c0a0a0a0f0f0f0 probe.vp
ask probe-member 2 c1c1a0a0a0f0f0f0 probe.vp "$key_known"
ask without-answer 2 c0c0a1a1a1f1f1f1 probe.vp "$(unchecked ' answer')"
ask without-nonce 2 c0c0a1a1a1f1f1f1 probe.vp 's/HASH\(nonce, times\)/HASH(times)/'
# Number and chain each keep a block in its place.
ask without-chain 1 c0c0a0a0a0f0f0f0 probe.vp "$no_chain"
ask without-number 1 c0c0a0a0a0f0f0f0 probe.vp "${no_number[@]}"
ask without-chain-and-number 1 c0c0a0a0a1f0f0f0 probe.vp "$no_chain" "${no_number[@]}"

printf '\nQueries of joins.vp: samples of both blocks; answer, block; the same two are fresh\n'
ask joins 1 c0c0a0a1f0f0 joins.vp
ask joins 2 c0c0a0a1f0f0 joins.vp

printf '\nQueries of claimed.vp: sample, thanks; block\n'
ask claimed 1 c0c0a1 claimed.vp
ask without-device-in-the-description 1 c0c1a1 claimed.vp \
  's/(description|described), HASH\(sra, run, pd_e, cert_e\)\)/\1, HASH(sra, run))/'
echo "every verdict is as expected"
