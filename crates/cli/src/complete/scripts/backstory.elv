# Completes `backstory` in elvish. Written by `backstory completions elvish`.
use str
set edit:completion:arg-completer[backstory] = {|@words|
    env BACKSTORY_COMPLETE=elvish backstory -- $@words 2>/dev/null | from-lines | each {|line|
        var parts = [(str:split "\t" $line)]
        if (== (count $parts) 2) {
            edit:complex-candidate $parts[0] &display=$parts[0]'  '$parts[1]
        } else {
            put $parts[0]
        }
    }
}
