//! Whatever happens to the folder, nothing is lost and nothing is half read.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::support::Lab;

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const B: &str = "bbbbbbbb-0000-4000-8000-000000000002";

#[test]
fn cut_damaged_and_missing_files_are_written_again() {
    let lab = Lab::new();
    let (laptop, desktop) = (lab.machine("laptop"), lab.machine("desktop"));
    laptop.session(A, &["mend the lantern"]);
    laptop.share();
    let name = lab.files().into_keys().next().unwrap();
    let path = lab.folder().join(&name);
    let good = fs::read(&path).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bad in [&good[..good.len() / 2], &[], &flipped] {
        fs::write(&path, bad).unwrap();
        let report = desktop.share();
        let problem = format!("`{name}` is incomplete or damaged; it is read when it is whole");
        assert_eq!(report["problems"], json!([problem]));
        assert_eq!(desktop.ids(), Vec::<String>::new());
    }
    // Its own machine notices, and replaces it.
    let report = laptop.share();
    assert_eq!((&report["sent"], &report["problems"]), (&json!(1), &json!([])));
    assert!(!path.exists());
    desktop.share();
    assert_eq!(desktop.ids(), [A]);
    // So it does if a file is gone.
    for name in lab.files().into_keys() {
        fs::remove_file(lab.folder().join(name)).unwrap();
    }
    laptop.share();
    let third = lab.machine("third");
    third.share();
    assert_eq!(third.ids(), [A]);
}

#[test]
fn files_of_others_are_left_alone() {
    let lab = Lab::new();
    let laptop = lab.machine("laptop");
    laptop.session(A, &["mend the lantern"]);
    laptop.share();
    let name = lab.files().into_keys().next().unwrap();
    let conflict = name.replace(".age", ".sync-conflict-20260814-163000-ABCDEFG.age");
    let foreign = format!("{}-{}.age", "f".repeat(32), "0".repeat(32));
    for other in ["notes.txt", &conflict, ".stfolder", &foreign] {
        fs::write(lab.folder().join(other), "something else").unwrap();
    }
    let before = lab.files();
    let report = laptop.share();
    // The one that has the name of a parcel is reported.
    assert_eq!(report["problems"].as_array().unwrap().len(), 1);
    assert_eq!(lab.files(), before);
}

#[test]
fn machines_at_once_lose_nothing() {
    let lab = Lab::new();
    let machines = ["laptop", "desktop", "server"].map(|name| lab.machine(name));
    let ids = [A, B, "cccccccc-0000-4000-8000-000000000003"];
    for (machine, id) in machines.iter().zip(ids) {
        machine.session(id, &["hello"]);
    }
    let (folder, key) = (lab.folder(), lab.key("key"));
    for _ in 0..2 {
        let runs: Vec<_> = machines
            .iter()
            .chain(&machines)
            .map(|machine| {
                let words = ["share", folder.to_str().unwrap(), "--key", &key, "-q"];
                machine.command(&words).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for run in runs {
            let output = run.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    for machine in &machines {
        assert_eq!(machine.ids(), ids);
        assert_eq!(machine.json(&["usage"])["total"]["total"], json!(330));
    }
}
