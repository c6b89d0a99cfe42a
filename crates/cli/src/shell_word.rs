//! Words of a command line that the user may copy into a shell.

use std::ffi::OsStr;

use backstory_core::clean::is_unsafe;

/// Quotes a word so that a shell reads exactly these bytes. Unprintable bytes are escaped in `$'…'`, which
/// bash, zsh, ksh and POSIX since 2024 support.
pub(crate) fn quote(word: &OsStr) -> String {
    match word.to_str() {
        Some(text) if !text.is_empty() && text.bytes().all(is_plain) => text.to_owned(),
        Some(text) if !text.chars().any(is_unsafe) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => {
            let escape = |byte: u8| {
                if is_plain(byte) { char::from(byte).to_string() } else { format!(r"\{byte:03o}") }
            };
            let escaped: String = word.as_encoded_bytes().iter().copied().map(escape).collect();
            format!("$'{escaped}'")
        }
    }
}

/// Returns whether a byte is literal in a shell, quoted or not.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        let quote = |word: &str| quote(OsStr::new(word));
        assert_eq!(quote("/home/dev/a-b_c.d"), "/home/dev/a-b_c.d");
        assert_eq!(quote("/a b/$x é"), "'/a b/$x é'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a\nit's \u{202E}!"), r"$'a\012it\047s\040\342\200\256\041'");
    }

    #[cfg(unix)]
    proptest::proptest! {
        #[test]
        fn bash_reads_a_quoted_word_as_it_was(
            word in proptest::collection::vec(
                proptest::prop_oneof![1..=255_u8, proptest::sample::select(b" '\"\\$`!\n~*#7x".to_vec())],
                0..40,
            )
        ) {
            use std::os::unix::ffi::OsStrExt;

            let word: Vec<u8> = word.into_iter().filter(|byte| *byte != b'/').collect();
            let quoted = quote(OsStr::from_bytes(&word));
            // The quoted text is printable.
            proptest::prop_assert_eq!(backstory_core::clean::line(&quoted), &*quoted);
            let script = format!("printf %s {quoted}");
            let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            proptest::prop_assert_eq!(output.stdout, word, "{}", quoted);
        }
    }
}
