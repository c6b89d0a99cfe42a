//! Reuses memory for reading, because there are thousands of files and fresh memory costs more than
//! reading into it.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// The maximum memory to keep for the next file; one with a line of a hundred megabytes is rare.
const MOST: usize = 4 << 20;

thread_local! {
    static SPARE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes that are returned to their thread when dropped. Their initial content is arbitrary.
#[derive(Debug)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    pub(crate) fn new() -> Self {
        Self(SPARE.take())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        SPARE.with_borrow_mut(|spare| {
            if (spare.capacity()..=MOST).contains(&self.0.capacity()) {
                *spare = std::mem::take(&mut self.0);
            }
        });
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}
