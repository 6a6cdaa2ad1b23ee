package hookbuild

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/files"
)

func missingAS() string {
	if find("node") == "" {
		return "node is missing; on Debian: apt install nodejs npm"
	}
	return ""
}

func compileAS(ctx context.Context, j *job) ([]byte, error) {
	if m := missingAS(); m != "" {
		return nil, failure(ErrTool, nil, "%s", m)
	}
	asc, err := ascOf(ctx, j.dir)
	if err != nil {
		return nil, err
	}
	j.version(ctx, "AssemblyScript", asc[0], append(asc[1:len(asc):len(asc)], "--version")...)
	out, err := filepath.Rel(j.dir, j.output())
	if err != nil {
		out = j.output()
	}
	args := append(asc[1:len(asc):len(asc)], "--config", "asconfig.json", "--target", "release", "--noColors",
		"--outFile", out)
	if j.opts.Debug {
		args = append(args, "--debug")
	}
	if _, err := j.run(ctx, env(), readAS, asc[0], args...); err != nil {
		return nil, err
	}
	return j.read()
}

// ascOf returns the words that start the compiler of the hook in dir: the one in its own node_modules, or the asc on
// PATH if that is of the version that the hook's lock file pins. The error is ErrTool or ErrSource.
func ascOf(ctx context.Context, dir string) ([]string, error) {
	// Run by name of the script: the wrapper in .bin is not the same everywhere.
	own := filepath.Join("node_modules", "assemblyscript", "bin", ascScript)
	if files, _ := filepath.Glob(filepath.Join(dir, own)); len(files) > 0 {
		return []string{find("node"), filepath.Join(dir, own)}, nil
	}
	asc := find("asc")
	if asc == "" {
		return nil, failure(ErrTool, nil,
			"the AssemblyScript compiler is neither in %s nor on PATH; run `npm ci` in that directory", dir)
	}
	pinned, err := pinnedASC(dir)
	if err != nil || pinned == "" {
		return []string{asc}, err
	}
	said, _ := exec.CommandContext(ctx, asc, "--version").Output()
	if here := strings.TrimPrefix(strings.TrimSpace(string(said)), "Version "); here != pinned {
		return nil, failure(ErrTool, nil,
			"%s pins AssemblyScript %s, and the asc on PATH is of another version (%s); run `npm ci` in %s",
			ascLock, pinned, clip(here), dir)
	}
	return []string{asc}, nil
}

const (
	ascScript = "asc.js"
	ascLock   = "package-lock.json"
)

// pinnedASC returns the version of the compiler that the lock file of a hook names, or "" where there is none.
func pinnedASC(dir string) (string, error) {
	src, err := files.Read(filepath.Join(dir, ascLock), maxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", failure(ErrSource, err, "%s cannot be read: %v", ascLock, reason(err))
	}
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(src, &lock); err != nil {
		return "", failure(ErrSource, err, "%s cannot be read: %v", ascLock, err)
	}
	return lock.Packages["node_modules/assemblyscript"].Version, nil
}
