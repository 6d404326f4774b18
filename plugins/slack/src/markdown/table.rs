//! A table as columns of plain text.

use super::Block;

/// The widest a table may be, in characters: what a code block shows on a laptop without wrapping. A wider one is
/// shown row by row.
const WIDTH_MAX: usize = 100;

/// A table while it is read.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Begins a row.
    pub fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the row.
    pub fn cell(&mut self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.rows.iter_mut().rev().take(1).for_each(|row| row.push(text.clone()));
    }

    /// The table as a block: columns where they fit, else each row as lines of heading and cell.
    pub fn block(self) -> Block {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        let between = 3 * columns.saturating_sub(1);
        if widths.iter().sum::<usize>() + between > WIDTH_MAX {
            return self.by_row();
        }
        let line = |row: &Vec<String>| {
            let cells = widths
                .iter()
                .enumerate()
                .map(|(n, width)| format!("{:<width$}", row.get(n).map_or("", String::as_str)));
            cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned()
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        let rule = widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("-|-");
        let head = lines.len().min(1);
        lines.insert(head, rule);
        Block::Code { lines, head: head + 1 }
    }

    fn by_row(self) -> Block {
        let mut rows = self.rows.into_iter();
        let heads = rows.next().unwrap_or_default();
        let mut lines = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            let named = row.iter().enumerate().map(|(n, cell)| match heads.get(n) {
                Some(head) if !head.is_empty() => format!("{head}: {cell}"),
                _ => cell.clone(),
            });
            lines.extend(named);
        }
        if lines.is_empty() {
            lines = heads;
        }
        Block::Code { lines, head: 0 }
    }
}
