//! The command line.

use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  backstory share --new-key ~/share.key            create a key, to be copied to the other machines
  backstory share ~/Sync/backstory --key ~/share.key
  backstory share /mnt/stick/backstory             asks for a passphrase

Run it on every machine, again and again: by hand, or from cron or a timer (docs/share.md).";

/// Keep one history on several machines, through any folder that all of them see
///
/// Writes the sessions of this machine into the folder, encrypted, and adds those of the others to the
/// archive. Each machine writes only its own files, so that the folder may be synced or carried by anything, at
/// any time.
#[derive(Debug, clap::Parser)]
#[command(name = "backstory-share", bin_name = "backstory share", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder that the machines share
    #[arg(required_unless_present = "new_key")]
    pub(crate) folder: Option<PathBuf>,

    /// Encrypt with the key in this file, an age identity; it must be the same on all machines
    #[arg(long, value_name = "FILE", conflicts_with = "passphrase_file")]
    pub(crate) key: Option<PathBuf>,

    /// Encrypt with the passphrase on the first line of this file [default: ask for one]
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,

    /// Create a file with a new key, and do nothing else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["folder", "key", "passphrase_file"])]
    pub(crate) new_key: Option<PathBuf>,

    /// Print one JSON document with a `schema` field, for programs
    #[arg(long)]
    pub(crate) json: bool,

    /// Print errors and warnings only
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The archive; `backstory share` sets it
    #[arg(long, value_name = "FILE", env = "BACKSTORY_ARCHIVE", hide = true)]
    pub(crate) archive: Option<PathBuf>,

    /// The program that syncs and merges; `backstory share` sets it
    #[arg(long, value_name = "FILE", env = "BACKSTORY_PROGRAM", hide = true)]
    pub(crate) program: Option<PathBuf>,

    /// The config file; `backstory share` sets it
    #[arg(long, value_name = "FILE", env = "BACKSTORY_CONFIG", hide = true)]
    pub(crate) config: Option<PathBuf>,
}
