#!/bin/sh
# references.sh - the files and names that documents and comments mention exist. Catches: a comment or document that became
# wrong when a file was moved or a name was changed.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

# references ROOT: lines FILE: MENTION for mentions without a target, in Markdown and in comments of C, OpenCL C and Promela.
# A file may be named by the end of its path; a program that a document shows, by the name that its commands use. A name
# shi_* must occur in code, and NAME in `NAME in FILE` in that file.
references() {
    python3 - "$1" <<'END'
import os, re, sys
root, files, code, texts, shown = sys.argv[1], [], {}, {}, {}
comment = re.compile(r'/\*.*?\*/|(?<![:"])//[^\n]*', re.S)
for folder, folders, names in os.walk(root):
    folders[:] = [d for d in folders if not re.match(r"build|\.git$|autom4te|m4$|mutants", d) or d == "build-aux"]
    files += [os.path.relpath(os.path.join(folder, n), root) for n in names]
for f in files:
    if f.endswith(".md"):
        texts[f] = open(os.path.join(root, f)).read()
        shown[f] = set(re.findall(r"[\w.-]+", "".join(re.findall(r"^```.*?^```", texts[f], flags=re.S | re.M))))
        texts[f] = re.sub(r"^```.*?^```", "", texts[f], flags=re.S | re.M)
    elif re.search(r"\.(c|h|cl|cu|cc|pml|def)$", f):
        whole = open(os.path.join(root, f)).read()
        texts[f], code[f] = "\n".join(comment.findall(whole)), set(re.findall(r"\w+", comment.sub(" ", whole)))
ends = {f[i:] for f in files for i in [0] + [m.end() for m in re.finditer("/", f)]} | {"generic_calls.h"}
known = set().union(*code.values())
for f, text in sorted(texts.items()):
    wrong = [m for m in re.findall(r"(?<![\w/.$*-])(?:[\w.-]+/)*\w[\w.-]*\.(?:c|h|cl|pml|sh|def|awk)\b(?!\.?[\w*])", text)
             if re.sub(r"^(\.\.?/)+", "", m) not in ends and m not in shown.get(f, ())
             and not re.search(r"(?:\b(?:app|X|NAME)\.\w+|iso646\.h|linux/sched\.h)$", m)]
    wrong += [m for m in re.findall(r"\b(?:shi|SHI)_\w*\w\b(?!\*|_)", text)
              if m not in known and not any(k.startswith(m.rstrip("_N")) for k in known)]
    for name, where in re.findall(r"\b(\w+) in ([\w/]+\.[ch])\b", text):
        targets = [g for g in code if ("/" + g).endswith("/" + where)]
        if re.search(r"_", name) and targets and not any(name in code[g] for g in targets):
            wrong.append(f"{name} in {where}")
    for m in wrong:
        print(f"{f}: {m}")
END
}

mkdir "$dir/bad" && printf '/* bad.c - see gone.c, shi_gone_fn and no_such in bad.c. */\nint x;\n' >"$dir/bad/bad.c"
[ "$(references "$dir/bad" | wc -l)" = 3 ]
ok $? "wrong mentions of each kind are found"
references "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "files and names that documents and comments mention exist" "$dir/out"
plan
