//! The rounds of ChaCha20 on sixteen registers, each with a word of eight blocks.
//!
//! No register is to spare, and with the compiler's schedule a third of the loop would go to memory. Here one word at a
//! time waits in memory, and its register serves the rotations.

use core::arch::asm;
use core::arch::x86_64::*;

use crate::kernel::x86_64::between::AfterRound;

/// Ten double rounds (RFC 8439 §2.3), and between them what else there is to do.
///
/// Each `CALLER` has its own copy, so that the compiler inlines it there. A call would go to memory for the words.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn rounds<const CALLER: u8, B: AfterRound>(words: &mut [__m256i; 16], mut between: B) -> B {
    let mut spare = [words[8], words[11]];
    for _ in 0..10 {
        columns(words, &mut spare);
        between.after_round();
        diagonals(words, &mut spare);
        between.after_round();
    }
    words[11] = spare[1];
    between
}

/// Orders of bytes that rotate 32-bit lanes left by 16 and by 8.
#[repr(align(32))]
#[expect(dead_code, reason = "only instructions read it")]
struct Order([u8; 32]);

const fn order(word: [u8; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 32 {
        bytes[i] = (i % 16 / 4 * 4) as u8 + word[i % 4];
        i += 1;
    }
    bytes
}

/// Two quarter rounds (RFC 8439 §2.1) side by side: the registers of each, and one for the rotations of both.
macro_rules! quarters {
    ($a:literal $b:literal $c:literal $d:literal, $e:literal $f:literal $g:literal $h:literal, $t:literal) => {
        concat!(
            quarters!(@half $a $b $c $d, $e $f $g $h, $t, "rotate16", "12", "20"),
            quarters!(@half $a $b $c $d, $e $f $g $h, $t, "rotate8", "7", "25"),
        )
    };
    (@half $a:literal $b:literal $c:literal $d:literal, $e:literal $f:literal $g:literal $h:literal, $t:literal,
     $order:literal, $left:literal, $right:literal) => {
        concat!(
            quarters!(@both "vpaddd", $a $a $b, $e $e $f),
            quarters!(@both "vpxor", $d $d $a, $h $h $e),
            "vpshufb {", $d, "}, {", $d, "}, [rip + {", $order, "}]\n",
            "vpshufb {", $h, "}, {", $h, "}, [rip + {", $order, "}]\n",
            quarters!(@both "vpaddd", $c $c $d, $g $g $h),
            quarters!(@both "vpxor", $b $b $c, $f $f $g),
            quarters!(@rotate $b, $t, $left, $right),
            quarters!(@rotate $f, $t, $left, $right),
        )
    };
    (@both $operation:literal, $a:literal $b:literal $c:literal, $d:literal $e:literal $f:literal) => {
        concat!(
            $operation, " {", $a, "}, {", $b, "}, {", $c, "}\n",
            $operation, " {", $d, "}, {", $e, "}, {", $f, "}\n",
        )
    };
    (@rotate $b:literal, $t:literal, $left:literal, $right:literal) => {
        concat!(
            "vpslld {", $t, "}, {", $b, "}, ", $left, "\n",
            "vpsrld {", $b, "}, {", $b, "}, ", $right, "\n",
            "vpor {", $b, "}, {", $b, "}, {", $t, "}\n",
        )
    };
}

/// Four quarter rounds on the columns, two by two (RFC 8439 §2.3).
///
/// Rotations go through two of the four vector pipes. With all four quarter rounds in step, rotations would crowd
/// there and leave the others idle in between. Two by two, one pair adds while the other rotates. A pair leaves
/// words alone that can wait in memory, so its rotations have a register. Word 11 comes from there and word 8 goes.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn columns(x: &mut [__m256i; 16], spare: &mut [__m256i; 2]) {
    // SAFETY: the registers written are declared. Memory is touched at the two orders of bytes, 32 aligned bytes
    // each, and at `spare`, 64.
    unsafe {
        asm!(
            quarters!("x0" "x4" "x8" "x12", "x1" "x5" "x9" "x13", "x11"),
            "vmovdqa {x11}, [{spare} + 32]",
            "vmovdqa [{spare} + 0], {x8}",
            quarters!("x2" "x6" "x10" "x14", "x3" "x7" "x11" "x15", "x8"),
            x0 = inout(ymm_reg) x[0], x1 = inout(ymm_reg) x[1], x2 = inout(ymm_reg) x[2],
            x3 = inout(ymm_reg) x[3], x4 = inout(ymm_reg) x[4], x5 = inout(ymm_reg) x[5],
            x6 = inout(ymm_reg) x[6], x7 = inout(ymm_reg) x[7], x8 = inout(ymm_reg) x[8] => _,
            x9 = inout(ymm_reg) x[9], x10 = inout(ymm_reg) x[10], x11 = out(ymm_reg) x[11],
            x12 = inout(ymm_reg) x[12], x13 = inout(ymm_reg) x[13], x14 = inout(ymm_reg) x[14],
            x15 = inout(ymm_reg) x[15],
            spare = in(reg) spare,
            rotate16 = sym ROTATE16, rotate8 = sym ROTATE8,
            options(nostack, preserves_flags),
        );
    }
}

/// Four quarter rounds on the diagonals. Word 8 comes from memory and word 11 goes there.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn diagonals(x: &mut [__m256i; 16], spare: &mut [__m256i; 2]) {
    // SAFETY: the registers written are declared. Memory is touched at the two orders of bytes, 32 aligned bytes
    // each, and at `spare`, 64.
    unsafe {
        asm!(
            quarters!("x0" "x5" "x10" "x15", "x1" "x6" "x11" "x12", "x8"),
            "vmovdqa {x8}, [{spare} + 0]",
            "vmovdqa [{spare} + 32], {x11}",
            quarters!("x2" "x7" "x8" "x13", "x3" "x4" "x9" "x14", "x11"),
            x0 = inout(ymm_reg) x[0], x1 = inout(ymm_reg) x[1], x2 = inout(ymm_reg) x[2],
            x3 = inout(ymm_reg) x[3], x4 = inout(ymm_reg) x[4], x5 = inout(ymm_reg) x[5],
            x6 = inout(ymm_reg) x[6], x7 = inout(ymm_reg) x[7], x8 = out(ymm_reg) x[8],
            x9 = inout(ymm_reg) x[9], x10 = inout(ymm_reg) x[10], x11 = inout(ymm_reg) x[11] => _,
            x12 = inout(ymm_reg) x[12], x13 = inout(ymm_reg) x[13], x14 = inout(ymm_reg) x[14],
            x15 = inout(ymm_reg) x[15],
            spare = in(reg) spare,
            rotate16 = sym ROTATE16, rotate8 = sym ROTATE8,
            options(nostack, preserves_flags),
        );
    }
}

static ROTATE16: Order = Order(order([2, 3, 0, 1]));
static ROTATE8: Order = Order(order([3, 0, 1, 2]));
