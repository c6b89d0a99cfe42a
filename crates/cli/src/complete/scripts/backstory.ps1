# Completes `backstory` in PowerShell. Written by `backstory completions powershell`.
Register-ArgumentCompleter -Native -CommandName backstory -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object {
            if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
        })
    # Windows PowerShell drops empty arguments.
    if ($wordToComplete -eq '') { $words += '""' }
    $before = $env:BACKSTORY_COMPLETE
    $env:BACKSTORY_COMPLETE = 'powershell'
    try { $lines = @(& backstory -- $words 2>$null) } finally { $env:BACKSTORY_COMPLETE = $before }
    $lines | ForEach-Object {
        $value, $about = $_ -split "`t", 2
        if (-not $about) { $about = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $about)
    }
}
