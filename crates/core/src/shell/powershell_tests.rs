use proptest::prelude::*;

use super::split_powershell;

fn programs(text: &str) -> Vec<String> {
    split_powershell(text).into_iter().map(|command| command.program).collect()
}

fn texts(text: &str) -> Vec<String> {
    split_powershell(text).into_iter().map(|command| command.text).collect()
}

#[test]
fn only_commands_have_names() {
    for (text, want) in [
        (
            "$runs = gh run list | ConvertFrom-Json; foreach ($r in $runs) { $i++ }",
            &["gh", "ConvertFrom-Json"][..],
        ),
        ("(Get-Content a) -replace 'x','y' | Set-Content a", &["Get-Content", "Set-Content"]),
        ("git commit -m \"two files`n- `build.yml`: new\"", &["git"]),
        (
            "[System.IO.File]::WriteAllText(\"a\",\"b\");  if (-not (Test-Path a)) {}",
            &["Test-Path"],
        ),
        ("$env:FOO=\"1\"; npm test", &["npm"]),
        ("$env:FOO = '1'\nnpm test", &["npm"]),
        ("cd src; npm run build && npm test", &["cd", "npm", "npm"]),
        ("ls *.ts | % { git add $_ }", &["ls", "ForEach-Object", "git"]),
        (
            "Get-ChildItem | ? { $_.Length -gt 5mb } | Select-Object Name",
            &["Get-ChildItem", "Where-Object", "Select-Object"],
        ),
        ("& \"C:\\Program Files\\Git\\bin\\git.exe\" status", &["git.exe"]),
        (". .\\build.ps1 -Release", &["build.ps1"]),
        (".\\gradlew.bat test 2>&1 > out.txt", &["gradlew.bat"]),
        ("if ($LASTEXITCODE -ne 0) { exit 1 } else { Write-Host 'ok' }", &["Write-Host"]),
        ("foreach ($f in Get-ChildItem *.c) { cl $f }", &["Get-ChildItem", "cl"]),
        ("for ($i = 0; $i -lt 3; $i++) { ping host }", &["ping"]),
        ("1..3 | ForEach-Object { \"n $(hostname) $_\" }", &["ForEach-Object", "hostname"]),
        ("7z x a.zip", &["7z"]),
        ("function Get-It($a = (Get-Date)) { docker ps }; Get-It", &["docker", "Get-It"]),
        ("param([string]$Name = \"x\")\nnode a.js", &["node"]),
        (
            "try { cargo build } catch { Write-Error $_ } finally { popd }",
            &["cargo", "Write-Error", "popd"],
        ),
        ("switch ($x) { 'a' { yarn } default { npm ci } }", &["yarn", "npm"]),
        ("New-Item -Path x -Value @{ A = 1; B = Get-Date }", &["New-Item", "Get-Date"]),
        ("$x = @'\ngit push; rm -rf /\n'@\necho $x", &["echo"]),
        ("# git push\nls <# rm x; #> -la", &["ls"]),
        ("Get-Content a `\n  -Raw", &["Get-Content"]),
        ("powershell -NoProfile -Command \"git fetch; git pull\"", &["git", "git"]),
        ("cmd /c npm test", &["npm"]),
        ("bash -c 'make && make install'", &["make", "make"]),
        ("$s = [string]::Join(',', (Get-Process).Name)", &["Get-Process"]),
        ("\"text\" | Out-File a.txt", &["Out-File"]),
        ("!(Test-Path x)", &["Test-Path"]),
        ("return Get-Date", &["Get-Date"]),
        ("if($x){git status}else{git log}", &["git", "git"]),
        ("", &[]),
    ] {
        assert_eq!(programs(text), want, "{text}");
    }
}

#[test]
fn the_text_of_a_command_is_as_written_without_redirections() {
    assert_eq!(texts("$out = git  log -1 2>$null | Out-String"), ["git log -1", "Out-String"]);
    assert_eq!(texts("echo \"a;b|c\" > x.txt"), ["echo \"a;b|c\""]);
    assert_eq!(texts("ls | % { rm $_ }"), ["ls", "% { rm $_ }", "rm $_"]);
}

proptest! {
    #[test]
    fn any_text_has_an_answer(text in "[$(){}'\"`@#;|&=\\-a \n\\[\\]<>.0é%!]{0,80}") {
        for command in split_powershell(&text) {
            prop_assert!(!command.program.is_empty() && !command.text.is_empty());
        }
    }
}

#[test]
fn brackets_of_any_depth_are_read() {
    for open in ["(", "{", "$(", "\"$(", "$a=(", "x{(", "1("] {
        split_powershell(&open.repeat(20_000));
    }
}
