//! Reads files that an agent has compressed.

use std::io::{self, Cursor, Read as _, SeekFrom};

use super::bytes::{ReadSeek, read_whole};
use super::lines::LONGEST_LINE;

/// The magic number of Zstandard.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Returns whether a file with this beginning is compressed.
pub fn is_packed(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

/// Returns the content of a file, decompressed if necessary. Of a damaged file, the intact beginning is
/// returned.
pub fn unpacked<'a>(mut input: Box<dyn ReadSeek + 'a>) -> io::Result<Box<dyn ReadSeek + 'a>> {
    let mut head = Vec::new();
    (&mut input).take(MAGIC.len() as u64).read_to_end(&mut head)?;
    input.seek(SeekFrom::Start(0))?;
    if !is_packed(&head) {
        return Ok(input);
    }
    // The file is read in full first, so that a caller that observes the bytes sees all of them.
    let mut packed = Vec::new();
    read_whole(input, &mut packed)?;
    Ok(Box::new(Cursor::new(unpack(&packed)?.content)))
}

/// The content of compressed data.
#[derive(Debug)]
pub struct Unpacked {
    /// The content, up to the first error.
    pub content: Vec<u8>,
    /// Whether there was an error, so that content is missing.
    pub is_cut: bool,
}

/// Decompresses data up to the first error. Fails if nothing can be decompressed, or if the result is too
/// large.
pub fn unpack(packed: &[u8]) -> io::Result<Unpacked> {
    let mut decoder = zstd::Decoder::new(packed)?;
    let mut out = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        match decoder.read(&mut chunk) {
            Ok(0) => return Ok(Unpacked { content: out, is_cut: false }),
            Ok(read) => out.extend_from_slice(&chunk[..read]),
            Err(_) if !out.is_empty() => return Ok(Unpacked { content: out, is_cut: true }),
            Err(error) => return Err(error),
        }
        if out.len() > LONGEST_LINE {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "it unpacks to more than 512 MiB",
            ));
        }
    }
}
