//! The shells: their scripts, and the form in which they take values.

use std::ffi::OsString;

use clap::ValueEnum;
use clap_complete::engine::CompletionCandidate;

/// Characters besides letters and digits that mean nothing to any shell.
const PLAIN: &str = "-_./:=@%+,";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell", alias = "pwsh")]
    Power,
    Zsh,
}

impl Shell {
    /// Returns the script that makes the shell ask the program.
    pub(crate) fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("scripts/backstory.bash"),
            Self::Elvish => include_str!("scripts/backstory.elv"),
            Self::Fish => include_str!("scripts/backstory.fish"),
            Self::Power => include_str!("scripts/backstory.ps1"),
            Self::Zsh => include_str!("scripts/backstory.zsh"),
        }
    }

    /// Removes the quotes of words that a shell passes as they were typed, and returns the one that
    /// the last word begins with.
    pub(super) fn unquoted(self, mut words: Vec<OsString>) -> (Vec<OsString>, Option<char>) {
        let mut open = None;
        match self {
            Self::Bash => {
                let last = words.last().and_then(|word| word.to_str()?.chars().next());
                open = last.filter(|first| matches!(first, '\'' | '"'));
                for word in &mut words {
                    if let Some(text) = word.to_str() {
                        *word = text.replace(['\'', '"', '\\'], "").into();
                    }
                }
            }
            Self::Power => {
                if let Some(last) = words.last_mut().filter(|last| *last == "\"\"") {
                    last.clear();
                }
            }
            Self::Elvish | Self::Fish | Self::Zsh => {}
        }
        (words, open)
    }

    /// Returns one line per value, with its description after a tab. A value is what the shell
    /// inserts; one that cannot be inserted safely is left out.
    pub(super) fn lines(self, candidates: &[CompletionCandidate], open: Option<char>) -> String {
        let mut out = String::new();
        for candidate in candidates {
            let value = candidate.get_value().to_str().filter(|v| !v.contains(char::is_control));
            let Some(value) = value.and_then(|value| self.quoted(value, open)) else { continue };
            out.push_str(&value);
            let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
            if let Some(help) = help.lines().next() {
                out.push('\t');
                out.push_str(help);
            }
            out.push('\n');
        }
        out
    }

    /// Quotes a value for the shells that insert it as it is; the others quote by themselves.
    fn quoted(self, value: &str, open: Option<char>) -> Option<String> {
        let is_plain = |c: char| c.is_alphanumeric() || PLAIN.contains(c);
        match (self, open) {
            (Self::Bash, Some(_)) => {
                (!value.contains(['\'', '"', '\\', '$', '`', '!'])).then(|| value.to_owned())
            }
            (Self::Bash, None) => {
                let mut out = String::new();
                for (at, c) in value.char_indices() {
                    let is_home = c == '~' && at == 0 && value.starts_with("~/");
                    if !is_plain(c) && !is_home {
                        out.push('\\');
                    }
                    out.push(c);
                }
                Some(out)
            }
            (Self::Power, _) if !value.chars().all(is_plain) => {
                Some(format!("'{}'", value.replace('\'', "''")))
            }
            _ => Some(value.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(shell: Shell, value: &str, open: Option<char>) -> String {
        shell.lines(&[CompletionCandidate::new(value)], open)
    }

    #[test]
    fn a_value_that_a_shell_would_run_is_quoted() {
        let hostile = "$(touch x) `y`; z";
        assert_eq!(one(Shell::Bash, hostile, None), "\\$\\(touch\\ x\\)\\ \\`y\\`\\;\\ z\n");
        assert_eq!(one(Shell::Bash, hostile, Some('"')), "");
        assert_eq!(one(Shell::Bash, "my project", Some('\'')), "my project\n");
        assert_eq!(one(Shell::Power, "it's $x", None), "'it''s $x'\n");
        assert_eq!(one(Shell::Fish, hostile, None), format!("{hostile}\n"));
    }

    #[test]
    fn a_value_with_control_characters_is_left_out() {
        for shell in Shell::value_variants() {
            assert_eq!(one(*shell, "a\nb", None), "");
            assert_eq!(one(*shell, "a\u{1b}[2J", None), "");
        }
    }

    #[test]
    fn words_lose_the_quotes_that_bash_leaves_on_them() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let (plain, open) = Shell::Bash.unquoted(words(&["-p", "'my pro"]));
        assert_eq!((plain, open), (words(&["-p", "my pro"]), Some('\'')));
        let (plain, open) = Shell::Power.unquoted(words(&["show", "\"\""]));
        assert_eq!((plain, open), (words(&["show", ""]), None));
    }
}
