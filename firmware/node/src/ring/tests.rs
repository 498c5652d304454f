use std::vec::Vec;

use super::*;

fn memory(words: usize) -> Vec<AtomicU32> {
    (0..words).map(|_| AtomicU32::new(0)).collect()
}

fn numbers(channel_count: usize) -> Shape {
    Shape::numbers(ChannelFormat::Int32, channel_count)
}

/// The slot was overwritten before it could be read.
#[derive(Debug, Eq, PartialEq)]
struct Lapped;

fn read(consumer: &Consumer<'_>, index: u32, out: &mut [u32]) -> Result<f64, Lapped> {
    let (stamp, values) = consumer.slot(index).unwrap();
    out.iter_mut().zip(values).for_each(|(word, cell)| *word = cell.load(Ordering::Relaxed));
    if consumer.has(index) { Ok(stamp) } else { Err(Lapped) }
}

#[test]
fn what_is_pushed_is_read() {
    let (mut words, mut control) = (memory(64), Control::new());
    let (mut producer, consumer) = ring(&mut words, &mut control, numbers(3), Keep::Newest).unwrap();
    assert_eq!(consumer.slots(), 8);
    producer.push(&[1, -2, 3], 4.5).unwrap();
    let mut values = [0; 3];
    assert_eq!(read(&consumer, 0, &mut values), Ok(4.5));
    assert_eq!(values.map(u32::cast_signed), [1, -2, 3]);
}

#[test]
fn values_that_fill_no_word_are_kept() {
    let (mut words, mut control) = (memory(64), Control::new());
    let shape = Shape::numbers(ChannelFormat::Int16, 3);
    let (mut producer, consumer) = ring(&mut words, &mut control, shape, Keep::Newest).unwrap();
    producer.push(&[1_i16, -2, 3], 1.0).unwrap();
    let mut values = [0_u32; 2];
    read(&consumer, 0, &mut values).unwrap();
    assert_eq!(bytemuck::cast_slice::<u32, i16>(&values)[..3], [1, -2, 3]);
}

#[test]
fn the_newest_survive_where_they_are_kept() {
    let (mut words, mut control) = (memory(5 * 4), Control::new());
    let (mut producer, consumer) = ring(&mut words, &mut control, numbers(3), Keep::Newest).unwrap();
    for value in 0..10 {
        producer.push(&[value; 3], f64::from(value)).unwrap();
    }
    let mut values = [0; 3];
    assert_eq!(read(&consumer, 5, &mut values), Err(Lapped));
    assert_eq!(consumer.oldest(), 7);
    assert_eq!(read(&consumer, 7, &mut values), Ok(7.0));
    assert_eq!(producer.refused(), 0);
}

#[test]
fn the_oldest_survive_where_they_are_kept_and_the_rest_is_counted() {
    let (mut words, mut control) = (memory(5 * 4), Control::new());
    let (mut producer, mut consumer) = ring(&mut words, &mut control, numbers(3), Keep::Oldest).unwrap();
    let taken = (0..10).filter(|value| producer.push(&[*value; 3], 0.0).is_ok()).count();
    assert_eq!((taken, consumer.refused()), (4, 6));
    consumer.release(1);
    producer.push(&[77; 3], 0.0).unwrap();
    assert_eq!(producer.push(&[78; 3], 0.0), Err(PushError::Full));
}

#[test]
fn counters_that_wrap_do_no_harm() {
    let (mut words, mut control) = (memory(5 * 4), Control::new());
    let (mut producer, mut consumer) = ring(&mut words, &mut control, numbers(3), Keep::Oldest).unwrap();
    producer.next = u32::MAX - 1;
    consumer.release(u32::MAX - 1);
    for value in 0..4 {
        producer.push(&[value; 3], f64::from(value)).unwrap();
    }
    assert_eq!(consumer.written(), 2);
    assert_eq!(producer.push(&[9; 3], 0.0), Err(PushError::Full));
    let mut values = [0; 3];
    assert_eq!(read(&consumer, 1, &mut values), Ok(3.0));
    assert_eq!(read(&consumer, u32::MAX, &mut values), Ok(1.0));
}

#[test]
fn a_wrong_sample_is_refused() {
    let (mut words, mut control) = (memory(64), Control::new());
    let (mut producer, consumer) = ring(&mut words, &mut control, numbers(3), Keep::Newest).unwrap();
    assert_eq!(producer.push(&[1, 2], 0.0), Err(PushError::Shape));
    assert_eq!(producer.push(&[1.0_f32; 3], 0.0), Err(PushError::Shape));
    assert_eq!(producer.push_strings([&b"a"[..]; 3].into_iter(), 0.0), Err(PushError::Shape));
    assert_eq!(consumer.written(), 0);
}

#[test]
fn there_is_no_ring_without_room() {
    let mut control = Control::new();
    assert!(ring(&mut memory(9), &mut control, numbers(3), Keep::Newest).is_none());
    assert!(ring(&mut memory(9000), &mut control, numbers(129), Keep::Newest).is_none());
    assert!(ring(&mut memory(9000), &mut control, numbers(0), Keep::Newest).is_none());
}

#[test]
fn a_reader_on_another_thread_never_sees_half_a_sample() {
    const COUNT: u32 = 200_000;
    let (mut words, mut control) = (memory(10 * 8), Control::new());
    let (mut producer, consumer) = ring(&mut words, &mut control, numbers(8), Keep::Newest).unwrap();
    let seen = std::thread::scope(|scope| {
        scope.spawn(move || {
            for value in 0..COUNT {
                producer.push(&[value.cast_signed(); 8], f64::from(value)).unwrap();
            }
        });
        let (mut index, mut seen) = (0_u32, 0);
        while index < COUNT {
            if consumer.written() == index {
                core::hint::spin_loop();
                continue;
            }
            let mut values = [0; 8];
            match read(&consumer, index, &mut values) {
                Ok(stamp) => {
                    assert_eq!((stamp, values), (f64::from(index), [index; 8]));
                    seen += 1;
                    index += 1;
                }
                Err(Lapped) => index = consumer.oldest(),
            }
        }
        seen
    });
    assert!(seen > 0);
}
