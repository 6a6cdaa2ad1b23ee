// Package arch decides whether the packages of belay import each other only in
// the direction that the architecture allows (docs/ARCHITECTURE.md), whether
// each outside library is imported in its one place, and whether public
// declarations name public types only. It reads import lists and signatures; it
// never runs anything.
package arch

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Module is the module's path; the packages below are written without it.
const Module = "github.com/belay-hooks/belay"

// root is how the rules call the package at the module's root.
const root = "(root)"

// layers says for every package, or tree of packages (ending in /...), which of
// belay's own packages it may import. A package that no rule names may not exist.
func layers() map[string][]string {
	lower := []string{"internal/near", "phases", "tiers", "leases", "hostcalls", "kernel", "internal/strictyaml"}
	verifying := "tiers/sigstore" // heavy: only the commands
	assembled := append([]string{root, "internal/config", "internal/builtin", "internal/hookbuild", "internal/loader"},
		lower...)
	// what the harness is built on: never the root
	tools := append([]string{"internal/loader", "internal/builtin"}, lower...)
	return map[string][]string{
		"phases":               nil,
		"internal/near":        nil,
		"internal/strictyaml":  {"internal/near"},
		"internal/arch":        nil,
		"internal/leasetable":  {"leases"},
		"internal/arch/calls":  nil,
		"internal/restrict":    {"phases"},
		"internal/cover":       nil,
		"internal/prose":       nil,
		"internal/mutants":     {"internal/strictyaml"},
		"internal/mutants/...": {"internal/mutants"},
		"internal/files":       nil,
		"internal/peercred":    nil,
		"internal/system": {"internal/daemonapi", "internal/files", "internal/peercred", "internal/strictyaml",
			"phases"},
		"internal/every":   nil,
		"internal/tally":   nil,
		"internal/confine": {"internal/files"},
		"internal/toolrun": {"phases", "internal/config", "internal/confine", "internal/daemonapi", "internal/files",
			"internal/lines", "internal/peercred", "internal/system"},
		"internal/sysinstall": {"phases", "internal/confine", "internal/files", "internal/highwater", "internal/system",
			"internal/toolrun"},
		"hooks-sdk":         nil,
		"hooks-sdk/abi":     nil,
		"internal/statedir": {"internal/files"},
		"internal/trust": {"phases", "tiers", "kernel", "internal/sandbox", "internal/builtin",
			"internal/config", "internal/every", "internal/files", "internal/statedir"},
		"internal/loader": append([]string{"client/wire", "internal/sandbox", "internal/builtin", "internal/config",
			"internal/httpcall", "internal/files", "internal/links", "internal/sealcache", "internal/rules",
			"internal/statedir", "internal/trust"}, lower...),
		"internal/install": append([]string{"internal/queue", "client/wire", "kernel/approvals", "internal/builtin",
			"internal/config", "internal/hookdoc", "internal/rules", "internal/files",
			"internal/loader", "internal/statedir", "internal/trust"}, lower...),
		"internal/redaction": {"phases", "kernel", "internal/audit", "internal/config", "internal/gitleaks",
			"internal/files", "internal/redact", "internal/statedir"},
		"internal/revision":  {"client/wire", "phases", "kernel", "internal/statedir"},
		"internal/yamledit":  {"internal/strictyaml"},
		"internal/jsonedit":  nil,
		"docs":               {"internal/prose"},
		"internal/daemonapi": {"internal/peercred", "internal/files", "internal/links"},
		"internal/ownfiles":  {"internal/daemonapi", "internal/files"},
		"client/wire":        {"phases", "leases"}, // what an embedder's store and a client both name
		"examples-wasm":      nil,
		"tiers":              {"phases", "internal/strictyaml"},
		"cmd/internal/oci":   {"phases", "internal/files"},
		"tiers/sigstore":     {"phases", "tiers"},
		"leases":             {"phases", "tiers"},
		"internal/redact":    {"phases"},
		"internal/gitleaks":  {"internal/redact"},
		"hostcalls": {"phases", "tiers", "leases", "internal/glob", "internal/links", "internal/paths", "internal/redact",
			"internal/shell"},
		"internal/glob":       nil,
		"internal/links":      nil,
		"internal/paths":      nil,
		"internal/shell":      nil,
		"internal/filesource": {"internal/files", "internal/links"},
		"internal/runfiles":   {"phases", "internal/shell", "internal/files", "internal/filesource", "internal/links"},
		"internal/sandbox": {"phases", "tiers", "hostcalls", "internal/sandbox/...", "internal/files",
			"internal/sealcache"},
		"internal/sandbox/...":   {"internal/sandbox/..."},
		"internal/audit":         {"phases", "internal/eventbytes", "internal/redact"},
		"internal/notes":         {"phases", "leases", "internal/statedir", "internal/files"},
		"internal/highwater/...": nil, // a directory for tests
		"internal/highwater":     {"internal/files", "internal/statedir"},
		"internal/queue":         {"phases", "leases", "kernel/approvals"},
		"kernel/approvals":       {"phases", "tiers", "leases"},
		"kernel": {"internal/queue", "client/wire", "phases", "tiers", "leases", "hostcalls", "internal/links",
			"internal/shell",
			"internal/sandbox", "internal/redact", "internal/audit", "kernel/approvals", "internal/notes",
			"internal/files", "internal/statedir"},
		"kernel/storetest": {"internal/queue", "client/wire", "phases", "kernel", "kernel/approvals", "leases",
			"internal/leasetable",
			"internal/restrict"},
		"guard":             {"phases", "kernel", "kernel/approvals"},
		"internal/httpcall": {"phases", "hostcalls"},
		"internal/lines":    nil,
		"internal/mcptools": {"phases", "kernel", "internal/config", "internal/lines", "internal/toolpins"},
		"internal/toolpins": {"internal/queue", "client/wire", "phases", "kernel", "kernel/approvals", "internal/files",
			"internal/statedir"},
		"internal/config": {"internal/near", "internal/queue", "phases", "tiers", "leases", "internal/statedir",
			"internal/strictyaml", "internal/yamledit", "kernel/approvals", "internal/httpcall", "internal/redact"},
		"internal/telemetry":    {"phases", "kernel", "internal/redact"},
		"cmd/internal/export":   {"phases"},
		"cmd/internal/alarms":   {"client/wire", "phases"},
		"cmd/internal/activity": {"client/wire", "phases"},
		"internal/eventbytes":   {"phases"},
		"internal/eventpack":    nil,
		"internal/eventlog":     {"client/wire", "phases", "kernel", "internal/eventbytes", "internal/restrict"},
		"internal/fleet": {"client/wire", "phases", "kernel", "internal/eventlog", "internal/files", "internal/restrict",
			"internal/statedir", "internal/store/postgres"},
		"internal/fleet/member": {"kernel", "phases", "internal/store/postgres", "internal/trust"},
		"internal/sink": {"client/wire", "phases", "kernel", "internal/config", "internal/files",
			"internal/highwater", "internal/statedir"},
		"internal/store/...": {"internal/queue", "client/wire", "phases", "kernel", "leases", "kernel/approvals",
			"internal/eventbytes", "internal/eventpack", "internal/highwater",
			"internal/approvaltable", "internal/leasetable", "internal/restrict", "internal/store/...", "internal/files",
			"internal/statedir"},
		"internal/approvaltable": {"kernel", "kernel/approvals", "leases"},
		"internal/builtin":       {"phases", "tiers", "examples-wasm"},
		"internal/hookdoc":       {"internal/config"},
		"internal/schema": {"phases", "tiers", "leases", "internal/config", "internal/httpcall", "internal/rules",
			"internal/suite", "internal/strictyaml"},
		"internal/sealcache":     {"internal/files"},
		"internal/rules":         {"phases", "tiers", "leases", "hostcalls", "internal/sandbox/...", "internal/strictyaml"},
		"internal/rules/code":    {"phases", "tiers", "internal/rules"},
		"internal/rules/explain": {"phases", "kernel", "internal/loader", "internal/rig", "internal/rules"},
		"internal/hookbuild":     {"phases", "tiers", "hooks-sdk", "internal/strictyaml", "internal/files"},
		"internal/hookbuild/...": {"internal/hookbuild", "internal/statedir", "internal/suite"},
		root: append(
			[]string{
				"internal/fleet",
				"internal/fleet/member",
				"internal/install",
				"internal/redaction",
				"client/wire",
				"internal/loader",
				"internal/sandbox",
				"internal/redact",
				"internal/audit",
				"internal/config",
				"internal/store/...",
				"internal/eventlog",
				"internal/mcptools",
				"internal/toolpins",
				"internal/sink",
				"kernel/approvals",
				"internal/notes",
				"internal/statedir",
				"internal/revision",
				"internal/trust",
				"internal/keyring",
				"internal/peercred",
				"internal/statelog",
				"internal/retention",
				"internal/every",
			},
			lower...),
		"internal/keyring": {"phases", "kernel", "internal/audit", "internal/eventlog", "internal/files",
			"internal/statedir"},
		"internal/statelog": {"internal/queue", "client/wire", "phases", "kernel", "kernel/approvals", "leases",
			"internal/config", "internal/every", "internal/eventlog", "internal/highwater", "internal/peercred",
			"internal/files", "internal/sink", "internal/statedir", "internal/store/dry", "internal/store/forward",
			"internal/store/marked", "internal/store/memory", "internal/store/postgres", "internal/store/sqlite"},
		"internal/junit":           nil,
		"internal/transcripts":     {"internal/files", "internal/filesource"},
		"internal/transcripts/...": {"internal/files", "internal/transcripts", "internal/store/sqlite/foreign"},
		"internal/reconcile": {"client/wire", "internal/files", "internal/filesource", "internal/store/sqlite/foreign",
			"internal/transcripts", "internal/transcripts/...", "phases"},
		"internal/textdiff":  nil,
		"internal/recording": {"phases", "tiers", "hostcalls", "kernel"},
		"internal/rig":       {"client/wire", "phases", "hostcalls", "kernel", "internal/store/memory"},
		"internal/suite": append([]string{"internal/hookbuild", "internal/junit", "internal/recording", "internal/rig",
			"internal/audit", "internal/redact", "internal/statedir", "internal/cover", "internal/files",
			"internal/rules"}, tools...),
		"internal/replay": append([]string{"client/wire", "internal/statedir", "internal/recording", "internal/rig"},
			tools...),
		"internal/fuzz": append([]string{"client/wire", "internal/statedir", "internal/junit", "internal/page",
			"internal/recording",
			"internal/replay",
			"internal/rig", "internal/redact"}, tools...),
		"internal/page":          nil,
		"internal/page/pagetest": nil,
		"internal/report": {"phases", "internal/junit", "internal/page", "internal/recording", "internal/replay",
			"internal/redact", "internal/textdiff"},
		"internal/retention": append([]string{"client/wire", "internal/config", "internal/recording", "internal/audit",
			"internal/files", "internal/sink",
			"internal/statedir"}, tools...),
		"harness": {"phases", "kernel", "internal/fuzz", "internal/loader", "internal/recording", "internal/replay",
			"internal/report", "internal/statedir", "internal/suite"},
		"harness/harnesstest": {"phases", "internal/loader", "internal/recording", "internal/replay", "internal/statedir",
			"internal/suite"},
		"harness/conformance": append([]string{"internal/rig", "internal/audit", "internal/redact",
			"internal/httpcall"}, tools...),
		"internal/agents":       nil, // its tests run the real clients, behind a build tag
		"internal/agents/table": {"internal/agents"},
		"adapters":              {"phases"},
		"adapters/...":          {"phases", "adapters", "adapters/internal/..."},
		"client": {"client/wire", "internal/daemonapi", "phases", "leases", "kernel/approvals",
			"internal/peercred", "internal/files", "internal/ownfiles", "internal/system"},
		"cmd/internal/dispatch": {"phases", "kernel", "adapters", "internal/files", "internal/filesource", "internal/links",
			"internal/runfiles"},
		"cmd/internal/connect": {"phases", "adapters/...", "internal/files", "internal/jsonedit", "internal/statedir"},
		"cmd/internal/server": append([]string{"internal/queue", "internal/reconcile", "internal/transcripts",
			"internal/daemonapi", "internal/files", "internal/filesource",
			"internal/toolpins", "internal/install", "internal/layers", "internal/tally", "client/wire",
			"internal/recording", "internal/rules", "kernel/approvals", "internal/statedir", "adapters", "adapters/...",
			"client",
			"cmd/internal/dispatch", "internal/peercred",
			"internal/sink", "internal/statelog"}, assembled...),
		"cmd/internal/cli": append([]string{"internal/fleet", "internal/store/postgres", "internal/queue", "internal/junit",
			"internal/page", "internal/reconcile", "internal/daemonapi", "internal/files", "internal/install",
			"internal/keyring", "internal/sysinstall", "internal/toolpins",
			"internal/redaction",
			"client/wire", verifying, "cmd/internal/activity", "cmd/internal/alarms", "cmd/internal/alone",
			"cmd/internal/signing", "cmd/internal/hookcmd",
			"kernel/approvals", "adapters", "adapters/...", "harness/conformance", "internal/fuzz", "internal/recording",
			"internal/replay", "internal/report", "internal/retention", "internal/rig", "internal/rules", "internal/rules/code",
			"internal/rules/explain", "internal/suite", "cmd/internal/server",
			"cmd/internal/dispatch", "cmd/internal/connect", "client", "cmd/internal/front", "cmd/internal/machinelog",
			"internal/confine", "internal/layers", "internal/system", "internal/tally", "internal/toolrun",
			"internal/telemetry", "cmd/internal/export", "internal/sandbox", "internal/redact", "internal/gitleaks",
			"internal/hookbuild", "internal/hookdoc", "internal/schema", "internal/cover", "cmd/internal/oci",
			"internal/textdiff", "internal/statedir", "internal/sink", "internal/trust", "internal/peercred",
			"internal/statelog"}, assembled...),
		"internal/layers":             {"client/wire", "internal/config", "internal/rules", "internal/strictyaml", "phases"},
		"cmd/internal/systemtest":     nil, // the whole, from outside
		"cmd/internal/boottest":       nil,
		"cmd/internal/boottest/...":   nil,
		"cmd/internal/systemtest/...": nil,
		"cmd/internal/machinelog": {"client/wire", "cmd/internal/front", "internal/every", "internal/system",
			"internal/tally", "kernel", "phases"},
		"cmd/internal/fleettest": nil,
		"cmd/internal/front":     {"client/wire", "internal/daemonapi", "internal/peercred", "internal/system", "phases"},
		"cmd/internal/hookcmd": {"phases", "adapters", "adapters/...", "internal/daemonapi", "internal/ownfiles",
			"internal/notes", "internal/peercred"},
		"cmd/internal/signing":     {"phases", "tiers", verifying},
		"cmd/internal/signing/...": nil, // a signing infrastructure for tests
		// decides one event in a process of its own: no more than what decides
		"cmd/internal/alone": {root, "phases", "tiers", "adapters", "cmd/internal/dispatch", "cmd/internal/hookcmd",
			"internal/redact"},
		"cmd/internal/manpages": {"cmd/internal/cli", "internal/schema"},

		"cmd/belay":      {"cmd/internal/cli", "cmd/internal/alone"},
		"cmd/belay-eval": {"cmd/internal/hookcmd", "cmd/internal/alone"},
		"cmd/belay-hook": {"cmd/internal/hookcmd"}, // starts for every event of an agent: nothing heavy
	}
}

// homes says where an outside library may be imported (tests apart).
func homes() map[string][]string {
	return map[string][]string{
		"github.com/tetratelabs/wazero":          {"internal/sandbox", "internal/sandbox/..."},
		"github.com/sigstore":                    {"tiers/sigstore", "cmd/internal/signing", "cmd/internal/signing/..."},
		"oras.land/oras-go":                      {"cmd/internal/oci"},
		"github.com/modelcontextprotocol/go-sdk": {"internal/mcptools"},
		"filippo.io/age":                         {"internal/recording"},
		"go.opentelemetry.io":                    {"internal/telemetry"},
		"github.com/go-logr/logr":                {"internal/telemetry"},
		"golang.org/x/mod/sumdb": {"internal/eventlog", "internal/statelog", "internal/store/...",
			"kernel/storetest"},
		"database/sql":                     {"internal/store/..."},
		"github.com/coreos/go-systemd":     {"cmd/internal/cli"},
		"github.com/ncruces/go-sqlite3":    {"internal/store/sqlite", "internal/store/sqlite/..."},
		"github.com/jackc/pgx":             {"internal/store/postgres", "internal/store/postgres/..."},
		"github.com/pressly/goose":         {"internal/store/postgres"},
		"github.com/klauspost/compress":    {"internal/eventpack", "internal/transcripts/openclaw"},
		"github.com/aymanbagabas/go-udiff": {"internal/textdiff"},
		"github.com/git-pkgs/gitignore":    {"internal/hookbuild"},
		"github.com/pelletier/go-toml":     {"internal/gitleaks", "cmd/internal/connect"},
		"github.com/spf13/cobra":           {"cmd/internal/cli", "cmd/internal/manpages"},
		"github.com/cpuguy83/go-md2man":    {"cmd/internal/manpages"},
		"github.com/landlock-lsm":          {"internal/confine"},
		"charm.land":                       {"cmd/internal/cli"},
		"mvdan.cc/sh":                      {"internal/shell"},
		"go.yaml.in/yaml":                  {"internal/strictyaml", "internal/yamledit"},
		"encoding/xml":                     {"internal/junit"},
		"encoding/json":                    nil, // takes the last of duplicate names: a bypass
	}
}

// Package is one package and its imports.
type Package struct {
	ImportPath string
	Imports    []string
}

// Check returns one sentence for every import that breaks a rule, sorted.
func Check(pkgs []Package) []string {
	var bad []string
	rules, places := layers(), homes()
	for _, p := range pkgs {
		from := short(p.ImportPath)
		rule, known := lookup(rules, from)
		if !known {
			bad = append(bad,
				fmt.Sprintf("%s: no rule names this package; add it to internal/arch with what it may import", from))
			continue
		}
		for _, imp := range p.Imports {
			if imp == Module || strings.HasPrefix(imp, Module+"/") {
				if to := short(imp); !within(rule, to) {
					bad = append(bad, fmt.Sprintf("%s imports %s: this arrow is not allowed", from, to))
				}
				continue
			}
			for lib, in := range places {
				if (imp == lib || strings.HasPrefix(imp, lib+"/")) && !within(in, from) {
					bad = append(bad, fmt.Sprintf("%s imports %s, which belongs to %s only", from, imp, strings.Join(in, ", ")))
				}
			}
		}
	}
	sort.Strings(bad)
	return bad
}

func short(path string) string {
	if path == Module {
		return root
	}
	return strings.TrimPrefix(path, Module+"/")
}

// lookup finds the rule for the package itself, else for the nearest tree.
func lookup(rules map[string][]string, pkg string) ([]string, bool) {
	if r, ok := rules[pkg]; ok {
		return r, true
	}
	for p := pkg; ; {
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return nil, false
		}
		p = p[:i]
		if r, ok := rules[p+"/..."]; ok {
			return r, true
		}
	}
}

func within(allowed []string, pkg string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		tree, isTree := strings.CutSuffix(a, "/...")
		return a == pkg || isTree && strings.HasPrefix(pkg, tree+"/")
	})
}
