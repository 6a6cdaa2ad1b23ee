// Package layers decides what configuration is in force for one user of system mode: the organisation's belay.yaml,
// the reviewers that system.yaml names for this user, and the hooks that a reviewer has approved for them. The result
// is an ordinary belay.yaml. Nothing that the user adds gives an action more than the organisation does.
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

// Origin says which layer each hook of a derived belay.yaml comes from. It stands beside the file: a hook that it does
// not name was approved for the user since.
type Origin struct {
	Version      string   `json:"version"`
	Organisation []string `json:"organisation"` // names of hooks
}

// OriginVersion is the only version of the format.
const OriginVersion = "belay-layers/v1"

// OriginName is the name of the file with the Origin in a state directory.
const OriginName = "layers.json"

// Sources are what a belay.yaml is derived from.
type Sources struct {
	Organisation []byte   // belay.yaml of the organisation
	Dir          string   // where it is: its relative paths are below
	Reviewers    []string // names of its reviewers whose signature counts for this user
	Before       []byte   // the derived file until now; nil: none
	Origin       []byte   // what stands beside it; nil: none
}

// header is the first line of a derived file.
const header = "# belay derives this file from the organisation's: edits are lost. `belay config effective` shows it by layer.\n"

// Derive returns belay.yaml for one user, and its Origin. Errors are of class config.ErrConfig. The same sources give
// the same bytes.
func Derive(s Sources) (file, origin []byte, err error) {
	org, err := config.Parse(s.Organisation)
	if err != nil {
		return nil, nil, err
	}
	out := *org
	out.Hooks = slices.Clone(org.Hooks)
	for i := range out.Hooks {
		absolute(&out.Hooks[i], s.Dir)
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
	from := Origin{Version: OriginVersion, Organisation: []string{}}
	for _, b := range org.Hooks {
		from.Organisation = append(from.Organisation, b.Name)
	}
	kept, err := approved(s, from.Organisation)
	if err != nil {
		return nil, nil, err
	}
	out.Hooks = append(out.Hooks, kept...)
	body, err := json.Marshal(out, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", config.ErrConfig, err)
	}
	file = append([]byte(header), append(body, '\n')...)
	if _, err := config.Parse(file); err != nil {
		return nil, nil, fmt.Errorf("%w: the derived file is not valid: %w", config.ErrConfig, err)
	}
	origin, err = json.Marshal(from, json.Deterministic(true))
	return file, append(origin, '\n'), err
}

// approved returns the hooks that were bound after the file before was derived, unless the organisation has taken the
// name.
func approved(s Sources, taken []string) ([]config.Binding, error) {
	if s.Before == nil || s.Origin == nil {
		return nil, nil
	}
	var from Origin
	if err := json.Unmarshal(s.Origin, &from, json.RejectUnknownMembers(true)); err != nil ||
		from.Version != OriginVersion {
		return nil, fmt.Errorf("%w: %s cannot be read: move it and belay.yaml beside it away to begin anew: %w",
			config.ErrConfig, OriginName, err)
	}
	before, err := config.Parse(s.Before)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(before.Hooks, func(b config.Binding) bool {
		return slices.Contains(from.Organisation, b.Name) || slices.Contains(taken, b.Name)
	}), nil
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
