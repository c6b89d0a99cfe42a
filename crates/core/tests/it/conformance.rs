//! Random logs through Gemini CLI's real loader and through ours (`conformance/README.md`).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{export_bytes, files_below};

const PACKAGE: &str = "@google/gemini-cli-core@0.61.0";

/// Runs in the slow suite, for it needs npm and a minute: `.ci/run` asks for it.
#[test]
#[ignore = "needs npm; run with --ignored"]
fn random_logs_load_as_in_gemini_cli() {
    let count = setting("BACKSTORY_CONFORMANCE_COUNT", 4000);
    let seed = setting("BACKSTORY_CONFORMANCE_SEED", 20_261_115);
    let start = setting("BACKSTORY_CONFORMANCE_START", 0);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let Some(package) = install() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (logs, answers) = (folder.path().join("logs"), folder.path().join("answers.jsonl"));
    let node = |script: &str, args: &[&str]| {
        let status = Command::new("node").arg(scripts.join(script)).args(args).status().unwrap();
        assert!(status.success(), "{script} failed");
    };
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (count_arg, seed_arg, start_arg) = (count.to_string(), seed.to_string(), start.to_string());
    node("generate.mjs", &[&text(&logs), &count_arg, &seed_arg, &start_arg]);
    node("load.mjs", &[&text(&package), &text(&logs), &text(&answers)]);

    let ours = folder.path().join("ours");
    std::fs::create_dir(&ours).unwrap();
    for log in files_below(&logs) {
        let (text, accepted) = export_bytes(&std::fs::read(&log).unwrap());
        let name = format!("{}.json", log.file_name().unwrap().to_str().unwrap());
        std::fs::write(ours.join(name), if accepted { &text } else { "null" }).unwrap();
    }
    node("compare.mjs", &[&text(&answers), &text(&ours)]);
}

#[expect(clippy::disallowed_methods, reason = "how a test is told its seed")]
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Installs the package below `target`, once; `None` where npm cannot.
fn install() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gemini-cli-core-0.61.0");
    if folder.join("node_modules/@google/gemini-cli-core/package.json").exists() {
        return Some(folder);
    }
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("package.json"), "{}").unwrap();
    let npm = Command::new("npm")
        .args([
            "install",
            "--omit=optional",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            PACKAGE,
        ])
        .current_dir(&folder)
        .output();
    match npm {
        Ok(output) if output.status.success() => Some(folder),
        Ok(output) => {
            eprintln!(
                "SKIPPED: npm cannot install {PACKAGE}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            None
        }
        Err(error) => {
            eprintln!("SKIPPED: npm is not available ({error}); nothing was compared");
            None
        }
    }
}
