package hookbuild

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/files"
)

const rustTarget = "wasm32-unknown-unknown"

// rustToolchain returns a cargo and a rustc that have the WebAssembly target.
// The pair on PATH comes first; the distribution's own may have the target when a
// newer one that stands before it has not.
func rustToolchain() (cargo, rustc string) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin", "/usr/local/bin") {
		c, r := filepath.Join(dir, "cargo"), filepath.Join(dir, "rustc")
		if find(c) != "" && find(r) != "" && hasTarget(r) {
			return c, r
		}
	}
	return "", ""
}

func hasTarget(rustc string) bool {
	out, err := exec.Command(rustc, "--print", "target-libdir", "--target", rustTarget).Output()
	if err != nil {
		return false
	}
	libs, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "libcore-*.rlib"))
	return len(libs) > 0
}

func missingRust() string {
	if _, rustc := rustToolchain(); rustc != "" {
		return ""
	}
	if find("cargo") == "" {
		return "cargo and rustc are missing; on Debian: apt install cargo rustc libstd-rust-dev-wasm32 lld"
	}
	return "rustc has no target " + rustTarget + "; `rustup target add " + rustTarget +
		"`, or on Debian: apt install cargo rustc libstd-rust-dev-wasm32 lld"
}

func compileRust(ctx context.Context, j *job) ([]byte, error) {
	if m := missingRust(); m != "" {
		return nil, failure(ErrTool, nil, "%s", m)
	}
	cargo, rustc := rustToolchain()
	j.version(ctx, "", rustc, "--version")
	j.version(ctx, "", cargo, "--version")
	if ld := find("wasm-ld"); ld != "" {
		j.version(ctx, "", ld, "--version")
	}
	environ := env("RUSTC="+rustc, "CARGO_TARGET_DIR="+filepath.Join(j.work, "cargo"))
	flags, err := j.remapped(ctx, environ, cargo)
	if err != nil {
		return nil, err
	}
	flags = append(flags, "-Clink-arg=-zstack-size=65536") // the default of 1 MiB is zeroed for every invocation
	if j.opts.Debug {
		environ = append(environ, "CARGO_PROFILE_RELEASE_DEBUG=1", "CARGO_PROFILE_RELEASE_STRIP=false")
	}
	environ = append(environ, "CARGO_ENCODED_RUSTFLAGS="+strings.Join(flags, "\x1f"))
	if runtime.GOOS != "windows" {
		wrapper := filepath.Join(j.work, "rustc-wrapper")
		if err := os.WriteFile(wrapper, []byte(rustcWrapper), 0o755); err != nil {
			return nil, failure(ErrWrite, err, "%s could not be written: %v", wrapper, reason(err))
		}
		environ = append(environ, "RUSTC_WRAPPER="+wrapper)
	}
	out, err := j.run(ctx, environ, readRust, cargo, "build", "--release", "--quiet", "--target", rustTarget,
		"--message-format=json")
	if err != nil {
		return nil, err
	}
	file, err := builtModule(out)
	if err != nil {
		return nil, err
	}
	b, err := files.Read(file, maxCompiled)
	if err != nil {
		return nil, failure(ErrCompile, err, "the module that cargo names cannot be read: %v", reason(err))
	}
	return b, nil
}

// rustcWrapper makes builds independent of where the source lies: cargo hashes
// absolute paths into the metadata of each crate, which decides symbol names and
// with them the order of functions in the module.
const rustcWrapper = `#!/bin/sh
rustc=$1
shift
for arg; do
	shift
	case $arg in metadata=*) arg=metadata=$CARGO_PKG_NAME-$CARGO_PKG_VERSION ;; esac
	set -- "$@" "$arg"
done
exec "$rustc" "$@"
`

// remapped returns flags that replace the directories of all packages by their
// names: panics carry source paths, and no path of this machine may get into a module.
func (j *job) remapped(ctx context.Context, environ []string, cargo string) ([]string, error) {
	out, err := j.run(ctx, environ, readRust, cargo, "metadata", "--format-version", "1", "--quiet")
	if err != nil {
		return nil, err
	}
	var meta struct {
		Packages []struct {
			Name         string `json:"name"`
			ManifestPath string `json:"manifest_path"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(out, &meta); err != nil {
		return nil, failure(ErrCompile, err, "cargo described the packages in a form that is not known: %v", err)
	}
	var flags []string
	j.crates = map[string]string{}
	for _, p := range meta.Packages {
		j.crates[p.Name] = filepath.Dir(p.ManifestPath)
		flags = append(flags, "--remap-path-prefix="+filepath.Dir(p.ManifestPath)+"=/"+p.Name)
	}
	return flags, nil
}

// builtModule finds the module among cargo's messages.
func builtModule(messages []byte) (string, error) {
	var found []string
	for _, m := range rustMessages(string(messages)) {
		if m.Reason != "compiler-artifact" {
			continue
		}
		for _, f := range m.Filenames {
			if strings.HasSuffix(f, ".wasm") {
				found = append(found, f)
			}
		}
	}
	if len(found) != 1 {
		return "", failure(ErrSource, nil, `cargo made %d modules, not one; Cargo.toml needs [lib] crate-type = ["cdylib"]`,
			len(found))
	}
	return found[0], nil
}
