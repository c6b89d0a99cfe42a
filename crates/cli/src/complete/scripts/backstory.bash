# Completes `backstory` in bash. Written by `backstory completions bash`.
_backstory() {
    local rest=${COMP_LINE:0:COMP_POINT} words=() lines=() bare word line value i

    # Readline splits words at `=` and `:` too; those that have no space between them are one.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        bare=${rest#"${rest%%[![:space:]]*}"}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$bare
        if ((i > 0)) && [[ -n $rest && $bare == "$rest" ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        rest=${bare#"$word"}
    done

    while IFS= read -r line; do
        lines+=("$line")
    done < <(BACKSTORY_COMPLETE=bash command backstory -- "${words[@]}" 2>/dev/null)

    # Readline replaces only what follows the last `=` or `:`.
    local typed=${words[${#words[@]} - 1]}
    local before=${typed%"$2"}
    COMPREPLY=()
    for line in ${lines[@]+"${lines[@]}"}; do
        line=${line#"$before"}
        value=${line%%$'\t'*}
        # Descriptions are listed, but never inserted: two values differ before theirs begin.
        if ((${#lines[@]} > 1)) && [[ $line == *$'\t'* && $COMP_TYPE != 37 && $COMP_TYPE != 42 ]]; then
            value="$value  ${line#*$'\t'}"
            value=${value:0:${COLUMNS:-80} - 2}
        fi
        COMPREPLY+=("$value")
    done
    if ((${#lines[@]} == 1)) && [[ ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o nosort -F _backstory backstory 2>/dev/null || complete -F _backstory backstory
