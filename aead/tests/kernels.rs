//! Every kernel against the portable one, on random batches; where that is the only one, there is nothing to compare.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use schwann_aead::kernel::Shape;
use schwann_aead::{Kernel, Key, Message, Nonce, OpenError, Tag};

/// A small generator of test data (Marsaglia's xorshift64*); nothing here needs real randomness.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 32) as usize % bound
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        // A quarter of all data is all ones, which carries the most.
        let ones = self.below(4) == 0;
        (0..count).map(|_| if ones { 0xff } else { self.next() as u8 }).collect()
    }
}

/// One message as its owner keeps it.
struct Case {
    key: [u8; 32],
    nonce: Nonce,
    aad: Vec<u8>,
    plain: Vec<u8>,
    /// Where in its allocation the buffer begins.
    offset: usize,
}

impl Case {
    fn random(random: &mut Random, longest: usize) -> Self {
        let length = match random.below(4) {
            0 => random.below(80),
            1 => random.below(70) * 16,
            _ => random.below(longest + 1),
        };
        let aad = if random.below(2) == 0 { 0 } else { random.below(301) };
        let key: Vec<u8> = random.bytes(32);
        Self {
            key: key.try_into().unwrap(),
            nonce: Nonce(random.bytes(12).try_into().unwrap()),
            aad: random.bytes(aad),
            plain: random.bytes(length.min(longest)),
            offset: random.below(64),
        }
    }

    fn sealed(&self) -> (Vec<u8>, Tag) {
        let mut buffer = self.plain.clone();
        let key = Key::new(&self.key);
        let tag = Kernel::Portable.seal_in_place(&key, &self.nonce, &self.aad, &mut buffer).unwrap();
        (buffer, tag)
    }
}

/// Gives all messages one key half of the time, and otherwise leaves each its own, but now and then.
fn share_keys(cases: &mut [Case], random: &mut Random) {
    let key = cases[0].key;
    let share = if random.below(2) == 0 { 1 } else { 5 };
    cases.iter_mut().filter(|_| random.below(share) == 0).for_each(|case| case.key = key);
}

/// Runs `each` on the messages of all cases, whose buffers hold `texts`, and returns the buffers after.
fn with_messages(
    cases: &[Case],
    texts: &[Vec<u8>],
    tags: &[Tag],
    each: impl FnOnce(&mut [Message<'_>]),
) -> Vec<Vec<u8>> {
    const GUARD: u8 = 0x5c;
    let keys: Vec<Key> = cases.iter().map(|case| Key::new(&case.key)).collect();
    let mut memory: Vec<Vec<u8>> = Vec::new();
    for (case, text) in cases.iter().zip(texts) {
        let mut bytes = vec![GUARD; case.offset];
        bytes.extend(text);
        bytes.extend([GUARD; 64]);
        memory.push(bytes);
    }
    let mut messages: Vec<Message<'_>> = cases
        .iter()
        .zip(&mut memory)
        .zip(tags)
        .map(|((case, memory), tag)| {
            let buffer = &mut memory[case.offset..case.offset + case.plain.len()];
            // Equal keys are one and the same object, as in a connection.
            let key = &keys[cases.iter().position(|other| other.key == case.key).unwrap()];
            Message::sealed(key, case.nonce, &case.aad, buffer, *tag)
        })
        .collect();
    each(&mut messages);
    drop(messages);
    let after = cases.iter().zip(memory).map(|(case, mut memory)| {
        let end = case.offset + case.plain.len();
        assert!(memory[end..].iter().all(|&byte| byte == GUARD), "written behind the buffer");
        assert!(memory[..case.offset].iter().all(|&byte| byte == GUARD), "written before the buffer");
        memory.truncate(end);
        memory.split_off(case.offset)
    });
    after.collect()
}

/// Seals and opens one batch with `kernel`, then opens it once more with one tag, text or header wrong.
fn check(kernel: Kernel, cases: &[Case], bad: usize) {
    let sealed: Vec<(Vec<u8>, Tag)> = cases.iter().map(Case::sealed).collect();
    let plain: Vec<Vec<u8>> = cases.iter().map(|case| case.plain.clone()).collect();
    let mut tags = vec![Tag([0; 16]); cases.len()];
    let lengths = || cases.iter().map(|case| (case.plain.len(), case.aad.len())).collect::<Vec<_>>();

    let texts = with_messages(cases, &plain, &tags.clone(), |messages| {
        kernel.seal_batch(messages).unwrap();
        tags = messages.iter().map(|message| message.tag).collect();
    });
    for (i, (text, tag)) in sealed.iter().enumerate() {
        assert!(&texts[i] == text, "{} seals text {i} wrongly: {:?}", kernel.name(), lengths());
        assert!(tags[i].matches(tag), "{} tags {i} wrongly: {:?}", kernel.name(), lengths());
    }

    let opened = with_messages(cases, &texts, &tags, |messages| kernel.open_batch(messages).unwrap());
    assert!(opened == plain, "{} opens wrongly: {:?}", kernel.name(), lengths());

    tags[bad].0[bad % 16] ^= 1 << (bad % 8);
    let opened = with_messages(cases, &texts, &tags, |messages| {
        let refused = kernel.open_batch(messages).unwrap_err();
        assert_eq!((refused.first, refused.count), (bad, 1));
        assert_eq!(messages[bad].outcome, Err(OpenError::Forged));
    });
    for (i, text) in opened.iter().enumerate() {
        let expected = if i == bad { &vec![0; plain[i].len()] } else { &plain[i] };
        assert!(
            text == expected,
            "{} with message {bad} forged, {i} is wrong: {:?}",
            kernel.name(),
            lengths()
        );
    }
}

/// How many random messages each kernel gets: `SCHWANN_AEAD_CASES`, else few.
fn budget() -> usize {
    std::env::var("SCHWANN_AEAD_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

#[test]
fn every_kernel_agrees_with_the_portable_one_on_random_batches() {
    let seed = std::env::var("SCHWANN_AEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for kernel in Kernel::available() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
        let mut done = 0;
        while done < budget() {
            let longest = [64, 300, 700, 1500, 5000, 70_000][random.below(60).min(5 * 11) / 11];
            let count = 1 + if longest > 5000 { random.below(3) } else { random.below(40) };
            let mut cases: Vec<Case> = (0..count).map(|_| Case::random(&mut random, longest)).collect();
            share_keys(&mut cases, &mut random);
            check(kernel, &cases, random.below(count));
            done += count;
        }
    }
}

#[test]
fn every_kernel_agrees_at_every_length_up_to_a_few_blocks() {
    for kernel in Kernel::available() {
        let mut random = Random(77);
        for length in 0..1100 {
            for count in [1, 3, 8, 17] {
                let mut cases: Vec<Case> = (0..count)
                    .map(|_| Case { plain: random.bytes(length), ..Case::random(&mut random, 0) })
                    .collect();
                share_keys(&mut cases, &mut random);
                check(kernel, &cases, length % count);
            }
        }
    }
}

/// A shape measured instead of another makes the same bytes, or says that it cannot.
#[test]
fn every_shape_agrees_where_it_stands_in_for_another() {
    let mut random = Random(3);
    for kernel in Kernel::available() {
        for row in kernel.shapes() {
            for (&length, count) in row.measured.iter().flat_map(|length| [(length, 1), (length, 8)]) {
                let cases: Vec<Case> = (0..count)
                    .map(|_| Case { plain: random.bytes(length), ..Case::random(&mut random, 0) })
                    .collect();
                let (sealed, tags): (Vec<_>, Vec<_>) = cases.iter().map(Case::sealed).unzip();
                let plain: Vec<Vec<u8>> = cases.iter().map(|case| case.plain.clone()).collect();
                for shape in [row.shape, row.instead] {
                    let texts = with_messages(&cases, &plain, &tags, |messages| {
                        assert!(kernel.seal_in_shape(shape, messages));
                        assert!(messages.iter().zip(&tags).all(|(message, tag)| message.tag.matches(tag)));
                    });
                    assert!(texts == sealed, "{} seals {length} wrongly as {shape:?}", kernel.name());
                    let texts = with_messages(&cases, &sealed, &tags, |messages| {
                        assert!(kernel.open_in_shape(shape, messages));
                        assert!(messages.iter().all(|message| message.outcome.is_ok()));
                    });
                    assert!(texts == plain, "{} opens {length} wrongly as {shape:?}", kernel.name());
                }
            }
        }
        let case = [Case { plain: vec![0; 5000], ..Case::random(&mut random, 0) }];
        let plain = [case[0].plain.clone()];
        for shape in [Shape::Short, Shape::Single, Shape::Medium, Shape::Tiny] {
            let after = with_messages(&case, &plain, &[Tag([0; 16])], |messages| {
                assert!(!kernel.seal_in_shape(shape, messages));
                assert!(!kernel.open_in_shape(shape, messages));
            });
            assert!(after == plain, "what does not fit is as before");
        }
    }
}

/// `checks/45-aead.sh` says which kernels there must be on the CPUs it emulates.
#[test]
fn the_kernels_of_this_cpu_are_those_expected_of_it() {
    let names: Vec<&str> = Kernel::available().map(Kernel::name).collect();
    assert_eq!(names[0], "portable");
    assert_eq!(Kernel::best().name(), names[names.len() - 1]);
    if let Ok(expected) = std::env::var("SCHWANN_AEAD_EXPECT") {
        assert_eq!(names.join(","), expected);
    }
}
