//! Parses and writes the part of an address after `?`, and the same form in the body of a request.

use std::fmt::Write;

/// Names and values in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(&name.replace('+', " ")), decode(&value.replace('+', " ")))
        };
        Self(text.split('&').filter(|pair| !pair.is_empty()).map(pair).collect())
    }

    /// Returns the last value of a name that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut values =
            self.0.iter().rev().filter(|(known, value)| known == name && !value.is_empty());
        values.next().map(|(_, value)| value.as_str())
    }

    /// Returns every value of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// Returns a copy in which a name has one value, or none.
    pub(crate) fn with(&self, name: &str, value: Option<&str>) -> Self {
        let mut pairs: Vec<(String, String)> = self
            .0
            .iter()
            .filter(|(known, value)| known != name && !value.is_empty())
            .cloned()
            .collect();
        pairs.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        Self(pairs)
    }

    /// Returns a copy with one more value.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns a copy with only some names.
    pub(crate) fn only(&self, names: &[&str]) -> Self {
        Self(self.0.iter().filter(|(name, _)| names.contains(&name.as_str())).cloned().collect())
    }

    /// Returns an address with these values.
    pub(crate) fn address(&self, path: &str) -> String {
        if self.0.is_empty() {
            return path.to_owned();
        }
        let pairs: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        format!("{path}?{}", pairs.join("&"))
    }
}

/// Decodes `%41`; an invalid code stays as it is.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let is_hex = |code: &&str| code.bytes().all(|byte| byte.is_ascii_hexdigit());
        let byte = code.filter(is_hex).and_then(|code| u8::from_str_radix(code, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Encodes a text as one part of an address.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Writes bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        let query = Query::parse("q=a+b%26&project=%C3%A9&empty=&flag&&q=last");
        assert_eq!(query.get("q"), Some("last"));
        assert_eq!(query.get("project"), Some("é"));
        assert_eq!(query.get("empty"), None);
        assert_eq!(query.all("q").collect::<Vec<_>>(), ["a b&", "last"]);
        assert_eq!(query.with("q", None).address("/x"), "/x?project=%C3%A9");
        assert_eq!(
            query.only(&["project"]).with("p", Some("&=")).address("/"),
            "/?project=%C3%A9&p=%26%3D"
        );
        assert_eq!(Query::default().address("/x"), "/x");
    }

    #[test]
    fn codes_that_are_not_valid_stay() {
        for (text, want) in
            [("%4", "%4"), ("%zz", "%zz"), ("%+1", "%+1"), ("%e9", "\u{fffd}"), ("100%", "100%")]
        {
            assert_eq!(decode(text), want);
        }
        assert_eq!(decode("%0d%0a"), "\r\n");
        assert_eq!(encode("a/b\r\n \"é"), "a%2Fb%0D%0A%20%22%C3%A9");
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let text: String = (0..=0x2FF_u32).filter_map(char::from_u32).collect();
        assert_eq!(decode(&encode(&text)), text);
    }
}
