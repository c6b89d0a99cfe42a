//! The commands that messages suggest. They need the flags of this run that decide which sessions there are:
//! after `backstory search x --demo`, a suggested `backstory show 3f2a` would find nothing.

use std::path::Path;

use crate::shell_word::quote;

/// The name by which messages call this program.
const PROGRAM: &str = "backstory";

/// The flags of a suggested command that is about other sessions, or about none: it gets no further flags.
const OWN: [&str; 5] = ["--from", "--archive", "--demo", "--help", "-h"];

/// The flags that the next command needs to see the same sessions.
#[derive(Debug, Clone, Default)]
pub(crate) struct FollowUp {
    /// The flags, each after a blank, quoted for a shell.
    flags: String,
}

impl FollowUp {
    /// Creates the flags from paths with the flags that name them; `home` is written as `~`.
    pub(crate) fn new<'a>(
        paths: impl Iterator<Item = (&'static str, &'a Path)>,
        is_demo: bool,
        home: Option<&Path>,
    ) -> Self {
        let paths = paths.map(|(flag, path)| format!(" {flag} {}", word(path, home)));
        let demo = is_demo.then(|| " --demo".to_owned());
        Self { flags: paths.chain(demo).collect() }
    }

    /// Returns the command line with these arguments that sees the same sessions.
    pub(crate) fn command(&self, arguments: &str) -> String {
        let is_own = arguments.split_whitespace().any(|word| OWN.contains(&word));
        let flags = if is_own { "" } else { &self.flags };
        let blank = if arguments.is_empty() { "" } else { " " };
        format!("{PROGRAM}{flags}{blank}{arguments}")
    }

    /// Adds the flags to every command of this program that a message quotes in backticks.
    pub(crate) fn complete(&self, message: &str) -> String {
        let mut out = String::new();
        // Every second piece is between backticks.
        for (n, piece) in message.split('`').enumerate() {
            if n > 0 {
                out.push('`');
            }
            match piece.strip_prefix(PROGRAM).filter(|_| n % 2 == 1) {
                Some("") => out.push_str(&self.command("")),
                Some(rest) if rest.starts_with(' ') => out.push_str(&self.command(&rest[1..])),
                _ => out.push_str(piece),
            }
        }
        out
    }
}

/// Writes a path as one word; a shell replaces an unquoted `~` by the home folder.
fn word(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if cfg!(unix) && !below.as_os_str().is_empty() => {
            format!("~/{}", quote(below.as_os_str()))
        }
        _ => quote(path.as_os_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow_up(is_demo: bool, from: &[&str], archive: Option<&str>) -> FollowUp {
        let from = from.iter().map(|path| ("--from", Path::new(*path)));
        let archive = archive.map(|path| ("--archive", Path::new(path)));
        FollowUp::new(from.chain(archive), is_demo, Some(Path::new("/home/dev")))
    }

    #[test]
    fn a_suggested_command_sees_the_same_sessions() {
        let demo = follow_up(true, &[], None);
        assert_eq!(demo.command("show 3f2a"), "backstory --demo show 3f2a");
        assert_eq!(demo.command(""), "backstory --demo");
        let elsewhere = follow_up(false, &["/a b", "c"], Some("it's.db"));
        assert_eq!(
            elsewhere.command("doctor"),
            r"backstory --from '/a b' --from c --archive 'it'\''s.db' doctor"
        );
        let at_home = follow_up(false, &["/home/dev"], Some("/home/dev/a b/c.db"));
        let (archive, from) = ("--archive ~/'a b/c.db'", "--from /home/dev");
        #[cfg(unix)]
        assert_eq!(at_home.command("doctor"), format!("backstory {from} {archive} doctor"));
    }

    #[test]
    fn only_quoted_commands_of_this_program_are_completed() {
        let demo = follow_up(true, &[], None);
        for (message, wanted) in [
            ("`backstory sync` creates it", "`backstory --demo sync` creates it"),
            (
                "`backstory`, or `backstory doctor`",
                "`backstory --demo`, or `backstory --demo doctor`",
            ),
            ("use backstory show", "use backstory show"),
            ("`backstory-lake` and `backstory.toml`", "`backstory-lake` and `backstory.toml`"),
            ("`backstory --from FOLDER`", "`backstory --from FOLDER`"),
            ("`backstory search --help`", "`backstory search --help`"),
            ("no session is called `x", "no session is called `x"),
        ] {
            assert_eq!(demo.complete(message), wanted);
        }
        let usual = follow_up(false, &[], None);
        assert_eq!(usual.complete("`backstory sync` creates it"), "`backstory sync` creates it");
    }
}
