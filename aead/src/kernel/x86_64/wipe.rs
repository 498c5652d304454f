//! Clearing vector registers.

use core::arch::asm;

/// Clears all 16 registers of 256 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::kernel) fn ymm() {
    // SAFETY: every register that is written is declared.
    unsafe {
        asm!(
            "vzeroall",
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
            out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(nomem, nostack, preserves_flags),
        );
    }
}

/// Clears all 32 registers of 512 bits.
#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernel) fn zmm() {
    // `vzeroall` clears the lower sixteen, whole.
    // SAFETY: every register that is written is declared.
    unsafe {
        asm!(
            "vzeroall",
            "vpxorq xmm16, xmm16, xmm16", "vpxorq xmm17, xmm17, xmm17",
            "vpxorq xmm18, xmm18, xmm18", "vpxorq xmm19, xmm19, xmm19",
            "vpxorq xmm20, xmm20, xmm20", "vpxorq xmm21, xmm21, xmm21",
            "vpxorq xmm22, xmm22, xmm22", "vpxorq xmm23, xmm23, xmm23",
            "vpxorq xmm24, xmm24, xmm24", "vpxorq xmm25, xmm25, xmm25",
            "vpxorq xmm26, xmm26, xmm26", "vpxorq xmm27, xmm27, xmm27",
            "vpxorq xmm28, xmm28, xmm28", "vpxorq xmm29, xmm29, xmm29",
            "vpxorq xmm30, xmm30, xmm30", "vpxorq xmm31, xmm31, xmm31",
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _,
            out("zmm4") _, out("zmm5") _, out("zmm6") _, out("zmm7") _,
            out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
            out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
            out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _,
            out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,
            options(nomem, nostack, preserves_flags),
        );
    }
}
