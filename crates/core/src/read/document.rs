//! Reads a JSON document as far as it goes: all of it, or the part before it was cut off.
//!
//! Old agents rewrote the whole file at each change; a full disk or a crash leaves only its
//! beginning.

use super::json::{self, JsStr, Raw};
use super::scanner::Scanner;

/// The complete values at the beginning of a document.
#[derive(Debug, Default)]
pub struct Recovered<'a> {
    /// The fields of the outermost object that are complete.
    pub fields: Vec<(JsStr<'a>, Raw<'a>)>,
    /// The array in which the text ends.
    pub cut: Option<CutArray<'a>>,
}

/// An array that is cut off.
#[derive(Debug)]
pub struct CutArray<'a> {
    /// None if the document itself is that array.
    pub key: Option<JsStr<'a>>,
    /// The complete elements.
    pub elements: Vec<Raw<'a>>,
    /// The complete fields of the object in which the text ends, closed again.
    pub last: Option<String>,
}

/// Reads the complete values in `text`. Returns `None` if it is neither an object nor an array.
pub fn recover(text: &str) -> Option<Recovered<'_>> {
    let mut cursor = Cursor { text, at: 0 };
    if cursor.take(b'[') {
        return Some(Recovered { cut: Some(cursor.cut_array(None)), ..Recovered::default() });
    }
    if !cursor.take(b'{') {
        return None;
    }
    let (fields, unfinished) = cursor.fields();
    let cut = match unfinished {
        Some(key) if cursor.take(b'[') => Some(cursor.cut_array(Some(key))),
        _ => None,
    };
    Some(Recovered { fields, cut })
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, byte: u8) -> bool {
        let rest = self.text[self.at..].trim_start();
        let found = rest.as_bytes().first() == Some(&byte);
        if found {
            self.at = self.text.len() - rest.len() + 1;
        }
        found
    }

    /// Returns the next value, if it is complete.
    fn value(&mut self) -> Option<Raw<'a>> {
        let rest = &self.text[self.at..];
        let mut scanner = Scanner::new(rest);
        let value = scanner.value().ok()?;
        // A number or a word with other text directly after it is not a value.
        let after = rest.as_bytes().get(scanner.offset());
        let ends = value.get().ends_with(['"', ']', '}'])
            || after.is_none_or(|byte| b" \t\n\r\"[]{},:".contains(byte));
        self.at += if ends { scanner.offset() } else { 0 };
        ends.then_some(value)
    }

    /// Returns the complete fields from here on, and the key of one whose value is incomplete.
    fn fields(&mut self) -> (Vec<(JsStr<'a>, Raw<'a>)>, Option<JsStr<'a>>) {
        let mut fields = Vec::new();
        while let Some(key) = self.value().and_then(json::js_string)
            && self.take(b':')
        {
            match self.value() {
                Some(value) => fields.push((key, value)),
                None => return (fields, Some(key)),
            }
            if !self.take(b',') {
                break;
            }
        }
        (fields, None)
    }

    fn cut_array(&mut self, key: Option<JsStr<'a>>) -> CutArray<'a> {
        let mut elements = Vec::new();
        let mut more = true;
        while more && let Some(element) = self.value() {
            elements.push(element);
            more = self.take(b',');
        }
        let last = if more { self.closed_object() } else { None };
        CutArray { key, elements, last }
    }

    /// Returns the complete fields of an object that is cut off, closed again.
    fn closed_object(&mut self) -> Option<String> {
        let first = self.at;
        if !self.take(b'{') {
            return None;
        }
        let (fields, _) = self.fields();
        let last = fields.last()?.1.get();
        let end = last.as_ptr() as usize + last.len() - self.text.as_ptr() as usize;
        let closed = format!("{}}}", self.text[first..end].trim_start());
        Raw::new(&closed).is_some().then_some(closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_gives_a_prefix_of_the_whole() {
        let whole =
            r#"{"sessionId":"s","messages":[{"id":"a"},{"id":"b","x":[1,2]},{"id":"c"}],"z":1}"#;
        let mut most = 0;
        for cut in 1..whole.len() {
            let got = recover(&whole[..cut]).unwrap();
            let messages = got.cut.map_or(0, |cut| cut.elements.len());
            let all = if got.fields.len() >= 2 { 3 } else { messages };
            assert!(all >= most, "cut at {cut} lost a message");
            most = all;
        }
        assert_eq!(most, 3);
    }

    #[test]
    fn a_cut_array_and_no_document() {
        let got = recover(r#"[{"role":"user"}, {"role":"model","parts":[{"te"#).unwrap();
        let cut = got.cut.unwrap();
        assert!(cut.key.is_none());
        assert_eq!(cut.elements.len(), 1);
        assert_eq!(cut.last.unwrap(), r#"{"role":"model"}"#);
        assert!(recover("hello").is_none());
    }
}
