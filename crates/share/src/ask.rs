//! Asks for a passphrase in the terminal, without showing it.

use std::io::{self, IsTerminal as _, Write};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::error::{Failure, Result};
use crate::key::Key;

/// Asks for the passphrase, twice if `is_new`.
pub(crate) fn passphrase(is_new: bool) -> Result<Key> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::new("there is no key, and no terminal to ask for a passphrase")
            .hint("`--key FILE` or `--passphrase-file FILE` names one"));
    }
    let cannot = |error: io::Error| Failure::new("cannot ask for the passphrase").because(error);
    let given = line("Passphrase: ").map_err(cannot)?;
    let given = given.ok_or_else(|| Failure::new("no passphrase was given"))?;
    if is_new && line("Again: ").map_err(cannot)?.as_ref() != Some(&given) {
        return Err(Failure::new("the passphrases differ"));
    }
    Key::passphrase(given).ok_or_else(|| Failure::new("the passphrase is empty"))
}

/// Reads a line without showing it; none if the user gave up.
fn line(question: &str) -> io::Result<Option<String>> {
    let mut err = io::stderr();
    err.write_all(question.as_bytes())?;
    err.flush()?;
    enable_raw_mode()?;
    let line = typed();
    disable_raw_mode()?;
    err.write_all(b"\n")?;
    line
}

fn typed() -> io::Result<Option<String>> {
    let mut line = String::new();
    loop {
        let key = match read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => key,
            Event::Paste(text) => {
                line.push_str(&text);
                continue;
            }
            _ => continue,
        };
        match key.code {
            KeyCode::Enter => return Ok(Some(line)),
            KeyCode::Esc => return Ok(None),
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Ok(None);
            }
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => line.clear(),
            KeyCode::Backspace => {
                line.pop();
            }
            KeyCode::Char(c) => line.push(c),
            _ => {}
        }
    }
}
