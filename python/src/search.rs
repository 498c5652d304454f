//! Searches for streams.

use core::time::Duration;

use pyo3::prelude::*;
use schwann::Context;
use schwann::resolver::ContinuousResolver;

use crate::failure::of_search;
use crate::info::Info;
use crate::patience::Patience;

/// Searches streams of the session that fulfil `predicate`; without one, all.
///
/// Returns as soon as `minimum` are found, or after `timeout` seconds with the streams found so
/// far.
#[pyfunction]
pub(crate) fn resolve(
    py: Python<'_>,
    predicate: Option<&str>,
    minimum: usize,
    timeout: Option<f64>,
) -> PyResult<Vec<Info>> {
    let patience = Patience::seconds(py, timeout)?;
    let context = Context::get();
    let search = match predicate {
        Some(predicate) => ContinuousResolver::by_predicate(context.clone(), predicate, FORGET_AFTER),
        None => ContinuousResolver::all(context.clone(), FORGET_AFTER),
    };
    // A search of the other kind cannot be ended from outside, as Ctrl-C must.
    let search = search.map_err(|error| of_search(py, error))?;
    let mut found = Vec::new();
    patience.wait(py, |turn| {
        found = search.results();
        let is_enough = minimum > 0 && found.len() >= minimum;
        if !is_enough {
            std::thread::sleep(LOOK_AGAIN.min(Duration::from_secs_f64(turn)));
        }
        is_enough.then_some(())
    })?;
    py.detach(move || drop(search));
    Ok(found.into_iter().map(Info::of).collect())
}

/// A search that goes on in the background.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Search(ContinuousResolver);

#[pymethods]
impl Search {
    /// Starts to search; without a predicate all streams of the session.
    ///
    /// A stream that was not heard of for `forget_after` seconds is forgotten.
    #[new]
    fn new(py: Python<'_>, predicate: Option<&str>, forget_after: f64) -> PyResult<Self> {
        let forget_after = Duration::try_from_secs_f64(forget_after.max(0.0)).unwrap_or(Duration::MAX);
        let context = Context::get().clone();
        let search = match predicate {
            Some(predicate) => ContinuousResolver::by_predicate(context, predicate, forget_after),
            None => ContinuousResolver::all(context, forget_after),
        };
        search.map(Self).map_err(|error| of_search(py, error))
    }

    /// The streams that were there lately.
    fn results(&self) -> Vec<Info> {
        self.0.results().into_iter().map(Info::of).collect()
    }
}

/// What answered once during a search counts, so that a lost packet later hides nothing.
const FORGET_AFTER: Duration = Duration::from_secs(3600);

/// How long a stream that was found may wait to be returned.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
