#!/bin/sh
# Tries every kernel on this machine's GPU and measures it: run.sh RESULTS [--quick] [--tune] [--only WORDS] [--minutes 8]. Needs no network and no installation.
here=$(cd "$(dirname "$0")" && pwd)
PATH="$PATH:/usr/sbin:/sbin"
# Libraries that this machine has are its own: only those that are missing come from the kit.
known=$(ldconfig -p 2>/dev/null)
mkdir -p "$here/lib"
for library in "$here"/spare/*; do
  name=$(basename "$library")
  case "$known" in
    *"$name "*) ;;
    *) ln -sf "../spare/$name" "$here/lib/$name" ;;
  esac
done
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "$here/node" "$here/main.mjs" "$@"
