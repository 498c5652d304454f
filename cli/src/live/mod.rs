//! What the commands on live streams share: pulling, measuring and recording, one thread per stream.

pub(crate) mod arrivals;
pub(crate) mod chunk;
pub(crate) mod course;
pub(crate) mod hidden;
pub(crate) mod meter;
pub(crate) mod nearest;
pub(crate) mod probe;
pub(crate) mod probes;
pub(crate) mod query;
pub(crate) mod recorder;
pub(crate) mod search;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod turns;
pub(crate) mod verdict;
pub(crate) mod words;
