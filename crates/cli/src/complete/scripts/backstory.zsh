#compdef backstory
# Completes `backstory` in zsh. Written by `backstory completions zsh`.
_backstory() {
    local -a lines values shown folders
    local line value
    integer widest=0
    lines=("${(@f)$(BACKSTORY_COMPLETE=zsh command backstory -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in $lines; do
        value=${line%%$'\t'*}
        (( ${#value} > widest )) && widest=${#value}
    done
    for line in $lines; do
        value=${line%%$'\t'*}
        if [[ $value == */ ]]; then
            folders+=("$value")
            continue
        fi
        values+=("$value")
        if [[ $line == *$'\t'* ]]; then
            value="${(r:widest:)value}  ${line#*$'\t'}"
        fi
        shown+=("${(mr:COLUMNS-1:)value}")
    done
    compadd -S '' -a folders
    (( ${#values} )) && compadd -l -V backstory -d shown -a values
    (( ${#values} + ${#folders} ))
}
if [[ $funcstack[1] == _backstory ]]; then
    _backstory "$@"
else
    compdef _backstory backstory
fi
