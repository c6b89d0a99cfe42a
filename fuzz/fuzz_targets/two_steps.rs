//! A log that is read, grows, and is read on: the same as read once.
//!
//! The first two bytes of the input say where it is cut.
#![no_main]

use backstory_core::agent::gemini::{LogReader, Mode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(([high, low], log)) = bytes.split_first_chunk() else { return };
    let cut = usize::from(u16::from_be_bytes([*high, *low])) % (log.len() + 1);
    for mode in [Mode::Strict, Mode::Lenient] {
        let mut once = LogReader::new(mode);
        let tail = once.feed(log).expect("memory can be read");
        let end = once.offset();
        let once = once.finish(tail.as_ref());

        let mut twice = LogReader::new(mode);
        twice.feed(&log[..cut]).expect("memory can be read");
        let so_far = usize::try_from(twice.offset()).expect("it is short");
        assert!(so_far <= cut);
        let tail = twice.feed(&log[so_far..]).expect("memory can be read");
        assert_eq!(twice.offset(), end);
        let twice = twice.finish(tail.as_ref());

        assert_eq!(format!("{once:?}"), format!("{twice:?}"), "cut at {cut}");
    }
});
