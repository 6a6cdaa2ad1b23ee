package schema

import (
	"reflect"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// has holds where a member is there and is so.
func has(member string, n node) node {
	return node{"required": []string{member}, "properties": node{member: n}}
}

// trust is the schema of trust.yaml.
func trust() *builder {
	b := shared()
	some := node{"type": "string", "minLength": 1}
	digests := func() node { return node{"items": node{"type": "string", "pattern": digestForm}} }
	b.set(map[string]node{
		"Policy.version":            {"const": tiers.PolicyVersion},
		"Policy.rules":              {"maxItems": 64},
		"Rule.name":                 form(nameForm),
		"Rule.require":              {"minItems": 1, "maxItems": 16},
		"AnyOf.minimumMatches":      between(1, 64),
		"AnyOf.signers":             {"minItems": 1, "maxItems": 64},
		"Keyless.issuer":            form(`^https?://[^/]+`),
		"Keyless.unsafeWithout":     {"uniqueItems": true, "items": enum("log", "certificateTimestamp")},
		"Limits.hooks":              {"minItems": 1},
		"Limits.phases":             {"minItems": 1},
		"Limits.capabilities":       capabilities(),
		"Limits.minimumVersion":     form(versionForm),
		"Deny.digests":              digests(),
		"Deny.signatures":           digests(),
		"Deny.keys":                 {"items": node{"type": "string", "pattern": `^[A-Za-z0-9+/]{43}=$`}},
		"Slot.name":                 {"maxLength": 128},
		"Attestation.predicateType": {"minLength": 1},
		"Attestation.levels":        {"maxItems": 64},
	})
	b.objects["Rule"] = node{"anyOf": []any{has("allOf", node{"type": "array", "minItems": 1}),
		has("anyOf", node{"type": "object"})}}
	b.objects["Slot"] = node{"oneOf": []any{has("publicKey", node{"type": "object"}), has("keyless",
		node{"type": "object"})}}
	b.objects["PublicKey"] = node{"oneOf": []any{has("pem", some), has("file", some)}}
	b.objects["Subject"] = node{"oneOf": []any{has("equal", some), has("urlPrefix", some), has("regex", some)}}
	b.objects["Condition"] = node{"oneOf": []any{has("equal", some), has("urlPrefix", some), has("regex", some),
		has("any", node{"const": true})}}
	return b
}

// rulesFile is the schema of a rules file.
func rulesFile() *builder {
	b := shared()
	answer := func() node { return enum(phases.Ask, phases.Block) }
	b.set(map[string]node{
		"File.version":      {"const": rules.Version},
		"File.cannot_tell":  answer(),
		"Rule.cannot_tell":  answer(),
		"Rule.when":         say("every member holds; {} holds always", nil),
		"Limit.count":       between(1, 1000),
		"Limit.per":         form(`^[0-9]+[smhd]$`),
		"Limit.by":          enum("session", "agent", "user"),
		"Limit.answer":      answer(),
		"NeedsLease.answer": answer(),
		"NeedsStage.answer": answer(),
		"Size.at":           {"pattern": `^(/.*)?$`},
		"Size.over":         {"minimum": 0},
		"Annotation.tier":   enum("trusted"),
		"Time.from":         form(`^[0-9]{2}:[0-9]{2}$`),
		"Time.to":           form(`^[0-9]{2}:[0-9]{2}$`),
		"File.rules":        {},
	})
	delete(b.members, "Match.tools")
	delete(b.members, "Match.agents")
	one := []any{}
	for _, m := range []string{"block", "ask", "annotate", "limit", "require_lease", "require_stage", "redact",
		"default",
		"fix", "scopes"} {
		one = append(one, node{"required": []string{m}})
	}
	b.objects["Rule"] = node{"oneOf": one}
	for _, m := range []string{"block", "ask", "annotate", "limit", "require_lease", "require_stage", "redact",
		"default",
		"fix", "scopes"} {
		if b.members["Rule."+m] == nil {
			b.members["Rule."+m] = node{}
		}
		b.members["Rule."+m]["not null"] = true
	}
	return b
}

// manifest is the schema of a manifest as its author writes it.
func manifest() *builder {
	b := shared()
	b.set(map[string]node{
		"Manifest.abi": {"const": tiers.ABI},
		"Manifest.name": {"maxLength": 128,
			"pattern": `^[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*){0,3}$`},
		"Manifest.version":        {"maxLength": 64, "pattern": versionForm},
		"Manifest.description":    {"maxLength": 1024},
		"Manifest.license":        {"maxLength": 128},
		"Manifest.authors":        {"maxItems": 64},
		"Manifest.phases":         {"minItems": 1, "uniqueItems": true},
		"Manifest.mutates":        {"uniqueItems": true},
		"Manifest.capabilities":   {"maxItems": 128},
		"Manifest.examples":       {"maxItems": 16},
		"WantedCapability.name":   form(capabilityForm),
		"WantedCapability.reason": {"maxLength": 512},
		"Example.title":           {"maxLength": 256},
	})
	return b
}

// suites is the schema of a file of cases.
func suites() *builder {
	b := shared()
	b.types[reflect.TypeFor[suite.WantEffect]()] = func() node {
		return node{"anyOf": []any{node{"type": "string"}, node{"type": "object", "required": []string{"kind"}}}}
	}
	b.set(map[string]node{
		"Suite.tier":       enum(phases.Trusted, phases.Sandboxed),
		"Suite.cases":      {"minItems": 1},
		"Want.decision":    enum(phases.Allow, phases.Ask, phases.Block),
		"Stub.times":       {"minimum": 0},
		"Injection.number": {"minimum": 0},
	})
	return b
}
