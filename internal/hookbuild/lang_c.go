package hookbuild

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

func clang() string { return find("clang-19", "clang-20", "clang-18", "clang") }

// wasmLD is the linker that a clang would use, or "".
func wasmLD(clang string) string {
	if i := strings.LastIndex(clang, "clang"); i >= 0 {
		if at := find("wasm-ld" + clang[i+len("clang"):]); at != "" {
			return at
		}
	}
	return find("wasm-ld")
}

func missingC() string {
	cc := clang()
	switch {
	case cc == "":
		return "clang is missing; on Debian: apt install clang-19 lld-19"
	case wasmLD(cc) == "":
		return "wasm-ld, the linker of clang for WebAssembly, is missing; on Debian: apt install lld-19"
	}
	return ""
}

func compileC(ctx context.Context, j *job) ([]byte, error) {
	if m := missingC(); m != "" {
		return nil, failure(ErrTool, nil, "%s", m)
	}
	cc := clang()
	// The header goes with this program, so that a hook needs no copy of it; one beside the source comes first.
	include := filepath.Join(j.work, "include")
	if err := os.MkdirAll(include, 0o755); err != nil {
		return nil, failure(ErrWrite, err, "%s could not be made: %v", include, reason(err))
	}
	files, err := sdk("c")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(include, "belay.h"), files["belay.h"], 0o644); err != nil {
		return nil, failure(ErrWrite, err, "belay.h could not be written: %v", reason(err))
	}
	j.version(ctx, "", cc, "--version")
	j.version(ctx, "", wasmLD(cc), "--version")
	args := []string{
		"--target=wasm32", "-std=c11", "-O2", "-Wall", "-Wextra", "-nostdlib", "-ffreestanding",
		// What every runtime has had for years, and what the helpers use.
		"-mbulk-memory", "-msign-ext", "-mmutable-globals",
		"-I.", "-Isdk", "-I" + include,
		"-Wl,--no-entry,-z,stack-size=16384", "-fuse-ld=" + wasmLD(cc),
		"-o", j.output(),
	}
	if j.opts.Debug {
		args = append(args, "-g")
	} else {
		args = append(args, "-Wl,--strip-all")
	}
	if _, err := j.run(ctx, env(), readErrors, cc, append(args, j.glob("*.c")...)...); err != nil {
		return nil, err
	}
	return j.read()
}
