//! Streams of other sites. Another part of the program looks at them; pages get what it says as it is.

use core::fmt;
use std::sync::Arc;

use serde_json::Value;

/// What is known of streams of other sites now, whenever it is asked: `hubs` (`address`, `problem`, `streams`), `problems` and `edges`.
#[derive(Clone)]
pub struct RemoteSource(Arc<dyn Fn() -> Value + Send + Sync>);

impl RemoteSource {
    /// Asks `look` each time. It must not wait.
    pub fn new(look: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }

    pub(super) fn look(&self) -> Value {
        (self.0)()
    }
}

impl fmt::Debug for RemoteSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RemoteSource").finish_non_exhaustive()
    }
}
