//! Files that an agent has compressed.

use std::io::{self, Cursor, Read as _, SeekFrom};

use super::bytes::{ReadSeek, read_whole};
use super::lines::LONGEST;

/// The beginning of a file that Zstandard wrote.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Returns the content of a file: unpacked if it is compressed, else as it is. What is whole of a damaged
/// file is unpacked.
pub fn unpacked<'a>(mut input: Box<dyn ReadSeek + 'a>) -> io::Result<Box<dyn ReadSeek + 'a>> {
    let mut head = Vec::new();
    (&mut input).take(MAGIC.len() as u64).read_to_end(&mut head)?;
    input.seek(SeekFrom::Start(0))?;
    if head != MAGIC {
        return Ok(input);
    }
    // All of it is read first, so that whoever watches the bytes sees the whole file.
    let mut packed = Vec::new();
    read_whole(input, &mut packed)?;
    Ok(Box::new(Cursor::new(unpack(&packed)?)))
}

/// Unpacks as much as is whole.
pub fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut decoder = zstd::Decoder::new(packed)?;
    let mut out = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        match decoder.read(&mut chunk) {
            Ok(0) => return Ok(out),
            Ok(read) => out.extend_from_slice(&chunk[..read]),
            Err(_) if !out.is_empty() => return Ok(out),
            Err(error) => return Err(error),
        }
        if out.len() > LONGEST {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "it unpacks to more than 512 MiB",
            ));
        }
    }
}
