# tags.awk - lines of a tags file for the exported names: awk -f tags.awk symbols.txt api/*.c...
#
# The line of a name is the one that defines it (SHI_DEF, a plain function), else that of DO_<routine>, the body of a
# typed routine, or of NB_<routine> or DOX_<routine>, else that of a definition with ## in its name. A pshmem_ name has the line of the shmem_ name.

FNR == NR { exported[$1]; next }

/^#define DOX?_/ {
    split($2, part, "(")
    x = sub(/^DOX/, "DO", part[1])
    body[(x || part[2] == "N)" ? "shmemx" : "shmem") substr(part[1], 3)] = FILENAME "\t" FNR
    next
}

# Bodies of nonblocking forms, and of blocking ones of the same body.
/^#define (NB|OP)_/ {
    split($2, part, "(")
    name = "shmemx" substr(part[1], 3)
    if (!(name in body))
        body[name] = FILENAME "\t" FNR
    if (!(name "_nb" in body))
        body[name "_nb"] = FILENAME "\t" FNR
    next
}

/SHI_DEF(_BOTH)?\(|^SHI_TAG_BUFFERS\(|^HANDLE\(|^ *ON_QUEUE\(|^ *[a-z_][A-Za-z0-9_ ]* \**[a-z0-9_#A-Z]+\(.*[^;]$/ {
    line = $0
    while (match(line, /[A-Za-z_][A-Za-z0-9_#]*/)) {
        word = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (word in exported && !(word in at))
            at[word] = FILENAME "\t" FNR
        else if (word ~ /^shmem.*##/) {
            gsub(/##[A-Z]+(##)?/, "[a-z0-9_]*", word)
            pattern["^" word "$"] = FILENAME "\t" FNR
        }
    }
}

# The body whose name is the longest end of `name`, without the size or "mem" of put32 or getmem.
function body_of(name,    prefix) {
    prefix = name ~ /^shmemx_/ ? "shmemx" : "shmem"
    sub(/^shmemx?_/, "_", name)
    while (name ~ /^_/) {
        if (prefix name in body)
            return body[prefix name]
        if (name ~ /^_i?b?(put|get)(mem|[0-9]+)/)
            sub(/mem|[0-9]+/, "", name)
        else
            sub(/^_[^_]*/, "", name)
    }
}

function place(name,    p, found) {
    if (name in at)
        return at[name]
    if ("p" name in at)
        return at["p" name]
    if (substr(name, 1, 1) == "p" && substr(name, 2) in exported)
        return place(substr(name, 2))
    found = body_of(name)
    for (p in pattern)
        if (!found && name ~ p)
            found = pattern[p]
    return found
}

END {
    for (name in exported)
        if (place(name))
            print name "\t" place(name) ";\"\tf"
}
