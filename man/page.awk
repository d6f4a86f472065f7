# page.awk - a manual page from its template and the records of prototypes.sh:  awk -f page.awk RECORDS TEMPLATE
# With links=1: instead of the page, `name page.section` for every routine that it describes.
#
# Directives in a template, all but @types at its head; the variable `examples` is a folder:
#   .\" @page NAME SECTION WHAT IT IS     .\" @include HEADER
#   .\" @routines KEY...                  .\" @deprecated KEY...     _key: typed and by size; else a full name
#   .\" @types COLUMN                     the types of a column of shmem_table.h, as a sentence
#   .\" @example FILE...                  EXAMPLES: files of the folder `examples`, which the tests compile and run

function prototype(result, name, params, i, n, p) {
    sub(/ *$/, "", result)
    gsub(/^\( *| *\)$/, "", params)
    n = split(params, p, /, */)
    print ".Ft \"" result "\""
    print ".Fo " name
    for (i = 1; i <= n; i++)
        print ".Fa \"" p[i] "\""
    print ".Fc"
}
function with_ctx(params) {
    sub(/^\( */, "(shmem_ctx_t ctx, ", params)
    return params
}
# The routines of a list of keys: generic forms, or all others.
function emit(keys, generic, i, j, n, k) {
    n = split(keys, k, " ")
    for (i = 1; i <= n; i++) {
        if (!(k[i] in known)) {
            print FILENAME ": no routine " k[i] >"/dev/stderr"
            failed = 1
        }
        for (j = 1; j <= known[k[i]]; j++)
            emit_one(k[i], record[k[i], j], generic)
    }
}
function emit_one(key, text, generic, f) {
    split(text, f, "|")
    if (f[1] == "typed" && generic) {
        prototype(f[4], "shmem" key, f[5])
        if (f[3] == "C")
            prototype(f[4], "shmem" key, with_ctx(f[5]))
    } else if (f[1] == "typed") {
        prototype(f[4], "shmem_TYPENAME" key, f[5])
        if (f[3] == "C")
            prototype(f[4], "shmem_ctx_TYPENAME" key, with_ctx(f[5]))
    } else if (f[1] == "sized" && !generic) {
        prototype(f[4], "shmem_" f[2], f[5])
        prototype(f[4], "shmem_ctx_" f[2], with_ctx(f[5]))
    } else if (f[1] == "untyped" && !generic) {
        prototype(f[3], f[2], f[4])
    } else if (f[1] == "queued" && !generic) {
        prototype(f[4], f[3], f[5])
    } else if (f[1] == "queued" && f[6] != "") {
        prototype(f[4], f[6], f[5])
    }
}
function is_typed(keys, n, k, i) {
    n = split(keys, k, " ")
    for (i = 1; i <= n; i++)
        if (record[k[i], 1] ~ /^typed/ || record[k[i], 1] ~ /^queued.*\|shmemx_[a-z_]*$/)
            return 1
    return 0
}
function head(i, n, k, name, r) {
    if (headed++)
        return
    print ".\\\" Made by page.awk from the template of the same name."
    print ".Dd November 23, 2026\n.ds doc-volume-operating-system\n.ds doc-volume-ds-" section " Fulmar Manual"
    print ".Dt " toupper(page) " " section "\n.Os Fulmar\n.Sh NAME"
    n = split(routines, k, " ")
    for (i = 1; i <= n; i++) {
        split(record[k[i], 1], r, "|")
        name = r[1] == "queued" ? r[3] : k[i] ~ /^_/ ? "shmem" k[i] : k[i]
        print ".Nm " name (i < n ? " ," : "")
    }
    print ".Nd " what "\n.Sh SYNOPSIS\n.In " header
    if (is_typed(routines)) {
        print ".Ss C11 and C++"
        emit(routines, 1)
        print ".Ss C and C++"
    }
    emit(routines, 0)
    if (deprecated != "") {
        print ".Ss Deprecated"
        emit(deprecated, 0)
    }
}
function print_types(column, i, last) {
    print ".Fa TYPE\n(with\n.Li TYPENAME\nin parentheses where it differs) is one of:"
    for (i = 1; i <= types; i++)
        if (columns[i] ~ "in_" column "( |$)")
            last = i
    for (i = 1; i <= last; i++)
        if (columns[i] ~ "in_" column "( |$)")
            print ".Vt \"" type[i] "\"" (typename[i] == type[i] ? "" : " Pq Li " typename[i]) (i < last ? " ," : " .")
}

# The files of @example as section EXAMPLES, before ERRORS and SEE ALSO. A dot at the start of a line and backslashes are escaped.
function print_examples(n, k, i, line, path) {
    n = split(example, k, " ")
    if (n)
        print ".Sh EXAMPLES"
    for (i = 1; i <= n; i++) {
        path = examples "/" k[i]
        print ".Bd -literal"
        while ((getline line <path) > 0) {
            gsub(/\\/, "\\e", line)
            print (line ~ /^[.']/ ? "\\&" : "") line
            seen++
        }
        close(path)
        print ".Ed"
    }
    if (n && !seen) {
        print FILENAME ": no example " path >"/dev/stderr"
        failed = 1
    }
    example = ""
}

NR == FNR {
    split($0, r, "|")
    if (r[1] == "typed") record[r[2], ++known[r[2]]] = $0
    if (r[1] == "sized") record[r[3], ++known[r[3]]] = $0
    if (r[1] == "queued") record[r[2], ++known[r[2]]] = $0
    if (r[1] == "untyped") record[r[2], ++known[r[2]]] = $0
    if (r[1] == "name") names[r[2]] = names[r[2]] " " r[3]
    if (r[1] == "type") { types++; typename[types] = r[2]; type[types] = r[3]; columns[types] = r[4] }
    next
}
FNR == 1 { header = "shmem.h"; headed = 0; example = ""; deprecated = routines = "" }
/^\.\\" @page / { page = $3; section = $4; what = $0; sub(/^[^@]*@page [^ ]* [^ ]* /, "", what); next }
/^\.\\" @include / { header = $3; next }
/^\.\\" @routines / { sub(/^[^@]*@routines /, ""); routines = routines " " $0; next }
/^\.\\" @deprecated / { sub(/^[^@]*@deprecated /, ""); deprecated = deprecated " " $0; next }
/^\.\\" @example / { sub(/^[^@]*@example /, ""); example = $0; next }
links && /^\.Sh DESCRIPTION/ {
    n = split(routines " " deprecated, k, " ")
    for (i = 1; i <= n; i++) {
        m = split((k[i] ~ /^_/ && k[i] in names ? (record[k[i], 1] ~ /^queued/ ? "" : "shmem" k[i]) : k[i]) names[k[i]], each, " ")
        for (j = 1; j <= m; j++)
            if (each[j] != page)
                print each[j], page "." section
    }
    print page, page "." section
    nextfile
}
links { next }
/^\.\\" @types / { print_types($3); next }
/^\.Sh/ { head() }
/^\.Sh (ERRORS|SEE ALSO)/ { print_examples() }
{ print }
END {
    if (example != "") {
        print FILENAME ": @example needs a section ERRORS or SEE ALSO" >"/dev/stderr"
        failed = 1
    }
    exit failed
}
