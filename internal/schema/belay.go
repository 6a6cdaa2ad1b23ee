package schema

import (
	"reflect"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/httpcall"
	"github.com/belay-hooks/belay/phases"
)

// belay is the schema of belay.yaml.
func belay() *builder {
	answers := func() node { return enum(phases.Allow, phases.Ask, phases.Block) }
	absolute := func() node { return form(`^/`) }
	b := shared()
	b.types[reflect.TypeFor[config.Mask]()] = func() node {
		return node{"anyOf": []any{
			node{"type": "string", "pattern": pointerForm},
			node{"type": "object", "additionalProperties": false, "required": []string{"path"}, "properties": node{
				"path": node{"type": "string", "pattern": pointerForm},
				"how":  node{"enum": []any{config.MaskHash, config.MaskRemove}}}},
		}}
	}
	byPhase := node{}
	for _, p := range phases.Phases() {
		switch {
		case p == phases.Audit:
		case phases.RulesFor(p).Legal(phases.EffectAsk):
			byPhase[string(p)] = answers()
		default:
			byPhase[string(p)] = enum(phases.Allow, phases.Block)
		}
	}
	b.set(map[string]node{
		"File.version": say("the version of the format", node{"const": config.Version}),
		"File.hooks":   say("which hooks run; in the order of their priority", nil),
		"File.require": say("actions that are blocked unless these hooks have run", nil),
		"File.scopes":  say("the most that any action may touch", nil),
		"File.default": say("what decides in a phase where no hook does", node{"properties": byPhase,
			"additionalProperties": false}),
		"File.unknown_tools": say("what decides about tools that belay does not know", answers()),
		"File.known_tools":   say("tools that are fine although belay does not know them", node{"not null": true}),
		"File.open_shells":   say("what decides about commands that stay open; block by default", answers()),
		"File.redact":        say("secrets that are redacted in events beside those that always are", nil),
		"File.limits":        say("bounds of a whole chain", nil),
		"File.events":        say("where events go besides the store, checkpoints, retention", nil),
		"File.mcp":           say("MCP servers whose tools hooks can call", nil),
		"File.tools":         say("how hooks see the results of tools that they call", nil),
		"File.require_lease": say("actions that are blocked unless their agent holds a lease", nil),
		"File.lease_rules":   say("answers to requests for leases in a person's place", nil),
		"File.leases":        say("what hooks may lend", nil),
		"File.approvals":     say("bounds of the queue that people decide", nil),
		"File.reviewers":     say("people whose decisions count", nil),
		"File.recordings":    say("whether full inputs are kept; they are not by default", node{"not null": true}),
		"File.store":         say("a store that many kernels share; belay.db by default", node{"not null": true}),

		"Binding.name":     form(nameForm),
		"Binding.module":   say("builtin:NAME, sha256:HEX, rules:FILE or a path", node{"minLength": 1}),
		"Binding.digest":   form(digestForm),
		"Binding.phases":   {"minItems": 1, "uniqueItems": true},
		"Binding.priority": say("from 100 on for trusted hooks only", between(-1000, 1000)),
		"Binding.tier":     enum(phases.Trusted),
		"Binding.config":   {"type": "object", "not null": true},
		"Binding.capabilities": say("what the operator allows", node{"optional": true,
			"items": capabilities()["items"]}),
		"Binding.mode":   enum(phases.Enforce, phases.Observe),
		"Binding.via":    enum("queue"),
		"Require.phases": {"minItems": 1, "items": blockable()},
		"Require.hooks":  {"minItems": 1},
		"Redact.allow":   {"items": node{"type": "string", "pattern": pointerForm}},
		"Redact.keys":    {"items": node{"type": "string", "minLength": 1, "maxLength": 128}},
		"Redact.secrets": {"maxItems": 1024, "items": node{"type": "string",
			"pattern": `^(env:[A-Za-z0-9_]+|file:(.|\n)+)$`}},
		"Redact.patterns":      {"maxItems": 128},
		"Recorded.keys":        {"items": node{"type": "string", "minLength": 1, "maxLength": 128}},
		"Recorded.patterns":    {"maxItems": 128},
		"Redact.profile":       enum("standard", "strict"),
		"Pattern.name":         form(`^[a-z0-9_-]+$`),
		"Pattern.regex":        {"minLength": 1},
		"Pattern.keywords":     {"minItems": 1, "items": node{"type": "string", "pattern": `^[^A-Z]{3,64}$`}},
		"Pattern.group":        {"minimum": 0},
		"Limits.chain_ms":      between(0, 60_000),
		"Events.sinks":         {"maxItems": 8},
		"Events.high_water":    absolute(),
		"Compaction.min_age":   form(durationForm),
		"Retention.days":       between(0, 36_500),
		"StoreSink.durable":    {"enum": []any{true, nil}},
		"JSONLSink.path":       form(`^/(.|\n)*[^/]$`),
		"JSONLSink.rotate_mib": between(0, 65_536),
		"JSONLSink.keep":       between(0, 10_000),
		"CheckpointSink.path":  form(`^/(.|\n)*[^/]$`),
		"Checkpoint.file":      absolute(),
		"Checkpoint.every":     between(0, 1_000_000),
		"Checkpoint.seconds":   between(0, 86_400),
		"MCP.servers": {"maxProperties": 64, "propertyNames": node{"maxLength": 64,
			"pattern": `^[a-z0-9]+([-_]?[a-z0-9]+)*$`}},
		"MCPServer.env": {"maxItems": 256, "items": node{"type": "string",
			"pattern": `^[A-Za-z_][A-Za-z0-9_]*$`}},
		"MCPServer.cwd": absolute(),
		"MCPServer.tools": {"maxItems": 256, "items": node{"type": "string",
			"pattern": `^(\*|[A-Za-z0-9_./-]{1,128})$`}},
		"MCPServer.pins": {"maxProperties": 256, "propertyNames": node{"pattern": `^[A-Za-z0-9_./-]{1,128}$`},
			"additionalProperties": node{"type": "string", "pattern": digestForm}},
		"MCPServer.timeout_ms":       between(0, 25_000),
		"MCPServer.max_result_bytes": between(0, 512<<10),
		"MCPServer.headers": {"propertyNames": node{"pattern": `^[A-Za-z0-9][A-Za-z0-9-]*$`},
			"additionalProperties": node{"type": "string", "pattern": `^env:[A-Za-z_][A-Za-z0-9_]*$`}},
		"Tools.results":           enum("redacted", "raw"),
		"RequireLease.phases":     {"minItems": 1, "items": blockable()},
		"RequireLease.tools":      {"not null": true, "minItems": 1},
		"RequireLease.capability": {"minLength": 1},
		"LeaseRule.capability":    {"minLength": 1},
		"LeaseRule.max_ttl":       form(durationForm),
		"LeaseRule.max_uses":      {"minimum": 0},
		"LeaseRule.decision":      {"enum": []any{"grant", "deny", "ask"}},
		"Leases.max_ttl":          form(durationForm),
		"Approvals.timeout":       form(durationForm),
		"Approvals.quota":         between(0, 1000),
		"Reviewer.name":           form(nameForm),
		"Reviewer.key":            form(`^ed25519:[A-Za-z0-9+/]{43}=$`),
		"Recordings.dir":          absolute(),
		"Recordings.recipients": {"maxItems": 32, "uniqueItems": true, "items": node{"type": "string",
			"maxLength": 4096, "pattern": `^age1[02-9ac-hj-np-z]{20,}$`}},
		"Recordings.phases":     {"minItems": 1, "uniqueItems": true},
		"Recordings.rotate":     form(durationForm),
		"Recordings.rotate_mib": between(0, 4096),
		"Recordings.keep":       form(`^[0-9]+d$|` + durationForm),
		"Recordings.max_mib":    between(0, 16<<20),
		"Recordings.on_error":   enum("drop", "block"),
		"Store.postgres":        say("PostgreSQL, with one log for each kernel", node{"not null": true}),
		"Postgres.dsn_file":     say("the file that holds postgres://USER:PASSWORD@HOST:PORT/DATABASE", absolute()),
		"Postgres.kernel": say("a name that no other kernel has", node{"maxLength": 52,
			"pattern": `^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`}),
		"Postgres.schema":            {"maxLength": 63, "pattern": `^[a-z_][a-z0-9_]*$`, "not": form(`^pg_`)},
		"Postgres.tls":               enum("verify-full", "verify-ca", "off"),
		"Postgres.root_cert":         absolute(),
		"Postgres.readers":           between(0, 64),
		"Postgres.connect_timeout":   form(durationForm),
		"Postgres.statement_timeout": form(durationForm),
		"Postgres.lock_timeout":      form(durationForm),
		"Postgres.hold":              form(durationForm),
		"Postgres.events":            say("where the log is first", enum("central", "local")),
		"Postgres.keep":              say("with events: local: how much may wait", form(`^[0-9]+(KiB|MiB|GiB)$`)),
		"Spec.hosts": {"minItems": 1, "uniqueItems": true, "items": node{"type": "string",
			"minLength": 1}},
		"Spec.methods": {"uniqueItems": true, "items": enum("GET", "HEAD", "POST", "PUT", "PATCH",
			"DELETE")},
		"Spec.max_bytes":               between(0, httpcall.MaxBytes),
		"Spec.timeout_ms":              between(0, httpcall.MaxTimeoutMS),
		"Binding.config_file_optional": {},
		"Binding.keeps_default":        {},
		"Binding.apart":                {},
	})
	text := func(pattern string) node { return node{"type": "string", "pattern": pattern} }
	some := text(`[^\x00]`)
	b.objects["Binding"] = node{"allOf": []any{
		// a module that is no file of the operator's own is pinned by its name
		node{"if": has("module", text(`^(builtin:|sha256:|rules:)`)), "else": has("digest", text(digestForm))},
		node{"if": has("module", text(`^builtin:`)), "then": has("module", text(`^builtin:[a-z0-9][a-z0-9._-]{0,63}$`))},
		node{"if": has("module", text(`^sha256:`)), "then": has("module", text(digestForm))},
		node{"if": has("module", text(`^rules:`)), "then": has("module", text(`^rules:[^#]+(#changes)?$`)),
			"else": has("capabilities", node{"type": "array"})},
		node{"not": node{"allOf": []any{has("config", node{}), has("config_file", some)}}},
		node{"if": has("config_file_optional", node{"const": true}), "then": has("config_file", some)},
	}}
	b.objects["Redact"] = node{"if": has("allow", node{"type": "array", "minItems": 1}),
		"then": has("profile", node{"const": "strict"})}
	object := node{"type": "object"}
	b.objects["Sink"] = node{"oneOf": []any{has("store", object), has("jsonl", object), has("checkpoint", object)}}
	b.objects["JSONLSink"] = node{"if": has("keep", node{"type": "integer", "minimum": 1}),
		"then": has("rotate_mib", node{"type": "integer", "minimum": 1})}
	b.objects["Checkpoint"] = node{"if": has("required", node{"const": true}), "then": has("file", text(`^/`))}
	list := node{"type": "array", "minItems": 1}
	b.objects["MCPServer"] = node{"oneOf": []any{
		node{"allOf": []any{has("command", node{"type": "array", "minItems": 1, "maxItems": 256,
			"prefixItems": []any{text(`^/`)}}), node{"not": has("url", some)}, node{"not": has("headers",
			node{"type": "object"})}}},
		node{"allOf": []any{has("url", text(`^(https://|http://(localhost|127\.|\[::1\]))`)),
			node{"not": has("command", list)},
			node{"not": has("env", node{"type": "array"})}, node{"not": has("cwd", some)}}},
	}}
	b.objects["Store"] = node{"required": []string{"postgres"}}
	b.objects["Postgres"] = node{"allOf": []any{
		node{"if": has("keep", some), "then": has("events", node{"const": config.EventsLocal})},
		node{"if": has("root_cert", some), "then": node{"not": has("tls", node{"const": config.TLSOff})}},
	}}
	b.objects["Recordings"] = node{"oneOf": []any{has("recipients", list), has("unsafe_plaintext",
		node{"const": true})}}
	return b
}
