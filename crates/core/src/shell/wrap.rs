//! Describes programs that start other programs, as data: which of their words precede the program
//! they start, and which word is a script for a shell.

use std::ops::Range;

use super::word::{base_name, is_assignment, unquote};

/// A program that only changes how another one runs.
struct Wrapper {
    names: &'static [&'static str],
    /// The letters of the options that take the next word as their value.
    short: &'static str,
    /// The long options that do.
    long: &'static [&'static str],
    /// The letters of options with which it starts nothing.
    not: &'static str,
    /// The number of words between its options and the program.
    operands: usize,
    /// Whether assignments may be there too.
    assignments: bool,
    /// Whether the program may be in one word with its arguments.
    line: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &["nohup", "setsid", "builtin", "unbuffer"],
    short: "",
    long: &[],
    not: "",
    operands: 0,
    assignments: false,
    line: false,
};

const WRAPPERS: &[Wrapper] = &[
    PLAIN,
    Wrapper {
        names: &["sudo"],
        short: "CDghpRrTtUu",
        long: &[
            "user",
            "group",
            "host",
            "prompt",
            "chdir",
            "chroot",
            "role",
            "type",
            "other-user",
            "close-from",
            "command-timeout",
        ],
        not: "elvKV",
        assignments: true,
        ..PLAIN
    },
    Wrapper { names: &["doas"], short: "aCu", ..PLAIN },
    Wrapper {
        names: &["env", "genv"],
        short: "uCP",
        long: &["unset", "chdir"],
        assignments: true,
        line: true,
        ..PLAIN
    },
    Wrapper { names: &["time", "gtime"], short: "fo", long: &["format", "output"], ..PLAIN },
    Wrapper {
        names: &["timeout", "gtimeout"],
        short: "ks",
        long: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: &["nice"], short: "n", long: &["adjustment"], ..PLAIN },
    Wrapper { names: &["ionice"], short: "cn", long: &["class", "classdata"], not: "pPu", ..PLAIN },
    Wrapper { names: &["stdbuf"], short: "ioe", long: &["input", "output", "error"], ..PLAIN },
    Wrapper {
        names: &["xargs", "gxargs"],
        short: "adEIJLnPRsS",
        long: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
        ..PLAIN
    },
    Wrapper { names: &["command"], not: "vV", ..PLAIN },
    Wrapper { names: &["exec"], short: "a", ..PLAIN },
    Wrapper {
        names: &["watch"],
        short: "nqs",
        long: &["interval", "equexit", "shotsdir"],
        line: true,
        ..PLAIN
    },
    Wrapper { names: &["caffeinate"], short: "tw", ..PLAIN },
];

impl Wrapper {
    fn named(name: &str) -> Option<&'static Self> {
        WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))
    }

    /// Returns the place of the program that it starts, among the words after its name.
    fn program(&self, words: &[&str]) -> Option<usize> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            if *word == "--" {
                break;
            } else if let Some(long) = word.strip_prefix("--") {
                at += usize::from(self.long.contains(&long));
            } else if let Some(letters) = word.strip_prefix('-').filter(|_| *word != "-") {
                // A value is the rest of the word, or the next one if nothing is left.
                let valued = letters.find(|letter| self.short.contains(letter));
                let flags = &letters[..valued.unwrap_or(letters.len())];
                if flags.contains(|letter| self.not.contains(letter)) {
                    return None;
                }
                at += usize::from(valued.is_some_and(|place| place + 1 == letters.len()));
            } else if *word != "-" {
                at -= 1;
                break;
            }
        }
        if self.assignments {
            at += words.iter().skip(at).take_while(|word| is_assignment(word)).count();
        }
        at += self.operands;
        (at < words.len()).then_some(at)
    }
}

/// The way a shell is given its script.
enum Script {
    /// In the first word that is not an option, if `c` is among the option letters.
    Command,
    /// In the word after one of these.
    After(&'static [&'static str]),
    /// In all words after one of these.
    From(&'static [&'static str]),
    /// In all its words.
    All,
}

const SHELLS: &[(&[&str], Script)] = &[
    (
        &["sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "fish", "bash.exe", "sh.exe"],
        Script::Command,
    ),
    (&["su", "runuser"], Script::After(&["-c", "--command"])),
    (&["powershell", "powershell.exe", "pwsh", "pwsh.exe"], Script::From(&["-c", "-command"])),
    (&["cmd", "cmd.exe"], Script::From(&["/c", "/k"])),
    (&["eval"], Script::All),
];

impl Script {
    /// Returns the words after the name of the shell that contain the script.
    fn place(&self, words: &[&str]) -> Option<Range<usize>> {
        let after = |options: &[&str]| {
            let is_option = |word: &&str| options.contains(&word.to_ascii_lowercase().as_str());
            words.iter().position(is_option).map(|at| at + 1)
        };
        let place = match self {
            Self::Command => command_word(words).map(|at| at..at + 1)?,
            Self::After(options) => after(options).map(|at| at..at + 1)?,
            Self::From(options) => after(options)?..words.len(),
            Self::All => usize::from(words.first() == Some(&"--"))..words.len(),
        };
        (!place.is_empty() && place.end <= words.len()).then_some(place)
    }
}

fn command_word(words: &[&str]) -> Option<usize> {
    let mut command = false;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if let Some(long) = word.strip_prefix("--") {
            at += usize::from(matches!(long, "rcfile" | "init-file"));
        } else if let Some(letters) = word.strip_prefix(['-', '+']) {
            command |= word.starts_with('-') && letters.contains('c');
            at += usize::from(letters.contains(['o', 'O']));
        } else {
            return command.then_some(at - 1);
        }
    }
    None
}

/// Returns the words without an assignment of another shell (`$x = Get-Item y`) before them, or
/// none if only a value is assigned.
pub(super) fn without_assignment<'w>(text: &str, words: &'w [Range<usize>]) -> &'w [Range<usize>] {
    match words {
        [variable, equals, value @ ..]
            if text[variable.clone()].starts_with('$') && &text[equals.clone()] == "=" =>
        {
            let is_value = |word: &Range<usize>| {
                text[word.clone()]
                    .starts_with(|char: char| !char.is_alphabetic() && !"&./\\".contains(char))
            };
            if value.first().is_none_or(is_value) { &[] } else { value }
        }
        words => words,
    }
}

/// Follows wrappers. Returns the place of the word that names the program run in the end, and
/// whether that word is a whole command line.
fn unwrap(words: &[&str]) -> (usize, bool) {
    let mut at = 0;
    let mut line = false;
    while let Some(wrapper) = words.get(at).and_then(|word| Wrapper::named(&base_name(word))) {
        let Some(program) = wrapper.program(&words[at + 1..]) else { break };
        at += 1 + program;
        line = wrapper.line;
    }
    (at, line)
}

/// Returns the name of the program that a command runs in the end.
pub(super) fn program(words: &[&str], depth: usize) -> String {
    let (at, line) = unwrap(words);
    let word = words.get(at).copied().unwrap_or_default();
    if line {
        let line = unquote(word);
        if line.trim().contains(char::is_whitespace)
            && let Some(first) = super::split_at(&line, depth + 1).into_iter().next()
        {
            return first.program;
        }
    }
    base_name(word)
}

/// Returns the script that a command gives to a shell, and the words that contain it.
///
/// Returns `None` if it is only known at run time (`bash -c "$SCRIPT"`).
pub(super) fn script(words: &[&str]) -> Option<(Range<usize>, String)> {
    let (shell, _) = unwrap(words);
    let name = base_name(words.get(shell)?);
    let (_, script) = SHELLS.iter().find(|(names, _)| names.contains(&name.as_str()))?;
    let place = script.place(&words[shell + 1..])?;
    let place = place.start + shell + 1..place.end + shell + 1;
    let text = words[place.clone()].iter().map(|word| unquote(word)).collect::<Vec<_>>().join(" ");
    let whole = words[place.start].trim_matches('"');
    let unknown = place.len() == 1
        && whole.starts_with(['$', '`'])
        && !whole.starts_with("$'")
        && super::scan::expansion_len(whole) == whole.len();
    (!unknown).then_some((place, text))
}
