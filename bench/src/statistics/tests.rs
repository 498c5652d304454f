//! The statistics equal scipy's (`statistics_reference.py` made the table) and the published values.

use super::power::{noncentral_t_cdf, paired_power};
use super::{
    Interval, Resampler, bca_interval, cohens_d_paired, equivalence, holm, mean, median, needed_pairs,
    paired_t, quantile_interval, quantile_of_sorted, signed_rank,
};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("../../tests/statistics_reference.json"))
        .expect("the committed table is JSON")
}

fn rows(table: &Value, name: &str) -> Vec<Value> {
    table[name].as_array().unwrap_or_else(|| panic!("no rows {name}")).clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[track_caller]
fn close(ours: f64, theirs: &Value) {
    let theirs = number(theirs);
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(1e-3), "{ours} is not scipy's {theirs}");
}

#[test]
fn paired_tests_and_effect_sizes_equal_scipy() {
    for row in rows(&reference(), "paired") {
        let (first, second) = (numbers(&row["first"]), numbers(&row["second"]));
        let t = paired_t(&first, &second, 0.95).expect("differences that differ");
        close(t.t, &row["t"]);
        close(t.p, &row["p"]);
        close(t.interval.low, &row["low"]);
        close(t.interval.high, &row["high"]);
        let ranks = signed_rank(&first, &second).expect("differences that are not zero");
        close(ranks.w, &row["wilcoxon_w"]);
        close(ranks.p, &row["wilcoxon_p"]);
        close(cohens_d_paired(&first, &second), &row["d_paired"]);
        let same = equivalence(&first, &second, number(&row["margin"])).expect("differences that differ");
        close(same.p_low, &row["tost_low"]);
        close(same.p_high, &row["tost_high"]);
    }
}

#[test]
fn bootstrap_intervals_equal_scipy() {
    for row in rows(&reference(), "bootstrap") {
        let values = numbers(&row["values"]);
        let statistic = if row["statistic"] == "mean" { mean } else { median };
        let distribution = Resampler::new(42).distribution(&values, statistic, 1999);
        let interval = bca_interval(&values, statistic, &distribution, 0.95).expect("enough values");
        close(interval.low, &row["low"]);
        close(interval.high, &row["high"]);
    }
}

#[test]
fn quantiles_and_their_intervals_equal_scipy() {
    for row in rows(&reference(), "quantiles") {
        let (values, p) = (numbers(&row["values"]), number(&row["p"]));
        close(quantile_of_sorted(&values, p), &row["quantile"]);
        match quantile_interval(&values, p, 0.95) {
            Some(interval) => {
                close(interval.low, &row["low"]);
                close(interval.high, &row["high"]);
            }
            None => assert!(row["low"].is_null() || row["high"].is_null(), "scipy has an interval: {row}"),
        }
    }
}

#[test]
fn corrections_and_powers_equal_scipy() {
    let table = reference();
    for (ours, theirs) in
        holm(&numbers(&table["holm"]["p"])).into_iter().zip(rows(&table["holm"], "adjusted"))
    {
        close(ours, &theirs);
    }
    for row in rows(&table, "noncentral_t") {
        close(
            noncentral_t_cdf(number(&row["t"]), number(&row["freedom"]), number(&row["shift"])),
            &row["cdf"],
        );
    }
    for row in rows(&table, "power") {
        close(paired_power(number(&row["d"]), 0.05, number(&row["pairs"]) as u32), &row["power"]);
    }
    for row in rows(&table, "needed_pairs") {
        assert_eq!(needed_pairs(number(&row["d"]), 0.05, 0.8).map(u64::from), row["pairs"].as_u64());
    }
}

#[test]
fn the_published_five_iterations_give_the_published_results() {
    let cases = [
        ("ethernet", 0.8089, 0.4640, Interval { low: -1.99, high: 3.63 }, 0.362),
        ("wifi", 2.7957, 0.0490, Interval { low: 0.006, high: 1.698 }, 1.25),
    ];
    let table = rows(&reference(), "paired");
    for (name, t, p, interval, paired) in cases {
        let row = table.iter().find(|row| row["name"] == name).expect("the table holds the published data");
        let (insecure, secure) = (numbers(&row["first"]), numbers(&row["second"]));
        let found = paired_t(&insecure, &secure, 0.95).expect("differences that differ");
        assert!((found.t - t).abs() < 5e-5, "{name}: t = {}", found.t);
        assert!((found.p - p).abs() < 5e-5, "{name}: p = {}", found.p);
        assert!((found.interval.low - interval.low).abs() < 5e-3, "{name}: {:?}", found.interval);
        assert!((found.interval.high - interval.high).abs() < 5e-3, "{name}: {:?}", found.interval);
        let found_paired = cohens_d_paired(&insecure, &secure);
        assert!((found_paired - paired).abs() < 5e-3, "{name}: paired d = {found_paired}");
    }
}
