//! Rows of text for other programs: CSV for spreadsheets, Markdown for documents.

use crate::clean;

/// Named columns and rows of text.
#[derive(Debug)]
pub struct Plain {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Plain {
    /// Creates a table without rows. In output for programs, columns are named like the fields of documents.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row with a cell per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Formats the rows as in RFC 4180, but with LF instead of CRLF, which every reader accepts.
    pub fn csv(&self) -> String {
        let line = |cells: &Vec<String>| {
            cells.iter().map(|text| csv_field(text)).collect::<Vec<_>>().join(",") + "\n"
        };
        line(&self.names) + &self.rows.iter().map(line).collect::<String>()
    }

    /// Formats the rows as a Markdown table.
    pub fn markdown(&self) -> String {
        let escape = |text: &String| clean::line(text).replace('\\', "\\\\").replace('|', "\\|");
        let line = |cells: &Vec<String>| {
            format!("| {} |\n", cells.iter().map(escape).collect::<Vec<_>>().join(" | "))
        };
        let rule = line(&vec!["---".to_owned(); self.names.len()]);
        line(&self.names) + &rule + &self.rows.iter().map(line).collect::<String>()
    }
}

/// Formats a CSV field, quoted if necessary. A value that a spreadsheet would run as a formula is prefixed
/// with an apostrophe, because session text is untrusted.
pub fn csv_field(text: &str) -> String {
    let is_formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let guard = if is_formula { "'" } else { "" };
    if text.contains(['"', ',', '\n', '\r']) || text.starts_with(' ') {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{guard}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_read_it() {
        let mut rows = Plain::new(["a", "b_c"]);
        rows.row(["1,5", "say \"hi\""]);
        rows.row(["x|y", "z"]);
        assert_eq!(rows.csv(), "a,b_c\n\"1,5\",\"say \"\"hi\"\"\"\nx|y,z\n");
        let fields = ["=1+1", "-3.5", "-x", "@a", "+1,5", "a=b", ""].map(csv_field);
        assert_eq!(fields, ["'=1+1", "-3.5", "'-x", "'@a", "\"'+1,5\"", "a=b", ""]);
        assert_eq!(
            rows.markdown(),
            "| a | b_c |\n| --- | --- |\n| 1,5 | say \"hi\" |\n| x\\|y | z |\n"
        );
    }
}
