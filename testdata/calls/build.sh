#!/bin/sh
# Builds the two hooks of the tool and HTTP tests from one text; needs wabt.
set -eu
cd "$(dirname "$0")"
for call in request_tool_call http_request; do
  sed "s/CALL/$call/" hook.wat >"/tmp/belay-$call.$$.wat"
  wat2wasm -o "$call.wasm" "/tmp/belay-$call.$$.wat"
  rm "/tmp/belay-$call.$$.wat"
done
