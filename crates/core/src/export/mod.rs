//! Sessions written for others, a file a format.

mod document;
mod escape;
mod front;
pub mod gemini;
pub mod html;
pub mod index;
pub mod json;
mod link;
pub mod markdown;
mod tool;

pub use document::{Agent, Agents, Document, Options};
