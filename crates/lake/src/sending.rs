//! The arguments of commands that send rows.

use clap::Args;

/// A place that rows are sent to.
#[derive(Debug, Args)]
pub(crate) struct Sending {
    /// A folder, `s3://`, `gs://` or `az://` for `export`; `postgres://` for `push`
    #[arg(value_name = "URL", env = "BACKSTORY_LAKE")]
    pub(crate) url: String,
    /// Print every row that would leave, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Allow connections without TLS to other machines
    #[arg(long)]
    pub(crate) insecure: bool,
}
