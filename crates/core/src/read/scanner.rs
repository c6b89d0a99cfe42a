//! Scans JSON without building values: finds where a value ends, and whether it is valid.
//!
//! It accepts the same texts as `JSON.parse`. Most bytes of a session are long strings that the
//! light pass does not read, so strings are skipped 64 bytes at a time. Nothing recurses, because a
//! file may nest to any depth.

mod string;

use std::borrow::Cow;

use super::json::{self, JsStr, Raw};

/// The text is not JSON. See [`json::check`] for the position and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invalid;

/// A position in a text.
pub struct Scanner<'a> {
    bytes: &'a [u8],
    /// The same bytes, if they are known to be text.
    text: Option<&'a str>,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Returns a scanner at the beginning of a text.
    pub fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), text: Some(text), at: 0 }
    }

    /// Returns a scanner of bytes that need not be text; only the values that are read must be.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        Self { bytes, text: None, at: 0 }
    }

    /// Returns the position in bytes.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns the next byte that is not white space, without consuming it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.bytes;
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                found => return found.copied(),
            }
        }
    }

    /// Consumes the next byte that is not white space, if it is `byte`.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        // White space is rare.
        let found = self.bytes.get(self.at) == Some(&byte) || self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline]
    fn next(&mut self) -> Result<u8, Invalid> {
        let byte = self.peek().ok_or(Invalid)?;
        self.at += 1;
        Ok(byte)
    }

    /// Fails unless nothing but white space follows.
    #[inline]
    pub fn end(&mut self) -> Result<(), Invalid> {
        if self.peek().is_none() { Ok(()) } else { Err(Invalid) }
    }

    /// Consumes the next bytes, if they are exactly these. Their number is known to the compiler, which then compares
    /// them as words.
    #[inline]
    pub fn literal<const N: usize>(&mut self, bytes: &[u8; N]) -> bool {
        let found = self.bytes[self.at..].first_chunk() == Some(bytes);
        self.at += if found { N } else { 0 };
        found
    }

    /// Returns the next value as written, which need not be text.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Invalid> {
        self.peek();
        let first = self.at;
        self.pass()?;
        Ok(&self.bytes[first..self.at])
    }

    /// Consumes the next value and returns it if it is a number without sign, fraction or exponent
    /// that is not too large.
    #[inline]
    pub fn natural(&mut self) -> Result<Option<u64>, Invalid> {
        // So many digits never overflow.
        const MOST: usize = 19;
        self.peek();
        let (mut at, mut number) = (self.at, 0);
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(at)
            && at - self.at < MOST
        {
            number = number * 10 + u64::from(digit - b'0');
            at += 1;
        }
        let is_plain = matches!(self.bytes.get(self.at), Some(b'1'..=b'9'));
        if is_plain && matches!(self.bytes.get(at), Some(b',' | b'}')) {
            self.at = at;
            return Ok(Some(number));
        }
        Ok(json::natural(self.bytes()?))
    }

    /// Returns the inside of the next value, which must be a string without escapes; it need not be
    /// text.
    #[inline]
    pub fn plain(&mut self) -> Result<&'a [u8], Invalid> {
        if !self.take(b'"') {
            return Err(Invalid);
        }
        let first = self.at;
        if self.pass_string()? { Ok(&self.bytes[first..self.at - 1]) } else { Err(Invalid) }
    }

    /// Returns the next value.
    pub fn value(&mut self) -> Result<Raw<'a>, Invalid> {
        Ok(self.spanned(Self::pass)?.1)
    }

    /// Consumes the next value and returns it if it is a string; a lone surrogate becomes U+FFFD.
    #[inline]
    pub fn text(&mut self) -> Result<Option<Cow<'a, str>>, Invalid> {
        if !self.take(b'"') {
            self.pass()?;
            return Ok(None);
        }
        let first = self.at - 1;
        let is_plain = self.pass_string()?;
        let raw = self.since(first)?;
        if is_plain {
            return Ok(Some(Cow::Borrowed(&raw.get()[1..raw.get().len() - 1])));
        }
        Ok(json::string(raw))
    }

    /// Returns the result of `pass` for the next value, and the value as written.
    pub fn spanned<T>(
        &mut self,
        pass: impl FnOnce(&mut Self) -> Result<T, Invalid>,
    ) -> Result<(T, Raw<'a>), Invalid> {
        self.peek();
        let first = self.at;
        let got = pass(self)?;
        Ok((got, self.since(first)?))
    }

    /// Returns the text since the offset `first`, where a value began.
    pub fn since(&self, first: usize) -> Result<Raw<'a>, Invalid> {
        let place = first..self.at;
        let text = match self.text {
            Some(text) => &text[place],
            None => simdutf8::basic::from_utf8(&self.bytes[place]).map_err(|_| Invalid)?,
        };
        Ok(Raw::scanned(text))
    }

    /// Scans the fields of the next value, which must be an object. `field` is called with each
    /// key, in order and including duplicates, and must consume its value.
    pub fn fields(
        &mut self,
        mut field: impl FnMut(&mut Self, JsStr<'a>) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        if !self.take(b'{') {
            return Err(Invalid);
        }
        if self.take(b'}') {
            return Ok(());
        }
        let key = self.key()?;
        field(self, key)?;
        self.more_fields(field)
    }

    /// Scans the fields that follow the value of one, to the end of the object.
    pub fn more_fields(
        &mut self,
        mut field: impl FnMut(&mut Self, JsStr<'a>) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        loop {
            match self.next()? {
                b',' => {
                    let key = self.key()?;
                    field(self, key)?;
                }
                b'}' => return Ok(()),
                _ => return Err(Invalid),
            }
        }
    }

    /// Scans the elements of the next value, which must be an array; `element` must consume each.
    pub fn elements(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        if !self.take(b'[') {
            return Err(Invalid);
        }
        if self.take(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            match self.next()? {
                b',' => {}
                b']' => return Ok(()),
                _ => return Err(Invalid),
            }
        }
    }

    /// Returns a key, and consumes the colon after it.
    #[inline]
    fn key(&mut self) -> Result<JsStr<'a>, Invalid> {
        if !self.take(b'"') {
            return Err(Invalid);
        }
        let first = self.at;
        let is_plain = self.pass_string()?;
        let key = if is_plain {
            Cow::Borrowed(&self.bytes[first..self.at - 1])
        } else {
            json::js_string(self.since(first - 1)?).ok_or(Invalid)?
        };
        if self.take(b':') { Ok(key) } else { Err(Invalid) }
    }

    /// Skips the next value.
    #[inline]
    pub fn pass(&mut self) -> Result<(), Invalid> {
        match self.next()? {
            bracket @ (b'{' | b'[') => self.pass_nested(bracket),
            first => self.pass_scalar(first),
        }
    }

    /// Skips an object or array whose opening bracket has been consumed.
    fn pass_nested(&mut self, bracket: u8) -> Result<(), Invalid> {
        let mut open = Nesting::default();
        let mut first = bracket;
        loop {
            match first {
                b'{' if self.take(b'}') => {}
                b'{' => {
                    self.pass_key()?;
                    open.push(Bracket::Brace);
                    first = self.next()?;
                    continue;
                }
                b'[' if self.take(b']') => {}
                b'[' => {
                    open.push(Bracket::Square);
                    first = self.next()?;
                    continue;
                }
                first => self.pass_scalar(first)?,
            }
            // A value has ended, and perhaps the values that contain it.
            loop {
                let Some(inside) = open.last() else { return Ok(()) };
                match (self.next()?, inside) {
                    (b',', Bracket::Brace) => {
                        self.pass_key()?;
                        break;
                    }
                    (b',', Bracket::Square) => break,
                    (b'}', Bracket::Brace) | (b']', Bracket::Square) => open.pop(),
                    _ => return Err(Invalid),
                }
            }
            first = self.next()?;
        }
    }

    /// Skips a value that is neither an object nor an array, whose first byte has been consumed.
    #[inline]
    fn pass_scalar(&mut self, first: u8) -> Result<(), Invalid> {
        match first {
            b'"' => self.pass_string().map(|_| ()),
            b't' => self.pass_word(b"rue"),
            b'f' => self.pass_word(b"alse"),
            b'n' => self.pass_word(b"ull"),
            first => self.pass_number(first),
        }
    }

    #[inline]
    fn pass_key(&mut self) -> Result<(), Invalid> {
        if !self.take(b'"') {
            return Err(Invalid);
        }
        self.pass_string()?;
        if self.take(b':') { Ok(()) } else { Err(Invalid) }
    }

    /// Skips from after the opening quote to after the closing one. Returns whether there is no
    /// escape.
    #[inline]
    fn pass_string(&mut self) -> Result<bool, Invalid> {
        let (end, is_plain) = string::end(self.bytes, self.at)?;
        self.at = end;
        Ok(is_plain)
    }

    #[inline]
    fn pass_word(&mut self, rest: &[u8]) -> Result<(), Invalid> {
        if self.bytes[self.at..].starts_with(rest) {
            self.at += rest.len();
            return Ok(());
        }
        Err(Invalid)
    }

    fn pass_number(&mut self, first: u8) -> Result<(), Invalid> {
        let first = if first == b'-' { self.byte() } else { Some(first) };
        match first {
            Some(b'0') => {}
            Some(b'1'..=b'9') => self.pass_digits(),
            _ => return Err(Invalid),
        }
        let bytes = self.bytes;
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.pass_some_digits()?;
        }
        if let Some(b'e' | b'E') = bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = bytes.get(self.at) {
                self.at += 1;
            }
            self.pass_some_digits()?;
        }
        Ok(())
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    #[inline]
    fn pass_some_digits(&mut self) -> Result<(), Invalid> {
        let first = self.at;
        self.pass_digits();
        if self.at > first { Ok(()) } else { Err(Invalid) }
    }

    #[inline]
    fn pass_digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Square,
    Brace,
}

/// The open brackets, one bit each. Most values nest only a few levels, which needs no allocation.
#[derive(Default)]
struct Nesting {
    depth: usize,
    bits: u64,
    /// The full sets of bits of the outer levels.
    below: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, bracket: Bracket) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.below.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(bracket == Bracket::Brace);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
        if self.depth.is_multiple_of(64) {
            self.bits = self.below.pop().unwrap_or_default();
        }
    }

    fn last(&self) -> Option<Bracket> {
        let bracket = if self.bits & 1 == 1 { Bracket::Brace } else { Bracket::Square };
        (self.depth > 0).then_some(bracket)
    }
}

#[cfg(test)]
mod tests;
