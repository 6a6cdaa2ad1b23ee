#!/bin/sh -eu
# Builds the modules of the tests from their text; needs wat2wasm (Debian: wabt).
cd "$(dirname "$0")"
for f in *.wat; do wat2wasm -o "${f%.wat}.wasm" "$f"; done
