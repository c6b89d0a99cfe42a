//! Lists the demo tree, so that `--demo` needs nothing but the program.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[expect(clippy::disallowed_methods, reason = "how Cargo talks to build scripts")]
fn main() -> Result<(), Box<dyn Error>> {
    let home = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest folder")?)
        .join("demo/home");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no output folder")?);
    let mut files = Vec::new();
    list(&home, &mut files).map_err(|error| format!("{}: {error}", home.display()))?;
    if files.is_empty() {
        return Err(format!("the demo tree `{}` is empty", home.display()).into());
    }
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let below: Vec<_> =
            file.strip_prefix(&home)?.iter().map(|part| part.to_string_lossy()).collect();
        let file = file.to_str().ok_or("the path of the demo tree is not UTF-8")?;
        // Debug writes string literals, whatever is in them.
        writeln!(code, "    ({:?}, include_bytes!({file:?})),", below.join("/"))?;
    }
    code.push_str("]\n");
    fs::write(out.join("demo.rs"), code)?;
    announce(&home);
    Ok(())
}

fn announce(home: &Path) {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", home.display());
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
