//! Columns for a terminal: as wide as their longest text, each text on one line and safe to print.

use crate::show::short;

/// The rows under their headings, two spaces between columns.
#[must_use]
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(&headings)
        .chain(rows)
        .map(|row| row.iter().map(|text| short(text)).collect())
        .collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(text, width)| format!("{text:<width$}"));
        cells.collect::<Vec<String>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(padded).collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_stand_under_one_another_and_nothing_steers_the_terminal() {
        let rows = [vec!["é".to_owned(), "1".to_owned()], vec!["a\u{1b}[2J".to_owned(), "2".to_owned()]];
        assert_eq!(table(&["NAME", "N"], &rows), "NAME        N\né           1\na\\u{1b}[2J  2\n");
    }
}
