//! Compares Gemini CLI's real loader with ours on random logs (`conformance/README.md`).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{export_bytes, files_below};

const PACKAGE: &str = "@google/gemini-cli-core@0.61.0";

/// Runs in the slow suite, because it needs npm and a minute: `.ci/run` includes it.
#[test]
#[ignore = "needs npm; run with --ignored"]
fn random_logs_load_as_in_gemini_cli() {
    let count = setting("BACKSTORY_CONFORMANCE_COUNT", 4000);
    let seed = setting("BACKSTORY_CONFORMANCE_SEED", 20_261_115);
    let start = setting("BACKSTORY_CONFORMANCE_START", 0);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let package = match unfit_node().map_or_else(install, Err) {
        Ok(package) => package,
        Err(why) => return eprintln!("SKIPPED, nothing was compared: {why}"),
    };
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

/// Returns the reason why the installed node cannot run Gemini CLI's loader. The package requires
/// 20; from 24 on, `readline` also ends lines at U+2028, so the same loader gives other results.
fn unfit_node() -> Option<String> {
    let output = match Command::new("node").arg("--version").output() {
        Ok(output) => output,
        Err(error) => return Some(format!("node is not available ({error})")),
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next().and_then(|n| n.parse().ok());
    match major {
        Some(20..24) => None,
        _ => Some(format!("node is `{version}`; it takes one from 20 to 23")),
    }
}

/// Installs the package below `target`, once. Returns the reason if npm cannot.
fn install() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gemini-cli-core-0.61.0");
    if folder.join("node_modules/@google/gemini-cli-core/package.json").exists() {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("package.json"), "{}").unwrap();
    let flags = ["--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"];
    let mut npm = Command::new("npm");
    npm.arg("install").args(flags).arg(PACKAGE).current_dir(&folder);
    match npm.output() {
        Ok(output) if output.status.success() => Ok(folder),
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("npm cannot install {PACKAGE}: {why}"))
        }
        Err(error) => Err(format!("npm is not available ({error})")),
    }
}
