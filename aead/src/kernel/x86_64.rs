//! Kernels for x86-64.

mod apply;
pub(super) mod avx2;
pub(super) mod avx512;
mod between;
mod chacha20x8;
pub(super) mod wipe;

/// Whether this CPU has a feature: asked at run time with `std`, else when compiling.
macro_rules! has {
    ($feature:tt) => {{
        #[cfg(feature = "std")]
        {
            std::arch::is_x86_feature_detected!($feature)
        }
        #[cfg(not(feature = "std"))]
        {
            cfg!(target_feature = $feature)
        }
    }};
}
pub(super) use has;

/// Stamps methods that are one instruction each, or an inlined function of some.
macro_rules! instructions {
    ($vector:ty; $($name:ident($($argument:ident),*) = $intrinsic:path;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($argument: $vector),*) -> $vector {
                // SAFETY: holding the token proves the CPU feature.
                unsafe { $intrinsic($($argument),*) }
            }
        )*
    };
}
use instructions;
