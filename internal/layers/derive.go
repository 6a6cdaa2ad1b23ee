// Package layers decides what configuration is in force for one user of system mode: the organisation's belay.yaml,
// the reviewers that system.yaml names for this user, the hooks that a reviewer has approved for them, and the user's
// own file. The result is an ordinary belay.yaml. Nothing that the user adds gives an action more than the organisation
// does.
//
// It reads and writes no file.
package layers

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/rules"
)

// Origin says which layer each hook and key of a derived belay.yaml comes from. It stands beside the file: a hook that
// it does not name was approved for the user since.
type Origin struct {
	Version      string    `json:"version"`
	Organisation []string  `json:"organisation"`  // names of hooks
	User         []string  `json:"user,omitzero"` // names of hooks
	Keys         keyLayers `json:"keys,omitzero"` // keys that the user's file has a part in
}

// names reports whether the hook comes from a file, and was not approved.
func (o *Origin) names(hook string) bool {
	return slices.Contains(o.Organisation, hook) || slices.Contains(o.User, hook)
}

// OriginVersion is the only version of the format.
const OriginVersion = "belay-layers/v1"

// OriginName is the name of the file with the Origin in a state directory.
const OriginName = "layers.json"

// Sources are what a belay.yaml is derived from.
type Sources struct {
	UID          int      // of the user
	Organisation []byte   // belay.yaml of the organisation
	Dir          string   // where it is: its relative paths are below
	Reviewers    []string // names of its reviewers whose signature counts for this user
	User         []byte   // the user's own file; nil: none
	Before       []byte   // the derived file until now; nil: none
	Origin       []byte   // what stands beside it; nil: none
}

// header is the first line of a derived file.
const header = "# belay derives this file from the organisation's: edits are lost. `belay config effective` shows it by layer.\n"

// Derived is what Derive makes: the bytes of belay.yaml and of what stands beside it.
type Derived struct {
	File, Origin []byte
	// Between is what stands beside while the file is replaced: it knows the hooks of the file before and of the new
	// one, so that a crash leaves none that is taken for an approved one.
	Between []byte
}

// Derive returns belay.yaml for one user, and its Origin. Errors are of class config.ErrConfig. The same sources give
// the same bytes.
func Derive(s Sources) (*Derived, error) {
	org, err := config.Parse(s.Organisation)
	if err != nil {
		return nil, err
	}
	out := organisation(org, s)
	from := Origin{Version: OriginVersion, Organisation: []string{}}
	for _, b := range org.Hooks {
		from.Organisation = append(from.Organisation, b.Name)
	}
	before, err := readOrigin(s.Origin)
	if err != nil {
		return nil, err
	}
	kept, err := approved(s.Before, before, from.Organisation)
	if err != nil {
		return nil, err
	}
	out.Hooks = append(out.Hooks, kept...)
	if s.User != nil {
		if err := addUser(out, &from, s.User); err != nil {
			return nil, err
		}
	}
	body, err := json.Marshal(out, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrConfig, err)
	}
	d := &Derived{File: append([]byte(header), append(body, '\n')...)}
	if _, err := config.Parse(d.File); err != nil {
		return nil, fmt.Errorf("%w: the derived file is not valid: %w", config.ErrConfig, err)
	}
	if d.Origin, err = encode(&from); err != nil {
		return nil, err
	}
	both := from
	if before != nil {
		both.Organisation = union(from.Organisation, before.Organisation)
		both.User = union(from.User, before.User)
	}
	d.Between, err = encode(&both)
	return d, err
}

// organisation returns what holds for the user without a word of theirs.
func organisation(org *config.File, s Sources) *config.File {
	out := *org
	out.Hooks = slices.Clone(org.Hooks)
	for i := range out.Hooks {
		absolute(&out.Hooks[i], s.Dir)
		out.Hooks[i].Apart = false // it would see what hooks of the user annotate
	}
	if out.Redact.Gitleaks != "" {
		out.Redact.Gitleaks = below(s.Dir, out.Redact.Gitleaks)
	}
	out.Redact.Secrets = slices.Clone(out.Redact.Secrets)
	for i, secret := range out.Redact.Secrets {
		if path, ok := strings.CutPrefix(secret, "file:"); ok {
			out.Redact.Secrets[i] = "file:" + below(s.Dir, path)
		}
	}
	// The agent asks under the uid of the person: a decision without a signature could be its own.
	out.Approvals.Unsigned = false
	out.Reviewers = slices.DeleteFunc(slices.Clone(org.Reviewers), func(r config.Reviewer) bool {
		return !slices.Contains(s.Reviewers, r.Name)
	})
	out.Store = org.Store.WithUID(s.UID)
	return &out
}

// addUser puts the user's file over out.
func addUser(out *config.File, from *Origin, src []byte) error {
	user, err := ParseUser(src)
	if err != nil {
		return err
	}
	if from.Keys, err = restrict(out, user); err != nil {
		return inUser(err)
	}
	for _, b := range user.Hooks {
		from.User = append(from.User, b.Name)
	}
	return nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func encode(o *Origin) ([]byte, error) {
	out, err := json.Marshal(o, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrConfig, err)
	}
	return append(out, '\n'), nil
}

// readOrigin decodes what stands beside a derived file; nil: nothing does.
func readOrigin(src []byte) (*Origin, error) {
	if src == nil {
		return nil, nil
	}
	from := new(Origin)
	if err := json.Unmarshal(src, from, json.RejectUnknownMembers(true)); err != nil || from.Version != OriginVersion {
		return nil, fmt.Errorf("%w: %s cannot be read: move it and belay.yaml beside it away to begin anew: %w",
			config.ErrConfig, OriginName, err)
	}
	return from, nil
}

// approved returns the hooks that were bound after the file before was derived, unless the organisation has taken the
// name.
func approved(file []byte, from *Origin, taken []string) ([]config.Binding, error) {
	if file == nil || from == nil {
		return nil, nil
	}
	before, err := config.Parse(file)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(before.Hooks, func(b config.Binding) bool {
		return from.names(b.Name) || slices.Contains(taken, b.Name)
	})
	for i := range kept {
		kept[i].Apart = false
	}
	return kept, nil
}

// absolute has the paths of a binding begin at the top: they are written for another directory.
func absolute(b *config.Binding, dir string) {
	switch {
	case strings.HasPrefix(b.Module, "builtin:"), strings.HasPrefix(b.Module, "sha256:"):
	default:
		if file, _, ok := rules.ParseModule(b.Module); ok {
			b.Module = strings.Replace(b.Module, file, below(dir, file), 1)
			break
		}
		b.Module = below(dir, b.Module)
	}
	if b.ConfigFile != "" {
		b.ConfigFile = below(dir, b.ConfigFile)
	}
}

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
