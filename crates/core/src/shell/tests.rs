//! Tests a table of hard cases, and properties of any text.

use proptest::prelude::*;

use super::{MAX_TEXT, SimpleCommand, split};

/// A text, and the text and program of each command in it. The program is left out (`""`) if it is
/// the first word.
type Case = (&'static str, &'static [(&'static str, &'static str)]);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // The commands of the benchmark's corpus.
    ("cargo test --workspace 2>&1 | tail -n 40", &[("cargo test --workspace", ""), ("tail -n 40", "")]),
    ("git status && git diff --stat", &[("git status", ""), ("git diff --stat", "")]),
    ("npm run build; npm test", &[("npm run build", ""), ("npm test", "")]),
    ("rg -n 'TODO' src | head", &[("rg -n 'TODO' src", ""), ("head", "")]),
    ("ls -la && pwd", &[("ls -la", ""), ("pwd", "")]),
    ("python3 -m pytest -q tests/ || true", &[("python3 -m pytest -q tests/", ""), ("true", "")]),
    ("FOO=1 make -j2 all", &[("make -j2 all", "")]),
    ("docker compose ps", &[("docker compose ps", "")]),

    // Nothing to run.
    ("", &[]),
    (" \n\t ;; \n", &[]),
    ("# only a comment && ls", &[]),
    ("FOO=1", &[]),
    ("FOO=1 BAR='x y' BAZ=", &[]),
    ("FOO=1 > out", &[]),
    ("> out", &[]),
    ("arr=(a b); arr+=(c)", &[]),
    ("[[ -f x && -d y ]]", &[]),
    ("(( i++ ))", &[]),

    // Lists and pipelines.
    ("a", &[("a", "")]),
    ("  a  ", &[("a", "")]),
    ("a|b|&c", &[("a", ""), ("b", ""), ("c", "")]),
    ("a | b |& c", &[("a", ""), ("b", ""), ("c", "")]),
    ("a&b;c|d&&e||f", &[("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", ""), ("f", "")]),
    ("a\nb\n\nc", &[("a", ""), ("b", ""), ("c", "")]),
    ("a\r\nb\r\n", &[("a", ""), ("b", "")]),
    ("a &&\n  b |\n  c", &[("a", ""), ("b", ""), ("c", "")]),
    ("npm run dev &", &[("npm run dev", "")]),
    ("sleep 1 & wait", &[("sleep 1", ""), ("wait", "")]),
    ("! grep x f", &[("grep x f", "")]),
    ("if ! grep -q x f; then y; fi", &[("grep -q x f", ""), ("y", "")]),
    ("cd a && (make; make test) || echo fail", &[("cd a", ""), ("make", ""), ("make test", ""), ("echo fail", "")]),
    ("{ a; b; }", &[("a", ""), ("b", "")]),
    ("{ a; b; } > out 2>&1 && c", &[("a", ""), ("b", ""), ("c", "")]),
    ("((1 + 2)) && (a; (b))", &[("a", ""), ("b", "")]),
    ("a # b && c\nd", &[("a", ""), ("d", "")]),
    ("echo a#b # c", &[("echo a#b", "")]),

    // Quotes and escapes.
    (r#"echo "a && b""#, &[(r#"echo "a && b""#, "")]),
    (r"echo 'a; b' \; c\|d", &[(r"echo 'a; b' \; c\|d", "")]),
    ("git log --format='%h && %s' | head", &[("git log --format='%h && %s'", ""), ("head", "")]),
    (r"find . -name '*.o' -exec rm {} \;", &[(r"find . -name '*.o' -exec rm {} \;", "")]),
    (r"find . \( -name a -o -name b \) -exec sh -c 'x; y' \; -print | wc -l", &[(r"find . \( -name a -o -name b \) -exec sh -c 'x; y' \; -print", ""), ("wc -l", "")]),
    ("echo $'it\\'s; x' && y", &[("echo $'it\\'s; x'", ""), ("y", "")]),
    ("echo \"it's\" 'say \"hi\"; x'; y", &[("echo \"it's\" 'say \"hi\"; x'", ""), ("y", "")]),
    ("git commit -m \"one\n\ntwo && three\" && git push", &[("git commit -m \"one\n\ntwo && three\"", ""), ("git push", "")]),
    ("awk '{ print $1; x = \"a\" }' f | sort", &[("awk '{ print $1; x = \"a\" }' f", ""), ("sort", "")]),
    ("sed -e 's/a|b/c/' -e '/x/{n;d}' f", &[("sed -e 's/a|b/c/' -e '/x/{n;d}' f", "")]),
    ("cargo build \\\n  --release \\\n  && ls", &[("cargo build --release", ""), ("ls", "")]),
    ("docker run --rm \\\n\t-v \"$PWD:/x\" \\\n\timg", &[("docker run --rm -v \"$PWD:/x\" img", "")]),
    ("echo \"a \\\nb\"", &[("echo \"a b\"", "")]),
    ("curl -X POST -d '{\"a\": [1, 2]}' \"http://h/p?a=1&b=2\"", &[("curl -X POST -d '{\"a\": [1, 2]}' \"http://h/p?a=1&b=2\"", "")]),

    // Redirections, before, between and after the words.
    ("cmd > out 2> err < in", &[("cmd", "")]),
    ("cmd 2>&1 arg", &[("cmd arg", "")]),
    ("cmd a > out b >> out c", &[("cmd a b c", "")]),
    ("> out cmd a 2>x b", &[("cmd a b", "")]),
    ("a && b > x more", &[("a", ""), ("b more", "")]),
    ("foo &> out; bar &>> out; baz >| x; qux 2>&-", &[("foo", ""), ("bar", ""), ("baz", ""), ("qux", "")]),
    ("ls -la 2>/dev/null || true", &[("ls -la", ""), ("true", "")]),
    ("cmd > >(tee log)", &[("cmd", ""), ("tee log", "")]),
    ("cmd 2> >(grep -v x >&2) | y", &[("cmd", ""), ("grep -v x", ""), ("y", "")]),
    ("diff <(sort a) <(sort b)", &[("diff <(sort a) <(sort b)", ""), ("sort a", ""), ("sort b", "")]),
    ("cmd > \"$(mktemp)\"", &[("cmd", ""), ("mktemp", "")]),
    ("exec 3>&1", &[("exec", "")]),
    ("bc <<< '1 + 2' | cat", &[("bc", ""), ("cat", "")]),
    ("grep x <<< \"$(date)\"", &[("grep x", ""), ("date", "")]),
    ("foo 2>&1 >/dev/null | tee -a log", &[("foo", ""), ("tee -a log", "")]),

    // Heredocs.
    ("cat <<'EOF' > x.py\nimport os; $(not) && x\nprint('it')\nEOF", &[("cat", "")]),
    ("cat <<EOF\na $(date) b `id -u` \\$(no)\nEOF", &[("cat", ""), ("date", ""), ("id -u", "")]),
    ("cat > f <<\"E O\"\n$(no)\nE O\nls", &[("cat", ""), ("ls", "")]),
    ("cat <<-EOF | grep x\n\ta\n\tEOF\nls", &[("cat", ""), ("grep x", ""), ("ls", "")]),
    ("python3 - <<'PY' && echo ok\nimport a; b()\nPY\nls", &[("python3 -", ""), ("echo ok", ""), ("ls", "")]),
    ("cat <<A <<B; ls\n1\nA\n2\nB\npwd", &[("cat", ""), ("ls", ""), ("pwd", "")]),
    ("git commit -m \"$(cat <<'EOF'\nmsg (x) \"it's\nEOF\n)\" && git push", &[("git commit -m \"$(cat <<'EOF'\nmsg (x) \"it's\nEOF\n)\"", ""), ("cat", ""), ("git push", "")]),
    ("cat <<'EOF' >> f\nthe end is missing && x", &[("cat", "")]),
    ("psql <<SQL\nselect '$(now)';\nSQL", &[("psql", ""), ("now", "")]),
    ("tee a.sh <<'X' b.sh\nls\nX", &[("tee a.sh b.sh", "")]),

    // Substitutions.
    ("echo $(date)", &[("echo $(date)", ""), ("date", "")]),
    ("echo \"a && $(b \"c $(d)\")\"", &[("echo \"a && $(b \"c $(d)\")\"", ""), ("b \"c $(d)\"", ""), ("d", "")]),
    ("FOO=$(date) BAR=x make", &[("make", ""), ("date", "")]),
    ("x=$(a | b)", &[("a", ""), ("b", "")]),
    ("arr=(a $(ls) b)", &[("ls", "")]),
    ("echo `hostname`", &[("echo `hostname`", ""), ("hostname", "")]),
    ("x=`foo \\`bar\\``", &[("foo `bar`", ""), ("bar", "")]),
    ("echo ${x:-$(hostname)} ${y//a/b} \"${z[@]}\" ${#w}", &[("echo ${x:-$(hostname)} ${y//a/b} \"${z[@]}\" ${#w}", ""), ("hostname", "")]),
    ("echo $((1 + $(nproc))) $[2]", &[("echo $((1 + $(nproc))) $[2]", ""), ("nproc", "")]),
    ("kill $(lsof -t -i:80) 2>/dev/null; x", &[("kill $(lsof -t -i:80)", ""), ("lsof -t -i:80", ""), ("x", "")]),
    ("[[ $(a) == $(b) ]] && c", &[("a", ""), ("b", ""), ("c", "")]),
    ("echo '$(no)' \\$\\(no\\)", &[("echo '$(no)' \\$\\(no\\)", "")]),

    // Tests and control structures.
    ("[ -f x ] && echo y", &[("[ -f x ]", ""), ("echo y", "")]),
    ("[ \"$(a)\" = b ] || test -d c", &[("[ \"$(a)\" = b ]", ""), ("a", ""), ("test -d c", "")]),
    ("if [[ $x =~ ^a(b|c)$ ]]; then y; fi", &[("y", "")]),
    ("if grep -q x f; then sed -i s/x/y/ f; fi", &[("grep -q x f", ""), ("sed -i s/x/y/ f", "")]),
    ("if a; then b; elif c; then d; else e; fi", &[("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", "")]),
    ("for f in $(ls *.rs); do wc -l \"$f\"; done", &[("ls *.rs", ""), ("wc -l \"$f\"", "")]),
    ("for f in *.txt; do\n  cat $f\ndone | sort", &[("cat $f", ""), ("sort", "")]),
    ("for ((i = 0; i < 3; i++)); do echo $i; done", &[("echo $i", "")]),
    ("while read -r l; do echo $l; done < <(ls)", &[("read -r l", ""), ("echo $l", ""), ("ls", "")]),
    ("until curl -s h; do sleep 1; done && ok", &[("curl -s h", ""), ("sleep 1", ""), ("ok", "")]),
    ("while true; do a; done", &[("true", ""), ("a", "")]),
    ("case $x in a|b) foo;; *.[ch]) bar ;& \"c d\") ;; (*) baz; esac; after", &[("foo", ""), ("bar", ""), ("baz", ""), ("after", "")]),
    ("case \"$(uname)\" in\n  Linux*)\n    a\n    ;;\n  *) b ;;\nesac", &[("uname", ""), ("a", ""), ("b", "")]),
    ("select x in a b; do echo $x; done", &[("echo $x", "")]),
    ("f() { ls; }; function g { pwd; }; h () ( id ); f", &[("ls", ""), ("pwd", ""), ("id", ""), ("f", "")]),
    ("time { a; b; }", &[("a", ""), ("b", "")]),
    ("time (a; b)", &[("a", ""), ("b", "")]),
    ("coproc W { a; b; }", &[("a", ""), ("b", "")]),
    ("export A=$(a) B=1 && node x", &[("export A=$(a) B=1", ""), ("a", ""), ("node x", "")]),
    ("local x=1; declare -A m=([a]=1); unset x", &[("local x=1", ""), ("declare -A m=([a]=1)", ""), ("unset x", "")]),
    ("set -euo pipefail; shopt -s extglob; rm !(*.o|*.a) @(x|y)", &[("set -euo pipefail", ""), ("shopt -s extglob", ""), ("rm !(*.o|*.a) @(x|y)", "")]),
    ("ls *.{rs,toml} {1..3} ?[a-z]*", &[("ls *.{rs,toml} {1..3} ?[a-z]*", "")]),
    ("trap 'rm -f x; y' EXIT", &[("trap 'rm -f x; y' EXIT", "")]),

    // Texts that other parsers silently misread.
    ("if a; then\n  d=$PWD/x/$t/y/z\n  b\nfi", &[("a", ""), ("b", "")]),
    ("case $x in\n  */*) p=$PWD/$1 ;;\n  *) p=$(w $1) ;;\nesac", &[("w $1", "")]),
    ("f=`a b`/c d", &[("d", ""), ("a b", "")]),
    ("a= b=\nif c | d\nthen e\nfi", &[("c", ""), ("d", ""), ("e", "")]),
    ("for i do a $i; done; for i; do b; done", &[("a $i", ""), ("b", "")]),
    ("gpg -x | tar xf -\nelse_x", &[("gpg -x", ""), ("tar xf -", ""), ("else_x", "")]),
    ("case $x in # it's\n  # don't\n  a) b ;; # y)\n  c) d ;;\nesac", &[("b", ""), ("d", "")]),
    ("case $x\nin a) b;; esac", &[("b", "")]),
    ("declare -A x=() y=(a); ls", &[("declare -A x=() y=(a)", ""), ("ls", "")]),
    ("grep x f > \\\n  out || y", &[("grep x f", ""), ("y", "")]),
    ("echo >&2 'W:' \"$@\"", &[("echo 'W:' \"$@\"", "")]),

    // The program: paths, quotes, variables.
    ("/usr/bin/git status", &[("/usr/bin/git status", "git")]),
    ("\"./run.sh\" a; ~/bin/x b; ../y/", &[("\"./run.sh\" a", "run.sh"), ("~/bin/x b", "x"), ("../y/", "y")]),
    ("\\ls; 'git' st; g\"i\"t", &[("\\ls", "ls"), ("'git' st", "git"), ("g\"i\"t", "git")]),
    ("'/opt/my app/run' x", &[("'/opt/my app/run' x", "run")]),
    ("$CMD args; \"$CMD\"; ${CMD} x", &[("$CMD args", "$CMD"), ("\"$CMD\"", "$CMD"), ("${CMD} x", "$CMD")]),
    ("$HOME/bin/x a; \"${D:-/usr/bin}/y\"", &[("$HOME/bin/x a", "x"), ("\"${D:-/usr/bin}/y\"", "y")]),
    ("$(which a/b) -l", &[("$(which a/b) -l", "$(which a/b)"), ("which a/b", "")]),
    (". ./env.sh; : x; /", &[(". ./env.sh", ""), (": x", ""), ("/", "/")]),

    // Wrappers are replaced by the program they start.
    ("sudo apt-get install -y x", &[("sudo apt-get install -y x", "apt-get")]),
    ("sudo -u root -E FOO=1 /bin/ls; sudo -uroot -- id; sudo --user root id", &[("sudo -u root -E FOO=1 /bin/ls", "ls"), ("sudo -uroot -- id", "id"), ("sudo --user root id", "id")]),
    ("sudo -l; sudo -i; doas -u x y", &[("sudo -l", ""), ("sudo -i", ""), ("doas -u x y", "y")]),
    ("env; env A=1 B='x y' c; env -i A=1 c; env -u A --chdir /x c", &[("env", ""), ("env A=1 B='x y' c", "c"), ("env -i A=1 c", "c"), ("env -u A --chdir /x c", "c")]),
    ("env -S 'python3 -u' x", &[("env -S 'python3 -u' x", "python3")]),
    ("time cargo build; time -p make; /usr/bin/time -f '%e' -o t x", &[("time cargo build", "cargo"), ("time -p make", "make"), ("/usr/bin/time -f '%e' -o t x", "x")]),
    ("timeout 60 npm test; timeout -s KILL -k 5 10s x; timeout --signal=INT 5 y", &[("timeout 60 npm test", "npm"), ("timeout -s KILL -k 5 10s x", "x"), ("timeout --signal=INT 5 y", "y")]),
    ("nohup ./server > log 2>&1 &", &[("nohup ./server", "server")]),
    ("nice -n 10 a; nice -10 b; ionice -c2 -n 0 c; stdbuf -oL d; setsid -f e", &[("nice -n 10 a", "a"), ("nice -10 b", "b"), ("ionice -c2 -n 0 c", "c"), ("stdbuf -oL d", "d"), ("setsid -f e", "e")]),
    ("ls | xargs -n1 rm", &[("ls", ""), ("xargs -n1 rm", "rm")]),
    ("xargs -0 -I {} -P 4 cp {} /x; xargs -I{} mv {} y; xargs", &[("xargs -0 -I {} -P 4 cp {} /x", "cp"), ("xargs -I{} mv {} y", "mv"), ("xargs", "")]),
    ("command ls; command -v git; builtin cd x; exec -a n y", &[("command ls", "ls"), ("command -v git", ""), ("builtin cd x", "cd"), ("exec -a n y", "y")]),
    ("watch -n 2 'git status | head'; watch ls; caffeinate -i make", &[("watch -n 2 'git status | head'", "git"), ("watch ls", "ls"), ("caffeinate -i make", "make")]),
    ("sudo env A=1 timeout 5 nice /x/git st", &[("sudo env A=1 timeout 5 nice /x/git st", "git")]),
    ("npx tsc; uv run pytest; python -m http.server", &[("npx tsc", ""), ("uv run pytest", ""), ("python -m http.server", "")]),
    ("A=1 sudo $CMD", &[("sudo $CMD", "$CMD")]),

    // Scripts for a shell are replaced by their commands.
    ("bash -c 'a && b'", &[("a", ""), ("b", "")]),
    ("sh -c \"a \\\"b c\\\" | d\" && e", &[("a \"b c\"", ""), ("d", ""), ("e", "")]),
    ("zsh -lc 'cd x; make' 2>&1 | tail", &[("cd x", ""), ("make", ""), ("tail", "")]),
    ("/bin/bash --norc -eo pipefail -c \"x | y\" name arg", &[("x", ""), ("y", "")]),
    ("bash -c $'a \\'b\\'\\nc\\x20d'", &[("a 'b'", ""), ("c d", "")]),
    ("bash -c \"for f in \\$(ls); do cat \\$f; done\"", &[("ls", ""), ("cat $f", "")]),
    ("bash -c \"echo $(date)\"", &[("echo $(date)", ""), ("date", "")]),
    ("bash -c 'bash -c \"a; b\"; c'", &[("a", ""), ("b", ""), ("c", "")]),
    ("eval 'a; b'; eval a \"b c\" '&& d'; eval -- x", &[("a", ""), ("b", ""), ("a b c", ""), ("d", ""), ("x", "")]),
    ("eval \"$(ssh-agent -s)\"", &[("eval \"$(ssh-agent -s)\"", ""), ("ssh-agent -s", "")]),
    ("bash -c \"$SCRIPT\"; sh script.sh -c x; bash", &[("bash -c \"$SCRIPT\"", ""), ("sh script.sh -c x", ""), ("bash", "")]),
    ("bash -c ''; bash -c", &[("bash -c ''", ""), ("bash -c", "")]),
    ("sudo bash -c 'apt update && apt install x'", &[("apt update", ""), ("apt install x", "")]),
    ("timeout 5 env A=1 sh -c 'a'; ls | xargs -I{} sh -c 'b {}; c'", &[("a", ""), ("ls", ""), ("b {}", ""), ("c", "")]),
    ("su - postgres -c 'psql -l'", &[("psql -l", "")]),
    ("bash -c 'a' $(b) > $(c)", &[("a", ""), ("b", ""), ("c", "")]),
    ("bash <<'EOF'\na; b\nEOF", &[("bash", "")]),

    // Cut off or broken.
    ("cargo test &&", &[("cargo test", "")]),
    ("a && b | ", &[("a", ""), ("b", "")]),
    ("&& a", &[("a", "")]),
    ("git add . && git commit -m \"fix: a && b", &[("git add .", ""), ("git commit -m \"fix: a && b", "")]),
    ("echo 'open; x", &[("echo 'open; x", "")]),
    ("ls; echo $(date", &[("ls", ""), ("echo $(date", ""), ("date", "")]),
    ("echo `date", &[("echo `date", ""), ("date", "")]),
    ("if a; then b; for x in 1 2; do c", &[("a", ""), ("b", ""), ("c", "")]),
    ("case $x in a) foo;; b) bar", &[("foo", ""), ("bar", "")]),
    ("(cd x && make", &[("cd x", ""), ("make", "")]),
    ("make) && ls", &[("make", ""), ("ls", "")]),
    ("{ a; b", &[("a", ""), ("b", "")]),
    ("done; fi; a; }", &[("a", "")]),
    ("bash -c 'a && b", &[("a", ""), ("b", "")]),
    ("echo it's fine\nls", &[("echo it's fine", ""), ("ls", "")]),
    ("echo \\", &[("echo \\", "")]),
    ("cat <<", &[("cat", "")]),
    ("echo ${x", &[("echo ${x", "")]),
    ("a\n)\nb\n;;\nc", &[("a", ""), ("b", ""), ("c", "")]),

    ("echo {\u{10fffd} {é..ü} 'a😀'; ls", &[("echo {\u{10fffd} {é..ü} 'a😀'", ""), ("ls", "")]),

    // Other shells.
    ("dir C:\\Windows\\System32 & echo %PATH%", &[("dir C:\\Windows\\System32", ""), ("echo %PATH%", "")]),
    ("C:\\Python\\python.exe x.py", &[("C:\\Python\\python.exe x.py", "python.exe")]),
    (".\\gradlew.bat build; venv\\Scripts\\pip.exe list", &[(".\\gradlew.bat build", "gradlew.bat"), ("venv\\Scripts\\pip.exe list", "pip.exe")]),
    ("\"C:\\Program Files\\nodejs\\node.exe\" a.js", &[("\"C:\\Program Files\\nodejs\\node.exe\" a.js", "node.exe")]),
    ("& \"C:\\x y\\z.exe\" a", &[("\"C:\\x y\\z.exe\" a", "z.exe")]),
    ("cd /d C:\\x && npm test", &[("cd /d C:\\x", ""), ("npm test", "")]),
    ("cmd /c \"dir & echo x\"", &[("dir", ""), ("echo x", "")]),
    ("powershell -NoProfile -Command \"Get-Item a; ls\"", &[("Get-Item a", ""), ("ls", "")]),
    ("if exist foo (del foo) else (echo x)", &[("exist foo", ""), ("del foo", ""), ("echo x", "")]),
    ("Get-ChildItem -Path . | Where-Object { $_.Length -gt 10 } | Select-Object Name", &[("Get-ChildItem -Path .", ""), ("Where-Object { $_.Length -gt 10 }", ""), ("Select-Object Name", "")]),
    ("$env:FOO = \"x\"; $x = Get-Content foo", &[("Get-Content foo", "")]),
    ("Get-Item `\n  -Path x `\n  -Force\nls", &[("Get-Item -Path x -Force", ""), ("ls", "")]),
    ("if (Test-Path foo) { Remove-Item foo }", &[("Test-Path foo", ""), ("Remove-Item foo }", "")]),
    ("[IO.File]::ReadAllText(\"a b\")", &[("[IO.File]::ReadAllText(\"a b\")", "[IO.File]::ReadAllText(a b)")]),
];

fn expected(case: &Case) -> Vec<SimpleCommand> {
    let command = |&(text, program): &(&str, &str)| SimpleCommand {
        text: text.to_owned(),
        program: match program {
            "" => text.split_ascii_whitespace().next().unwrap().to_owned(),
            program => program.to_owned(),
        },
    };
    case.1.iter().map(command).collect()
}

/// Fails with all cases that `read` gets wrong.
fn check(read: impl Fn(&str) -> Vec<SimpleCommand>) {
    let wrong: Vec<String> = CASES
        .iter()
        .map(|case| (case.0, read(case.0), expected(case)))
        .filter(|(_, found, expected)| found != expected)
        .map(|(text, found, expected)| {
            format!("{text}\n  found    {found:?}\n  expected {expected:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

#[test]
fn hard_cases() {
    check(split);
}

/// Asserts the properties of the commands of any text.
fn assert_sane(text: &str) {
    let commands = split(text);
    for SimpleCommand { text: command, program } in &commands {
        assert!(!command.is_empty() && command.trim_ascii() == command, "{text:?}: {command:?}");
        assert!(!program.is_empty(), "{text:?}: {command:?}");
        // Every character is in the text, in this order; only `$'…'` creates new ones.
        let mut rest = text.chars();
        let mut visible = command.chars().filter(|char| !char.is_whitespace());
        assert!(
            visible.all(|char| rest.any(|other| other == char)) || text.contains("$'"),
            "{text:?}: {command:?}"
        );
    }
    let bytes: usize = commands.iter().map(|command| command.text.len()).sum();
    assert!(bytes <= text.len() * (super::MAX_DEPTH + 2), "{bytes} bytes of {}", text.len());
}

#[test]
fn cut_anywhere() {
    for (text, _) in CASES {
        for (end, _) in text.char_indices() {
            assert_sane(&text[..end]);
            assert_sane(&text[end..]);
        }
    }
}

/// Long and deep texts are handled without a deep stack or endless work.
#[test]
fn long_and_deep() {
    #[rustfmt::skip]
    let parts = [
        "a;", "a && ", "a | ", "(", "((", "{ ", "$(", "$((", "${", "\"$(", "`", "\\`", "<(",
        "x=(", "[[ ", "'", "\"", "$'", "\\", "<<A ", "<<A\n", "a <<A $(\n", "case a in ", "if ",
        "for x in ", "f() ", "bash -c ", "bash -c '", "eval ", "sudo ", "env A=1 ", "a=", "#",
        ">", "&", "!", "\0", "é", "a\\\n", "watch 'a ", "time (", "}", ")", "\n",
    ];
    for part in parts {
        assert_sane(&part.repeat(MAX_TEXT / part.len()));
        let open = part.repeat(MAX_TEXT / 2 / part.len());
        assert_sane(&format!("{open}{}", ")".repeat(MAX_TEXT - open.len())));
    }
}

#[test]
fn only_the_head_is_read() {
    let commands = split(&"echo é\n".repeat(1 << 17));
    assert!(commands.len() > MAX_TEXT / 8 - 2 && commands.len() <= MAX_TEXT / 8 + 1);
}

proptest! {
    #[test]
    fn any_text(text in any::<String>()) {
        assert_sane(&text);
    }

    #[test]
    fn any_shell(parts in prop::collection::vec(prop::sample::select(PARTS), 0..40)) {
        assert_sane(&parts.concat());
    }
}

#[rustfmt::skip]
const PARTS: &[&str] = &[
    "a", "b c", " ", "\n", ";", "&", "|", "&&", "||", "(", ")", "{ ", " }", "'", "\"", "`", "$",
    "$(", "${", "$((", "$'", "\\", "\\\n", "<", ">", "<<", "<<<", "<<-", "EOF", "\nEOF\n", "<(",
    "2>&1", "#", "!", "=", "x=", "x=(", "[", "[[", "]]", "((", "if ", "then ", "fi", "case ",
    " in ", "esac", ";;", "for ", "do ", "done", "while ", "function ", "f()", "bash -c ",
    "eval ", "sudo ", "env ", "xargs ", "watch ", "time ", "-c ", "-", "é", "\r\n", "\0", "~/",
    "/", "C:\\x", "\u{10fffd}", "{", "..", "1",
];
