package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/phases"
)

// recordingFiles lists files, and the recordings in directories, in order of their names.
func recordingFiles(args []string) ([]string, error) {
	var out, begun []string
	for _, arg := range args {
		fi, err := os.Stat(arg)
		if err != nil {
			return nil, failureBy(err, "")
		}
		if !fi.IsDir() {
			out = append(out, arg)
			continue
		}
		found, err := filesIn(arg, ".rec", ".rec.age")
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		begun = append(begun, leftIn(arg)...)
	}
	switch {
	case len(out) > 0:
		slices.Sort(out)
		return slices.Compact(out), nil
	case len(begun) > 0:
		return nil, usageError(fmt.Sprintf("there is no recording, only what was left of one: %s", safe(begun[0])),
			"The program that wrote it was killed before it was complete. It holds originals: remove it, and record again.")
	}
	return nil, usageError("there is no recording", "`belay record` makes one. Recordings end in .rec or .rec.age.")
}

// leftIn lists what recorders that were killed have left in a directory.
func leftIn(dir string) []string {
	var out []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), beganAs) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// filesIn lists the files of a directory whose names end so, sorted.
func filesIn(dir string, endings ...string) ([]string, error) {
	entries, err := os.ReadDir(dir) // not Glob: a name may hold what patterns are made of
	if err != nil {
		return nil, failureBy(err, "")
	}
	var out []string
	for _, e := range entries {
		if slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(e.Name(), end) }) &&
			!strings.HasPrefix(e.Name(), ".") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// modulesBeside reads the named files, and the modules that lie beside recordings.
func modulesBeside(named, recordings []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	add := func(path string) (bool, error) {
		m, err := readModule(path)
		if err != nil {
			return false, failureBy(err, "")
		}
		if len(m) >= maxModule {
			return false, nil // no module that could have run
		}
		out[phases.ByteDigest(m)] = m
		return true, nil
	}
	for _, path := range named {
		switch took, err := add(path); {
		case err != nil:
			return nil, err
		case !took:
			return nil, failure(safe(path)+" is larger than a module may be", "")
		}
	}
	dirs := map[string]bool{}
	for _, r := range recordings {
		dirs[filepath.Dir(r)] = true
	}
	for dir := range dirs {
		found, err := filesIn(dir, ".wasm")
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			if _, err := add(path); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// candidateOf reads the candidate that replay compares with the recordings, and
// returns its name for the report and the revision of its configuration.
func candidateOf(bench *loader.Bench, opts *replay.Options, options replayOptions) (name, revision string, err error) {
	if len(options.hooks) == 0 && options.policy == "" {
		return "", "", nil
	}
	c := &replay.Candidate{Policy: options.policy}
	opts.Candidate = c
	var names []string
	for _, spec := range options.hooks {
		h, shown, err := candidateHook(bench, spec)
		if err != nil {
			return "", "", err
		}
		c.Hooks, names = append(c.Hooks, h), append(names, shown)
	}
	if options.policy != "" {
		cfg, _, err := bench.Policy(options.policy)
		if err != nil {
			return "", "", failureBy(err, "Correct "+safe(options.policy)+".")
		}
		return "another configuration", cfg.Revision, nil
	}
	return strings.Join(names, ", "), "", nil
}

// candidateHook parses FILE.wasm|builtin:NAME[,name=BINDING][,config=FILE][,priority=N][,allow=all].
func candidateHook(bench *loader.Bench, spec string) (hook replay.Hook, shown string, err error) {
	var rest []string
	for i, p := range strings.Split(spec, ",") {
		key, value, _ := strings.Cut(p, "=")
		switch {
		case i > 0 && key == "name":
			hook.Name = value
		case i > 0 && key == "allow" && value == "all":
			hook.AllowAll = true
		case i > 0 && key == "allow":
			return hook, "",
				usageError("--hook "+safe(spec)+": allow takes all",
					"Without it the hook may do what the operator allowed the recorded one.")
		default:
			rest = append(rest, p)
		}
	}
	adHocHook, err := parseHook(strings.Join(rest, ","))
	if err != nil {
		return hook, "", err
	}
	if hook.Module, err = moduleOf(bench, adHocHook.Path); err != nil {
		return hook, "", err
	}
	hook.Config = adHocHook.Config
	if slices.ContainsFunc(rest, func(p string) bool { return strings.HasPrefix(p, "priority=") }) {
		hook.Priority = &adHocHook.Priority
	}
	name, version := bench.NameOf(hook.Module)
	if hook.Name == "" {
		if hook.Name = name; name == "" {
			hook.Name = adHocHook.Name
		}
	}
	return hook, strings.TrimSpace(hook.Name + " " + version), nil
}

// moduleOf reads a module file, or one that comes with belay.
func moduleOf(bench *loader.Bench, what string) ([]byte, error) {
	if isBuiltin(what) {
		m, err := bench.Builtin(strings.TrimPrefix(what, "builtin:"))
		if err != nil {
			return nil, failureBy(err, "`belay hook list --builtin` lists them.")
		}
		return m, nil
	}
	m, err := readModule(what)
	if err != nil {
		return nil, failureBy(err, "")
	}
	return m, nil
}

// maxIdentity is the most of a file of keys that is read, in bytes.
const maxIdentity = 1 << 20

// readIdentity reads a file that should be small.
func readIdentity(path string) ([]byte, error) {
	src, err := readLimited(path, maxIdentity)
	if err != nil {
		return nil, failureBy(err, "")
	}
	return src, nil
}

// unseal opens a sealed recording.
func (a *App) unseal(f io.Reader, path string, files []string) (io.Reader, error) {
	reader, how := recording.Look(f)
	var ids recording.Identities
	switch how {
	case recording.Plain:
		return reader, nil
	case recording.ForPassphrase:
		p, err := a.recordingPassphrase(false)
		if err != nil {
			return nil, err
		}
		if ids, err = recording.PassphraseIdentities(p); err != nil {
			return nil, err
		}
	default:
		var err error
		if ids, err = identitiesOf(files); err != nil {
			return nil, err
		}
	}
	out, err := recording.Unseal(reader, path, ids)
	if err != nil && len(ids) == 0 {
		return nil, failureBy(err, "Give the key's file with --identity FILE.")
	}
	return out, err
}

// identitiesOf reads files of age keys.
func identitiesOf(files []string) (recording.Identities, error) {
	var ids recording.Identities
	for _, file := range files {
		src, err := readIdentity(file)
		if err != nil {
			return nil, err
		}
		more, err := recording.ParseIdentities(src)
		if err != nil {
			return nil, failureBy(fmt.Errorf("%s: %w", file, err), "")
		}
		ids = append(ids, more...)
	}
	return ids, nil
}
