package hookbuild

import (
	"context"
	"strings"
)

func missingWAT() string {
	if find("wat2wasm") == "" {
		return "wat2wasm is missing; on Debian: apt install wabt"
	}
	return ""
}

func compileWAT(ctx context.Context, j *job) ([]byte, error) {
	if m := missingWAT(); m != "" {
		return nil, failure(ErrTool, nil, "%s", m)
	}
	files := j.glob("*.wat")
	if len(files) != 1 {
		return nil, failure(ErrSource, nil, "a hook in WebAssembly text is one file, here are %s", strings.Join(files, ", "))
	}
	program := find("wat2wasm")
	j.version(ctx, "wat2wasm", program, "--version")
	args := []string{"-o", j.output(), files[0]}
	if j.opts.Debug {
		args = append(args, "--debug-names")
	}
	if _, err := j.run(ctx, env(), readErrors, program, args...); err != nil {
		return nil, err
	}
	return j.read()
}
