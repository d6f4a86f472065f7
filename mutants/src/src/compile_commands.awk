# compile_commands.awk - what clangd reads, of the compiler calls that make -n V=1 prints on standard input.
# dir: where make runs; src: what leads from there to the sources, with a slash.

BEGIN { print "[" }

/ -c -o / && sub(/^.*--mode=compile |^[ \t]*/, "") {
    sub(/ *(&&|;)? *\\?$/, "")
    sub(/-MT .* -MF [^ ]* /, "")
    sub(/`[^`]*`/, src)
    gsub(/[\\"]/, "\\\\&")
    printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", n++ ? ",\n" : "", dir, $NF, $0
}

END { print "\n]" }
