//! How a kernel could be unsound or leak, and what prevents it.
//!
//! # Unsound
//!
//! - **Instructions that the CPU lacks.** Every function with wide instructions needs a token, and only
//!   detection makes one. [`Kernel`](crate::Kernel)'s variants hold one. Inside, functions carry
//!   `#[target_feature]`, so that the compiler checks the rest. The check runs the tests on emulated CPUs
//!   without AVX-512, without AVX2, and on aarch64.
//! - **Reads or writes outside a buffer.** Loads and stores take slices or references to arrays; their pointers
//!   live for one instruction. Tails are masked by the hardware (AVX-512) or staged (others). A test runs every
//!   kernel on buffers that end or begin at an untouchable page.
//! - **A closure that outlives its frame.** [`Workers`](crate::parallel::Workers) lends a borrowed closure to
//!   threads. `kernel/crew.rs` does not return before every thread is done with it, even if one panics.
//! - **Inline assembly that breaks its promises.** There are eleven blocks. Eight work only on registers. One is a
//!   multiplication and one a byte shuffle; the compiler would turn both into something slower. One runs the
//!   rounds of ChaCha20 on all 32 registers. Three clear registers, and two read the stack pointer. Three touch
//!   memory. The two rounds of ChaCha20 on 16 registers read two constants of 32 aligned bytes. They read and
//!   write a local variable of 64. A step of Poly1305 reads a block of 16 bytes and three words.
//! - **Undefined behaviour elsewhere.** Nothing outside `kernel/` uses `unsafe`. The portable kernel, and the wide
//!   code on a model of the 512-bit unit, run under miri.
//!
//! # Wrong
//!
//! - **Arithmetic that overflows a limb.** The bounds stand beside the code. The model asserts that no operand of
//!   a 52-bit multiplication is longer. Tests fill keys and texts with ones, because ones carry the most.
//! - **A kernel that disagrees in a rare case.** Vectors of RFC 8439 and Wycheproof run on every kernel, alone
//!   and in every place of a batch. Every test run holds random batches against the portable kernel.
//!   `schwann-bench aead agree` against AWS-LC, ring, OpenSSL, libsodium, RustCrypto and graviola.
//! - **Key stream that repeats.** Lengths that would wrap the block counter are refused before anything is touched.
//!   [`ChunkedSealer`](crate::ChunkedSealer) counts its nonces and refuses when they end. Elsewhere the caller must
//!   never repeat a nonce; nothing here can know. Key stream made ahead serves once, and no key and nonce but its
//!   own.
//!
//! # Leaking
//!
//! - **Time.** No branch and no address depends on a key, a plaintext or a one-time key. They depend only on
//!   lengths, counts and the verdict on a tag. The tests mark secrets as undefined under valgrind. It reports
//!   every branch and address that depends on them. They run the portable kernel, AVX2, and the model of the
//!   512-bit unit, since valgrind knows no AVX-512. (Built without overflow checks, as releases are.) A second
//!   test makes sure that valgrind would report one. Multipliers are assumed to take the same time for all
//!   operands. This holds on x86-64 and 64-bit ARM, but not on every microcontroller.
//! - **Plaintext of a forgery.** Tags are checked first; nothing is decrypted under a tag that fails, and the
//!   buffer is then filled with zeros. Only the AVX2 kernel decrypts messages longer than a pass part by part, each
//!   as soon as it is summed. If the tag then fails, the decrypted parts are overwritten with zeros before the call
//!   returns. A caller that shares the buffer with another process must know that.
//! - **Memory.** Keys are wiped when dropped. The end of a call clears its stack and the vector registers. How deep
//!   that stack is differs by compiler and by profile. So every function with secrets in its frame notes where the
//!   frame ends. The wipe reaches 640 bytes further, for functions that note nothing. One test compares what was
//!   noted with what was touched, and allows half of that margin. It covers every kernel of this CPU, both
//!   directions, and lengths up to 1,400 bytes, alone and in batches. Another searches the stack below the call for
//!   pieces of the key, the one-time keys and the key stream. Both pass in the profile of tests and in the profile
//!   of releases. [`Ahead`](crate::Ahead) keeps the key stream of one message, beside a key that could make it
//!   again. It goes when the next is made or the value is dropped. The stack is then cleared too, not while a
//!   message is served. Copies that a caller makes, swap, and core dumps are the caller's.
//! - **Speculation and power.** Nothing is done about them beyond the above.
