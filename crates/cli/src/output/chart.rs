//! Small text charts.

/// Draws a bar of at most `width` for `value` of `most`; any value above zero is visible.
pub(crate) fn bar(value: u64, most: u64, width: usize) -> String {
    const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    if value == 0 || most == 0 || width == 0 {
        return String::new();
    }
    let units = u128::from(value) * (width as u128) * 8 / u128::from(most);
    let units = usize::try_from(units).unwrap_or(width * 8).clamp(1, width * 8);
    let mut out = "█".repeat(units / 8);
    if units % 8 > 0 {
        out.push(EIGHTHS[units % 8 - 1]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_proportion() {
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(1, u64::MAX, 4), "▏");
        assert_eq!(bar(u64::MAX, u64::MAX, 2), "██");
        assert_eq!(bar(3, 0, 4), "");
    }
}
