#!/bin/sh
# guide.sh - run every command and program of the guide (doc/) and of README.md, and check the names in them.
# Catches: a command that no longer works, output that has changed, a variable, option, routine or file that does not exist.
command -v python3 >/dev/null || {
    echo "1..0 # SKIP python3 is not installed"
    exit 0
}
exec python3 "${top_srcdir:=.}/test/guide.py"
