package hookbuild

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Targets returns the targets of TinyGo that hooks can be built for. The first one is the default: its modules import
// nothing but belay_v1, where those of wasip1 import functions of WASI as well.
func Targets() []string { return []string{"wasm-unknown", "wasip1"} }

// firstTinyGo is the minor version of the first TinyGo 0 that knows //go:wasmexport.
const firstTinyGo = 34

func compileTinyGo(ctx context.Context, j *job, tiny string) ([]byte, error) {
	target := j.opts.Target
	if target == "" {
		target = Targets()[0]
	}
	if !slices.Contains(Targets(), target) {
		return nil, failure(ErrSource, nil, "%q is not a target that hooks can be built for; there are %s", clip(target),
			strings.Join(Targets(), ", "))
	}
	j.version(ctx, "", tiny, "version")
	if old := olderTinyGo(j.tools[len(j.tools)-1]); old != "" {
		return nil, failure(ErrTool, nil, "TinyGo %s does not know //go:wasmexport; hooks need TinyGo 0.%d or newer, or standard Go",
			old, firstTinyGo)
	}
	// c-shared makes a reactor, _initialize and the exports; wasip1 would be a command without it. A turn has one thread
	// and ends soon, so that neither a scheduler nor a collector of garbage has work to do.
	args := []string{"build", "-target=" + target, "-buildmode=c-shared", "-scheduler=none", "-gc=leaking", "-opt=2",
		"-o", j.output()}
	if !j.opts.Debug {
		args = append(args, "-no-debug")
	}
	if _, err := j.run(ctx, env("GOWORK=off"), readGo, tiny, append(args, ".")...); err != nil {
		return nil, err
	}
	return j.read()
}

var tinyGoVersion = regexp.MustCompile(`\btinygo version 0\.([0-9]{1,4})[.0-9]*`)

// olderTinyGo returns the version of a TinyGo that is too old, or "". What does not say its version is tried.
func olderTinyGo(said string) string {
	m := tinyGoVersion.FindStringSubmatch(said)
	if m == nil {
		return ""
	}
	if minor, err := strconv.Atoi(m[1]); err != nil || minor >= firstTinyGo {
		return ""
	}
	return strings.TrimPrefix(m[0], "tinygo version ")
}
