package schema

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// File is a file that has a schema.
type File struct {
	Name string // as `belay schema` takes it
	Of   string // what a person calls the file
	root reflect.Type
	b    func() *builder
}

// Files returns every file that has a schema.
func Files() []File {
	return []File{
		{"belay", "belay.yaml: the configuration of a state directory", reflect.TypeFor[config.File](), belay},
		{"trust", "trust.yaml: whose signatures count", reflect.TypeFor[tiers.Policy](), trust},
		{"rules", "rules.yaml: a rules file", reflect.TypeFor[rules.File](), rulesFile},
		{"manifest", "belay.yaml beside a hook's source: its manifest", reflect.TypeFor[tiers.Manifest](), manifest},
		{"suite", "a file of cases for belay test", reflect.TypeFor[suite.Suite](), suites},
	}
}

// Of returns the schema of a file as JSON, or false where no file has that name.
func Of(name string) ([]byte, bool) {
	files := Files()
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	root := files[i].b().of(files[i].root)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = files[i].Of
	b, err := json.Marshal(root, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err)) // maps of texts and numbers
	}
	return append(b, '\n'), true
}

const (
	nameForm       = `^[a-z0-9][a-z0-9._-]{0,63}$`
	digestForm     = `^sha256:[0-9a-f]{64}$`
	pointerForm    = `^(/([^~]|~[01])*)$`
	durationForm   = `^[+-]?([0-9]*\.?[0-9]*(ns|us|µs|μs|ms|s|m|h))+$|^[+-]?0$`
	capabilityForm = `^([a-z][a-z0-9_]*|rewrite:/.{0,255})$`
	versionForm    = `^(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`
)

func phaseNames() node { return enum(phases.Phases()...) }

// blockable are the phases in which something can be stopped.
func blockable() node {
	return enum(slices.DeleteFunc(phases.Phases(), func(p phases.Phase) bool { return p == phases.Audit })...)
}

func scope() node {
	return node{"type": "array", "items": node{"type": "string", "minLength": 1}}
}

func capabilities() node { return node{"items": node{"type": "string", "pattern": capabilityForm}} }

// shared are types and members that several files have.
func shared() *builder {
	b := &builder{types: common(), members: map[string]node{}, objects: map[string]node{}}
	b.types[reflect.TypeFor[phases.Phase]()] = phaseNames
	b.types[reflect.TypeFor[phases.Scope]()] = scope
	b.types[reflect.TypeFor[leases.Digests]()] = func() node {
		return node{"type": "array", "items": node{"type": "string"}}
	}
	b.types[reflect.TypeFor[rules.Texts]()] = texts
	b.types[reflect.TypeFor[rules.Values]()] = anything
	for _, m := range []string{"Scopes.fs_read", "Scopes.fs_write", "Scopes.net", "Scopes.tools", "Scope.paths",
		"Scope.hosts", "Scope.tools", "Scope.args", "File.known_tools", "RequireLease.tools"} {
		b.members[m] = node{"not null": true} // [] is nothing, and nothing is everything: null would be either
	}
	for _, m := range []string{"Budget.fuel", "Budget.deadline_ms", "Budget.memory_mib"} {
		b.members[m] = node{"minimum": 0}
	}
	b.members["Match.tools"] = say("RE2, unanchored", nil)
	b.members["Match.agents"] = say("RE2, unanchored", nil)
	return b
}

// set adds what members have beside their types.
func (b *builder) set(members map[string]node) *builder {
	for k, v := range members {
		b.members[k] = v
	}
	return b
}
