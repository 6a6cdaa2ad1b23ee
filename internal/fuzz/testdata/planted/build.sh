#!/bin/sh
# Rebuilds the planted hooks from their sources, in place: clang 19.
set -eu
cd "$(dirname "$0")"
for c in *.c; do
	clang-19 --target=wasm32 -O2 -nostdlib -mbulk-memory -I ../../../../hooks-sdk/c \
		-Wl,--no-entry,--strip-all,-z,stack-size=16384 -o "${c%.c}.wasm" "$c"
done
