//! The projects that the config file keeps out of the archive.

use backstory_core::project::Project;
use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::error::{Failure, Result};

/// The projects that must stay out of the archive.
#[derive(Clone)]
pub(crate) struct Exclude {
    patterns: GlobSet,
    /// The patterns as written in the config file.
    pub(crate) text: String,
}

impl Exclude {
    pub(crate) fn new(patterns: &[String]) -> Result<Self> {
        let bad = |error: globset::Error| {
            Failure::new("`exclude` in the config file")
                .because(error)
                .hint("write patterns for paths or names: `/home/me/private/**`, `secret-*`")
        };
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(Glob::new(pattern).map_err(bad)?);
        }
        Ok(Self { patterns: set.build().map_err(bad)?, text: patterns.join("\n") })
    }
}

impl backstory_core::archive::Exclude for Exclude {
    fn takes(&self, project: &Project) -> bool {
        self.patterns.is_match(&project.name)
            || project.path.as_deref().is_some_and(|path| self.patterns.is_match(path))
    }
}
