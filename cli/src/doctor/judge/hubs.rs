//! What keeps streams from passing the hubs that the configuration remembers.

use super::add;
use crate::doctor::{Finding, Weight, facts::Facts};

pub(super) fn hubs(facts: &Facts, findings: &mut Vec<Finding>) {
    for found in &facts.hubs {
        if found.is_fault {
            add(findings, Weight::Fault, "hub", found.what.clone(), found.fix.clone());
        } else {
            add(findings, Weight::Warning, "far-stream", found.what.clone(), found.fix.clone());
        }
    }
}
