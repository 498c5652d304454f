//! Hubs, of a program that is built without them: there are none.

use std::sync::Arc;

use schwann::Context;
use serde_json::Value;

use crate::table::Cell;

/// Hubs to look at, besides those of the configuration.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Named {}

/// Something that keeps streams from passing a hub.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Examined {
    pub(crate) is_fault: bool,
    pub(crate) what: String,
    pub(crate) fix: String,
}

/// Nothing is looked at.
pub(crate) fn watch(_: &Arc<Context>, _: &Named) -> Option<fn() -> Value> {
    None
}

/// No hub.
pub(crate) struct Hubs;

impl Hubs {
    pub(crate) fn open(_: &Context, _: &Named) -> Self {
        Self
    }

    pub(crate) fn examine(_: &Context) -> Vec<Examined> {
        Vec::new()
    }

    pub(crate) fn update(&mut self) {}

    pub(crate) fn is_complete(&self) -> bool {
        true
    }

    pub(crate) fn rows(&self) -> Vec<Vec<Cell>> {
        Vec::new()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn troubles(&self) -> usize {
        0
    }

    pub(crate) fn json(&self) -> Value {
        Value::Null
    }
}
