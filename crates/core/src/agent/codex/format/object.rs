//! Looks up the fields of a JSON object by name.

use std::borrow::Cow;

use jiff::Timestamp;

use super::tokens::{self, Count};
use crate::read::json::{self, JsStr, Malformed, Raw};
use crate::read::scanner::{Invalid, Scanner};
use crate::read::unpadded;
use crate::time;

/// The fields of an object, in order. Of a repeated field, the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(JsStr<'a>, Raw<'a>)>);

impl<'a> Object<'a> {
    /// Reads a line that is a single object.
    pub(crate) fn read(line: &'a str) -> Result<Self, Malformed> {
        Self::new(unpadded(line))
    }

    fn new(text: &'a str) -> Result<Self, Malformed> {
        json::scan(text, Self::pass)
    }

    /// Reads a line that is a single object, and the fields of its field `name`, in one pass. A
    /// field that is not an object has none.
    pub(crate) fn read_with(line: &'a str, name: &str) -> Result<(Self, Self), Malformed> {
        let mut inner = Self::default();
        let outer = json::scan(unpadded(line), |scanner| {
            Self::pass_with(scanner, |scanner, key| {
                if *key != *name.as_bytes() {
                    return scanner.pass();
                }
                if scanner.peek() == Some(b'{') {
                    inner = Self::pass(scanner)?;
                    return Ok(());
                }
                inner = Self::default();
                scanner.pass()
            })
        })?;
        Ok((outer, inner))
    }

    /// Consumes an object.
    fn pass(scanner: &mut Scanner<'a>) -> Result<Self, Invalid> {
        Self::pass_with(scanner, |scanner, _| scanner.pass())
    }

    /// Consumes an object, and each of its values with `value`.
    fn pass_with(
        scanner: &mut Scanner<'a>,
        mut value: impl FnMut(&mut Scanner<'a>, &[u8]) -> Result<(), Invalid>,
    ) -> Result<Self, Invalid> {
        let mut fields = Vec::with_capacity(8);
        scanner.fields(|scanner, key| {
            let ((), raw) = scanner.spanned(|scanner| value(scanner, &key))?;
            fields.push((key, raw));
            Ok(())
        })?;
        Ok(Self(fields))
    }

    /// Returns the fields of a value. A value that is not an object has none.
    pub(crate) fn of(raw: Raw<'a>) -> Self {
        Self::new(raw.get()).unwrap_or_default()
    }

    /// Returns a field that is present and not `null`.
    pub(crate) fn get(&self, name: &str) -> Option<Raw<'a>> {
        let found = self.0.iter().rev().find(|(key, _)| **key == *name.as_bytes());
        found.map(|(_, value)| *value).filter(|value| value.get() != "null")
    }

    /// Returns whether a field is present and not `null`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns a field that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        json::string(self.get(name)?)
    }

    /// Returns a field that is a string and not empty.
    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty()).map(Cow::into_owned)
    }

    /// Returns a field that is a whole number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.get().parse().ok()
    }

    /// Returns a field that is a time.
    pub(crate) fn time(&self, name: &str) -> Option<Timestamp> {
        time::iso(&self.text(name)?)
    }

    /// Returns the fields of a field that is an object.
    pub(crate) fn object(&self, name: &str) -> Self {
        self.get(name).map(Self::of).unwrap_or_default()
    }

    /// Returns the numbers of a token count; `None` if it has no total.
    pub(crate) fn count(&self) -> Option<Count> {
        let info = self.get("info")?;
        tokens::count(&mut Scanner::new(info.get())).ok().flatten()
    }

    /// Returns the elements of a field that is a list.
    pub(crate) fn list(&self, name: &str) -> Vec<Raw<'a>> {
        self.get(name).map(|raw| json::elements(raw.get())).unwrap_or_default()
    }

    /// Returns the texts of a field: the string itself, or the texts of a list of parts.
    pub(crate) fn texts(&self, name: &str) -> Vec<Cow<'a, str>> {
        match self.get(name) {
            Some(raw) if raw.get().starts_with('"') => json::string(raw).into_iter().collect(),
            Some(raw) => parts(raw),
            None => Vec::new(),
        }
    }
}

impl<'a> Object<'a> {
    /// Returns the texts of the content of a message, without the tags that the program puts around images.
    pub(crate) fn words(&self) -> Vec<Cow<'a, str>> {
        let mut texts = self.texts("content");
        if texts.iter().any(|text| is_frame(text)) && self.list("content").into_iter().any(is_image)
        {
            texts.retain(|text| !is_frame(text));
        }
        texts
    }
}

/// Returns whether a text is a tag before or behind an image.
fn is_frame(text: &str) -> bool {
    let text = text.trim();
    let has_name = text.starts_with("<image name=") && text.ends_with('>');
    has_name || matches!(text, "<image>" | "</image>")
}

fn is_image(part: Raw<'_>) -> bool {
    Object::of(part).has("image_url")
}

/// Returns the texts of a list of parts.
pub(crate) fn parts(raw: Raw<'_>) -> Vec<Cow<'_, str>> {
    json::elements(raw.get()).into_iter().filter_map(part).collect()
}

fn part(part: Raw<'_>) -> Option<Cow<'_, str>> {
    json::string(part).or_else(|| Object::of(part).text("text"))
}
