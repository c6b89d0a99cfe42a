//! The pages, one per file.

mod activity;
mod attention;
mod files;
mod health;
mod heatmap;
mod insights;
mod list;
mod over_time;
mod overview;
mod projects;
mod search;
mod session;
mod sessions;
mod usage;

pub(crate) use activity::{commands, tools};
pub(crate) use files::files;
pub(crate) use health::health;
pub(crate) use insights::insights;
pub(crate) use overview::overview;
pub(crate) use projects::projects;
pub(crate) use search::{LONGEST, search};
pub(crate) use session::{export, name, session, session_part, tags};
pub(crate) use sessions::sessions;
pub(crate) use usage::usage;
