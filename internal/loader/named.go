package loader

import (
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/tiers"
)

// settingsGuard is the hook that gets to know which files the configuration names.
const settingsGuard = "builtin:settings-guard"

// namedFiles is what belay.yaml and the trust policy name, under each name that leads there. policy may be nil.
func namedFiles(f *config.File, dir string, policy *tiers.Policy) []string {
	list := f.NamedFiles(dir)
	if policy != nil {
		for _, name := range policy.Files() {
			list = append(list, filepath.Clean(statedir.Inside(dir, name)))
		}
	}
	for _, name := range slices.Clone(list) {
		if real := realPath(name); real != name {
			list = append(list, real)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// realPath follows symbolic links as far as there is something: the file itself may not be there yet.
func realPath(name string) string {
	for at, rest := name, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if filepath.Dir(at) == at {
			return name
		}
	}
}

// tellNamed adds the files to the options of settings-guard, beside those that the operator lists. Options that are
// no object stay as they are: the hook's schema refuses them.
func tellNamed(b *config.Binding, list []string) {
	if b.Module != settingsGuard || len(list) == 0 {
		return
	}
	options := map[string]jsontext.Value{}
	if len(b.Config) > 0 && json.Unmarshal(b.Config, &options) != nil {
		return
	}
	var listed []string
	if raw, ok := options["files"]; ok && json.Unmarshal(raw, &listed) != nil {
		return
	}
	for _, name := range list {
		if !slices.Contains(listed, name) {
			listed = append(listed, name)
		}
	}
	files, err := json.Marshal(listed)
	if err != nil {
		return
	}
	options["files"] = files
	if all, err := json.Marshal(options, json.Deterministic(true)); err == nil {
		b.Config = all
	}
}
