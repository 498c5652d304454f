use std::collections::VecDeque;
use std::sync::Arc;

/// The events a buffer still holds, in order of arrival, as they travel in the machine's byte order.
#[derive(Debug)]
pub(super) struct EventRing {
    held: VecDeque<Arc<[u8]>>,
    held_bytes: usize,
    total: u64,
    capacity: usize,
    capacity_bytes: usize,
}

impl EventRing {
    pub(super) fn new(capacity: usize, capacity_bytes: usize) -> Self {
        Self { held: VecDeque::new(), held_bytes: 0, total: 0, capacity, capacity_bytes }
    }

    pub(super) fn push(&mut self, event: Arc<[u8]>) {
        self.total += 1;
        self.held_bytes += event.len();
        self.held.push_back(event);
        while self.held.len() > self.capacity
            || (self.held_bytes > self.capacity_bytes && self.held.len() > 1)
        {
            let Some(oldest) = self.held.pop_front() else { return };
            self.held_bytes -= oldest.len();
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.capacity, self.capacity_bytes);
    }

    /// Events `first..first + count`, which the caller has checked to be there.
    pub(super) fn range(&self, first: u64, count: u64) -> impl Iterator<Item = &Arc<[u8]>> {
        let skip = usize::try_from(first - self.oldest()).unwrap_or(usize::MAX);
        self.held.iter().skip(skip).take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn len(&self) -> u64 {
        self.held.len() as u64
    }

    pub(super) fn oldest(&self) -> u64 {
        self.total - self.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leave_by_count_and_by_bytes() {
        let mut ring = EventRing::new(3, 100);
        for n in 0..5_u8 {
            ring.push(Arc::from([n; 10]));
        }
        assert_eq!((ring.oldest(), ring.total()), (2, 5));
        assert_eq!(ring.range(3, 2).map(|event| event[0]).collect::<Vec<_>>(), [3, 4]);
        ring.push(Arc::from([9; 95]));
        assert_eq!((ring.oldest(), ring.total()), (5, 6));
        ring.clear();
        assert_eq!((ring.len(), ring.total()), (0, 0));
    }
}
