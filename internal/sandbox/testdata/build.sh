#!/bin/sh
# Rebuilds the guests from their sources, in place: wabt 1.0.32, clang 19.
set -eu
cd "$(dirname "$0")"
for w in *.wat; do
	wat2wasm --debug-names "$w" -o "${w%.wat}.wasm"
done
clang-19 --target=wasm32 -O2 -nostdlib -mbulk-memory -I ../../../hooks-sdk/c \
	-Wl,--no-entry,--strip-debug,-z,stack-size=16384 -o guard.wasm guard.c
