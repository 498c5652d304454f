//! What makes a register set a unit that batches can be given to.

/// Implements [`Unit`] for a token: every method enters a function compiled for its CPU features.
///
/// ChaCha20 works on `usually` many sets of registers if more are to do, at most on the first of `sets`.
macro_rules! unit {
    ($token:ty, $field:path, $features:literal, sets: $($sets:literal)*, usually: $usually:literal, shapes: $shapes:expr, wipe: $wipe:path) => {
        impl $crate::kernel::wide::Unit for $crate::kernel::wide::Noted<'_, $token> {
            const LANES: usize = <$token as Simd>::LANES;
            const PARTS: usize = <$token as Simd>::PARTS;
            const SHAPES: &'static [$crate::kernel::wide::shape::Row] = $shapes;

            #[inline]
            fn key_stream(self, mut blocks: &mut [Block]) {
                #[inline(never)]
                #[target_feature(enable = $features)]
                fn sets<const SETS: usize>(unit: $crate::kernel::wide::Noted<'_, $token>, blocks: &mut [Block]) {
                    unit.frames.note();
                    Simd::key_stream::<SETS>(unit.token, blocks);
                }
                const MOST: usize = [$($sets),*][0];
                while !blocks.is_empty() {
                    let left = blocks.len() / <$token as Simd>::PARTS;
                    let now = if left <= MOST { left } else { $usually };
                    let (first, rest) = blocks.split_at_mut(now * <$token as Simd>::PARTS);
                    match now {
                        // SAFETY: holding the token proves the CPU features.
                        $($sets => unsafe { sets::<$sets>(self, first) },)*
                        _ => unreachable!("there is a case for every number up to the most"),
                    }
                    blocks = rest;
                }
            }

            #[inline]
            fn first_blocks(self, key: &Key, nonce: &Nonce, mut blocks: &mut [Block]) {
                #[inline(never)]
                #[target_feature(enable = $features)]
                fn sets<const SETS: usize>(
                    unit: $crate::kernel::wide::Noted<'_, $token>,
                    key: &Key,
                    nonce: &Nonce,
                    first: u32,
                    blocks: &mut [Block],
                ) {
                    unit.frames.note();
                    Simd::blocks_from::<SETS>(unit.token, key, nonce, first, blocks);
                }
                const MOST: usize = [$($sets),*][0];
                let mut counter = 0;
                while !blocks.is_empty() {
                    let left = blocks.len() / <$token as Simd>::PARTS;
                    let now = if left <= MOST { left } else { $usually };
                    let (first, rest) = blocks.split_at_mut(now * <$token as Simd>::PARTS);
                    match now {
                        // SAFETY: holding the token proves the CPU features.
                        $($sets => unsafe { sets::<$sets>(self, key, nonce, counter, first) },)*
                        _ => unreachable!("there is a case for every number up to the most"),
                    }
                    counter += first.len() as u32;
                    blocks = rest;
                }
            }

            #[inline]
            fn lane_tags(self, keys: &[Block], aads: &[&[u8]], texts: &[&[u8]], tags: &mut [u128]) {
                #[target_feature(enable = $features)]
                fn groups<const GROUPS: usize>(
                    unit: $crate::kernel::wide::Noted<'_, $token>,
                    keys: &[Block],
                    aads: &[&[u8]],
                    texts: &[&[u8]],
                    tags: &mut [u128],
                ) {
                    unit.frames.note();
                    poly1305::lane_tags::<_, GROUPS>($field(unit.token), keys, aads, texts, tags);
                }
                if tags.len() == <$token as Simd>::LANES {
                    // SAFETY: holding the token proves the CPU features.
                    unsafe { groups::<1>(self, keys, aads, texts, tags) }
                } else {
                    // SAFETY: holding the token proves the CPU features.
                    unsafe { groups::<2>(self, keys, aads, texts, tags) }
                }
            }

            #[inline]
            fn absorb(self, r: Number, h: Number, text: &[u8]) -> Number {
                #[target_feature(enable = $features)]
                fn entry(unit: $crate::kernel::wide::Noted<'_, $token>, r: Number, h: Number, text: &[u8]) -> Number {
                    unit.frames.note();
                    poly1305::LongSum::new($field(unit.token), r).absorb($field(unit.token), h, text)
                }
                // SAFETY: holding the token proves the CPU features.
                unsafe { entry(self, r, h, text) }
            }

            $crate::kernel::wide::entries! { |unit: $token|, $features,
                fn apply(data: &mut [u8], stream: &[Block]) { Simd::apply, unit.token }
                fn sum(sums: &mut $crate::kernel::wide::pass::Sums<'_, { $crate::kernel::wide::pass::SLOTS }>) { Simd::sum, unit.token }
                fn sum_quad(sums: &mut $crate::kernel::wide::pass::Sums<'_, { $crate::kernel::wide::pass::QUAD }>) { Simd::sum_quad, unit.token }
                #[inline(never)]
                fn pass(
                    states: &$crate::kernel::wide::pass::States<'_>,
                    blocks: &mut [Block; 8],
                    sums: &mut $crate::kernel::wide::pass::Sums<'_, { $crate::kernel::wide::pass::SLOTS }>,
                ) { Simd::pass, unit.token }
                #[inline(never)]
                fn key_stream_and_sum(
                    blocks: &mut [Block; 8],
                    sum: (Number, Number),
                    text: &[[u8; 16]],
                ) -> Number { Simd::key_stream_and_sum, unit.token }
                #[inline(never)]
                fn blocks_and_sum(
                    key: &Key,
                    nonce: &Nonce,
                    first: u32,
                    blocks: &mut [Block],
                    sum: (Number, Number),
                    text: &[[u8; 16]],
                ) -> Number { Simd::blocks_and_sum, unit.token }
                #[inline(never)]
                fn small(
                    message: &mut $crate::Message<'_>,
                    direction: $crate::kernel::Direction,
                ) { $crate::kernel::wide::small::message::<{ $crate::kernel::wide::small::SETS * <$token as Simd>::PARTS }, _>, unit.token }
                #[inline(never)]
                fn stitched(
                    message: &mut $crate::Message<'_>,
                    direction: $crate::kernel::Direction,
                ) { $crate::kernel::wide::stitched::message, unit }
                #[inline(never)]
                fn short(
                    messages: &mut [$crate::Message<'_>],
                    direction: $crate::kernel::Direction,
                    plans: &mut [$crate::kernel::wide::short::Plan; 3],
                ) { $crate::kernel::wide::short::batch, unit }
                #[inline(never)]
                fn quad(
                    states: &$crate::kernel::wide::pass::Quad<'_>,
                    blocks: &mut [Block; 8],
                    sums: &mut $crate::kernel::wide::pass::Sums<'_, { $crate::kernel::wide::pass::QUAD }>,
                ) { Simd::quad, unit.token }
                #[inline(never)]
                fn tiny(
                    messages: &mut [$crate::Message<'_>],
                    direction: $crate::kernel::Direction,
                    texts: &mut [$crate::kernel::wide::tiny::Text; $crate::kernel::wide::pass::QUAD],
                ) { $crate::kernel::wide::tiny::batch, unit }
            }

            #[inline]
            fn note(self) {
                self.frames.note();
            }

            #[inline]
            fn wipe(self) {
                #[inline(never)]
                #[target_feature(enable = $features)]
                fn shallow(frames: &$crate::kernel::frames::Frames) {
                    $wipe();
                    frames.wipe();
                }
                if self.frames.are_watched() {
                    return;
                }
                if self.frames.are_shallow() {
                    // SAFETY: holding the token proves the CPU features.
                    unsafe { shallow(self.frames) }
                } else {
                    // SAFETY: holding the token proves the CPU features.
                    unsafe { $wipe() }
                    self.frames.wipe_below();
                }
            }
        }
    };
}
pub(in crate::kernel) use unit;

/// Makes methods of a token; each calls a function compiled for the token's CPU features. An attribute before a
/// method is meant for the latter.
macro_rules! entries {
    (|$unit:ident: $token:ty|, $features:literal, $(
        $(#[$attribute:meta])*
        fn $name:ident($($argument:ident: $type:ty),+ $(,)?) $(-> $result:ty)? { $call:expr, $who:expr }
    )+) => {$(
        #[inline]
        fn $name(self, $($argument: $type),+) $(-> $result)? {
            $(#[$attribute])*
            #[target_feature(enable = $features)]
            fn entry($unit: $crate::kernel::wide::Noted<'_, $token>, $($argument: $type),+) $(-> $result)? {
                $unit.frames.note();
                $call($who, $($argument),+)
            }
            // SAFETY: holding the token proves the CPU features.
            unsafe { entry(self, $($argument),+) }
        }
    )+};
}
pub(in crate::kernel) use entries;
