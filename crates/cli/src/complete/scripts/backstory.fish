# Completes `backstory` in fish. Written by `backstory completions fish`.
function __backstory_complete
    set -lx BACKSTORY_COMPLETE fish
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    command backstory -- $words (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command backstory --keep-order --no-files --arguments '(__backstory_complete)'
