//! Builds the page's content security policy, which allows nothing but its own style and script.

use sha2::{Digest, Sha256};

pub(super) fn of(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; \
         base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(style)),
        base64(&Sha256::digest(script)),
    )
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |n, at| (n << 8) | usize::from(*three.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * at)) & 63];
            out.push(if at > three.len() { '=' } else { digit as char });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_answers() {
        for (bytes, want) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(super::base64(bytes.as_bytes()), want);
        }
    }
}
