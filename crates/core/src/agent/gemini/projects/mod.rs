//! Maps Gemini CLI's folders to projects.

mod folder;
mod hints;
pub(super) mod registry;

pub use folder::folder_project;
pub(super) use folder::{learn, marker};
pub(super) use hints::hints;
pub(super) use registry::enter as enter_project;
