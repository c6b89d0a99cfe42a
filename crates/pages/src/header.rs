//! Parses the parts of a database header that matter here.

use crate::checksum;

/// The number of bytes that SQLite reads of a database to learn its format.
pub(crate) const LEN: usize = 100;

/// The smallest page that SQLite supports.
pub(crate) const MIN_PAGE: usize = 512;

/// The position of the byte that counts the reserved bytes per page.
const RESERVED: usize = 20;

/// The format of a database, as given by its first bytes.
///
/// It is fixed when the database is created, see [`Header::may_become`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) page_size: usize,
    /// Whether eight bytes of each page are reserved, which contain its checksum.
    pub(crate) checked: bool,
}

impl Header {
    /// Reads a header from the first bytes of a file. Returns `None` if they are not those of a
    /// database.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..LEN)?.strip_prefix(b"SQLite format 3\0")?;
        // Big-endian, and 1 means 65536, which has no room in two bytes.
        let page_size = match u16::from_be_bytes([bytes[0], bytes[1]]) {
            1 => 65536,
            size => usize::from(size),
        };
        let reserved = usize::from(bytes[RESERVED - 16]);
        (page_size >= MIN_PAGE && page_size.is_power_of_two())
            .then_some(Self { page_size, checked: reserved == checksum::LEN })
    }

    /// Returns whether a database may be overwritten by one with another header.
    ///
    /// Pages can reach the file before the header that describes them, so they are written by the
    /// old one. A checksum would then overwrite the end of a page that does not reserve room for it,
    /// or be missing from one that does.
    pub(crate) fn may_become(old: Option<Self>, new: Option<Self>) -> bool {
        let checked = |header: Option<Self>| header.is_some_and(|header| header.checked);
        old.is_none() || old == new || !(checked(old) || checked(new))
    }

    /// Returns whether the first page of a database, which has this header, is undamaged.
    ///
    /// Damage to the count of reserved bytes would turn off all checks. A page that would match its
    /// checksum if the count were right is therefore damaged, too.
    pub(crate) fn vouches_for(self, page: &mut [u8]) -> bool {
        if self.checked {
            return checksum::matches(page, 1);
        }
        let Some(reserved) = page.get_mut(RESERVED) else { return true };
        let count = std::mem::replace(reserved, 8);
        let matches = checksum::matches(page, 1);
        page[RESERVED] = count;
        !matches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(size: u16, reserved: u8) -> Vec<u8> {
        let mut bytes = b"SQLite format 3\0".to_vec();
        bytes.extend(size.to_be_bytes());
        bytes.extend([1, 1, reserved]);
        bytes.resize(512, 0);
        bytes
    }

    #[test]
    fn a_header_gives_page_size_and_checks() {
        let header = |page_size, checked| Some(Header { page_size, checked });
        assert_eq!(Header::parse(&bytes(4096, 8)), header(4096, true));
        assert_eq!(Header::parse(&bytes(1, 0)), header(65536, false));
        assert_eq!(Header::parse(&bytes(512, 16)), header(512, false));
    }

    #[test]
    fn other_bytes_are_not_a_header() {
        assert_eq!(Header::parse(&[]), None);
        assert_eq!(Header::parse(&[0; 4096]), None);
        assert_eq!(Header::parse(&bytes(4096, 8)[..99]), None);
        assert_eq!(Header::parse(&bytes(256, 8)), None);
        assert_eq!(Header::parse(&bytes(4097, 8)), None);
    }

    #[test]
    fn a_format_with_checksums_is_for_life() {
        let header = |page_size, checked| Some(Header { page_size, checked });
        assert!(Header::may_become(None, header(4096, true)));
        assert!(Header::may_become(header(4096, true), header(4096, true)));
        assert!(Header::may_become(header(4096, false), header(512, false)));
        assert!(Header::may_become(header(4096, false), None));
        assert!(!Header::may_become(header(4096, false), header(4096, true)));
        assert!(!Header::may_become(header(4096, true), header(4096, false)));
        assert!(!Header::may_become(header(4096, true), header(8192, true)));
        assert!(!Header::may_become(header(4096, true), None));
    }

    #[test]
    fn damage_to_the_count_of_reserved_bytes_is_found() {
        let mut page = bytes(512, 8);
        checksum::stamp(&mut page, 1);
        let sound = page.clone();
        for reserved in 0..=255 {
            page[RESERVED] = reserved;
            let header = Header::parse(&page).unwrap();
            assert_eq!(header.vouches_for(&mut page), reserved == 8, "{reserved}");
            assert_eq!(page[RESERVED], reserved);
        }
        page.copy_from_slice(&sound);
        page[RESERVED] = 0;
        page[511] ^= 1;
        assert!(Header::parse(&page).unwrap().vouches_for(&mut page), "no checksum at all");
    }
}
