//! Waits for keys.

use std::io;
use std::time::Duration;

/// Waits until there may be input, at most for a time. Fails if the terminal is gone: crossterm would try to
/// read from it forever.
#[cfg(unix)]
pub(super) fn wait(longest: Duration) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = io::stdin();
    let mut terminal = [PollFd::new(&stdin, PollFlags::IN)];
    let longest = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
    match poll(&mut terminal, Some(&longest)) {
        // The size of the terminal has changed.
        Err(rustix::io::Errno::INTR) => return Ok(()),
        other => other?,
    };
    if terminal[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn wait(longest: Duration) -> io::Result<()> {
    crossterm::event::poll(longest).map(|_| ())
}
