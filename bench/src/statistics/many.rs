//! Many comparisons at once.

/// Returns Holm's adjusted p-values, in the order given.
///
/// *Source*: Holm 1979; R's `p.adjust(method = "holm")`.
pub(crate) fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut floor = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        floor = floor.max((p_values.len() - rank) as f64 * p_values[index]).min(1.0);
        adjusted[index] = floor;
    }
    adjusted
}
