package layers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

// UserName is the name of the file with a user's layer in a state directory.
const UserName = "user.yaml"

// MaxUser is the largest file of a user's layer, in bytes.
const MaxUser = 64 << 10

// maxUserHooks bounds what one user has the daemon of all load.
const maxUserHooks = 16

// UserPrefix begins the names of a user's hooks: state is kept by name, and no hook of the organisation is to find what
// a user's hook wrote.
const UserPrefix = "user-"

// ParseUser reads a user's layer, which may only restrict. Errors are of class config.ErrConfig, in words of
// user.yaml, with a line.
func ParseUser(src []byte) (*config.File, error) {
	f, err := parseUser(src)
	return f, inUser(err)
}

func parseUser(src []byte) (*config.File, error) {
	if len(src) > MaxUser {
		return nil, &config.Error{Reason: fmt.Sprintf("larger than %d bytes", MaxUser)}
	}
	f, err := config.Parse(src)
	if err != nil {
		return nil, err
	}
	if err := onlyKeys(src); err != nil {
		return nil, err
	}
	if len(f.Hooks) > maxUserHooks {
		return nil, f.Errorf("/hooks", "at most %d", maxUserHooks)
	}
	for i := range f.Hooks {
		if err := userHook(f, &f.Hooks[i], fmt.Sprintf("/hooks/%d", i)); err != nil {
			return nil, err
		}
	}
	for i, m := range f.Redact.Masks {
		if m.How != config.MaskHash {
			return nil, f.Errorf(fmt.Sprintf("/redact/masks/%d", i),
				"a user's mask leaves a hash: what is removed can never be proved")
		}
	}
	return f, nil
}

// inUser has an error of package config name the user's file.
func inUser(err error) error {
	var e *config.Error
	if errors.As(err, &e) && e.File == "" {
		named := *e
		named.File = UserName
		return &named
	}
	return err
}

func userHook(f *config.File, b *config.Binding, at string) error {
	switch {
	case !strings.HasPrefix(b.Name, UserPrefix):
		return f.Errorf(at+"/name", "the name of a user's hook begins with %s, such as %s%s", UserPrefix, UserPrefix, b.Name)
	case !strings.HasPrefix(b.Module, "builtin:") && !strings.HasPrefix(b.Module, "sha256:"):
		return f.Errorf(at+"/module", "a user's hook is builtin:NAME, or sha256:HEX of a hook that is installed: "+
			"the daemon reads no file of a user's (`belay hook propose` brings one to a reviewer)")
	case b.Phases == nil:
		return f.Errorf(at, "phases is missing: a user's hook says in which phases it runs")
	}
	for i, c := range b.Capabilities {
		if !slices.Contains(Capabilities(), c) {
			return f.Errorf(fmt.Sprintf("%s/capabilities/%d", at, i),
				"%s is not for a user's hook, which only restricts; it may have %s", c, strings.Join(Capabilities(), ", "))
		}
	}
	return nil
}

// onlyKeys refuses a file with a key that is the organisation's alone, or that no rule knows: the first of them in the
// file. Preconditions: the file was parsed.
func onlyKeys(src []byte) error {
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return &config.Error{Reason: err.Error(), Cause: err}
	}
	var v any
	if err := json.Unmarshal(doc.JSON, &v); err != nil {
		return &config.Error{Reason: err.Error(), Cause: err}
	}
	first, why := "", ""
	walk(v, "", "", func(key, pointer string, _ any) bool {
		r, known := RuleOf(key)
		if known && r.Merge != Organisation {
			return !whole(r.Key)
		}
		if first == "" || doc.Line(pointer) < doc.Line(first) {
			first, why = pointer, "is the organisation's alone, and not for a user's file"
		}
		return false
	})
	if first == "" {
		return nil
	}
	return &config.Error{Line: doc.Line(first), Pointer: first, Reason: why}
}

// walk calls see for each value below v, and goes on below those for which it says so.
func walk(v any, key, pointer string, see func(key, pointer string, v any) bool) {
	if key != "" && !see(key, pointer, v) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) { // of two faults in one line always the same is told
			next := name
			if key != "" {
				next = key + "." + name
			}
			walk(v[name], next, phases.Join(pointer, name), see)
		}
	case []any:
		for i, below := range v {
			walk(below, key+"[]", pointer+"/"+strconv.Itoa(i), see)
		}
	}
}
