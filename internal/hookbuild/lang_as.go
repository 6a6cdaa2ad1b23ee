package hookbuild

import (
	"context"
	"path/filepath"
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
	// Run by name of the script: the wrapper in .bin is not the same everywhere.
	asc := filepath.Join("node_modules", "assemblyscript", "bin", "asc.js")
	if len(j.globAt(asc)) == 0 {
		return nil, failure(ErrTool, nil, "the AssemblyScript compiler is not in %s; run `npm ci` there", j.dir)
	}
	node := find("node")
	j.version(ctx, "AssemblyScript", node, filepath.Join(j.dir, asc), "--version")
	out, err := filepath.Rel(j.dir, j.output())
	if err != nil {
		out = j.output()
	}
	if _, err := j.run(ctx, env(), node, asc, "--config", "asconfig.json", "--target", "release", "--outFile",
		out); err != nil {
		return nil, err
	}
	return j.read()
}

func (j *job) globAt(file string) []string {
	files, _ := filepath.Glob(filepath.Join(j.dir, file))
	return files
}
