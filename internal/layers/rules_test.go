package layers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/internal/schema"
)

// keysOf returns every key of a schema, as the merge table names them.
func keysOf(node any, key string, out []string) []string {
	n, ok := node.(map[string]any)
	if !ok {
		return out
	}
	if key != "" {
		out = append(out, key)
	}
	properties, _ := n["properties"].(map[string]any)
	for name, below := range properties {
		next := name
		if key != "" {
			next = key + "." + name
		}
		out = keysOf(below, next, out)
	}
	out = keysOf(n["items"], key+"[]", out)
	if _, open := n["additionalProperties"].(map[string]any); open {
		out = keysOf(n["additionalProperties"], key+".*", out)
	}
	either, _ := n["anyOf"].([]any)
	for _, form := range either {
		out = keysOf(form, key, out)
	}
	return out
}

func schemaKeys(t *testing.T) []string {
	t.Helper()
	text, _ := schema.Of("belay")
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	keys := keysOf(root, "", nil)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Every key of belay.yaml has a rule, and every rule is about a key of belay.yaml.
func TestEveryKeyHasARule(t *testing.T) {
	keys := schemaKeys(t)
	if len(keys) < 120 {
		t.Fatalf("only %d keys were found", len(keys))
	}
	for _, key := range keys {
		if _, ok := layers.RuleOf(key); !ok {
			t.Errorf("%s has no rule in internal/layers/rules.go: say what becomes of it when two layers meet", key)
		}
	}
	seen := map[string]bool{}
	for _, r := range layers.Rules() {
		if !slices.Contains(keys, r.Key) {
			t.Errorf("there is a rule for %s, which belay.yaml does not have", r.Key)
		}
		if seen[r.Key] {
			t.Errorf("%s has two rules", r.Key)
		}
		seen[r.Key] = true
	}
	for _, key := range []string{"nonsense", "hooks[].nonsense", "redact.nonsense", "scopes.nonsense", "eventsx"} {
		if r, ok := layers.RuleOf(key); ok {
			t.Errorf("%s has the rule of %s", key, r.Key)
		}
	}
}

// A capability is one that a user's hook may hold, or one that does more than restrict. A new one has to be put into
// either list.
func TestCapabilitiesOfUsersHooks(t *testing.T) {
	more := []string{"add_context", "rewrite", "redact", "retry", "reply", "put_artifact", "grant",
		"request_tool_call", "request_lease", "check_lease", "mint_lease", "revoke_lease", "http_request"}
	var all []string
	for _, c := range hostcalls.Table() {
		if c.Capability != "" {
			all = append(all, c.Capability)
		}
	}
	for _, c := range all {
		if slices.Contains(more, c) == slices.Contains(layers.Capabilities(), c) {
			t.Errorf("%s is in both lists or in none", c)
		}
	}
	for _, c := range append(more, layers.Capabilities()...) {
		if !slices.Contains(all, c) {
			t.Errorf("%s is no capability", c)
		}
	}
}

// docs/SYSTEM.md prints the merge table and the list of capabilities as they are.
func TestTheDocumentHasTheTable(t *testing.T) {
	src, err := os.ReadFile("../../docs/SYSTEM.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(src), "### The merge table\n")
	text, _, _ = strings.Cut(text, "\n#")
	var want, got []string
	for _, r := range layers.Rules() {
		if r.Says != "" {
			want = append(want, fmt.Sprintf("| `%s` | %s | %s |", r.Key, r.Merge, r.Says))
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/SYSTEM.md has another table; the right one is\n%s", strings.Join(want, "\n"))
	}
	_, example, _ := strings.Cut(string(src), "```yaml\nversion: belay/v1\nhooks:\n  - name: user-")
	example, _, _ = strings.Cut(example, "```")
	if _, err := layers.ParseUser([]byte("version: belay/v1\nhooks:\n  - name: user-" + example)); err != nil || example == "" {
		t.Errorf("the example of docs/SYSTEM.md: %v", err)
	}
	for _, c := range layers.Capabilities() {
		if !strings.Contains(string(src), "`"+c+"`") {
			t.Errorf("docs/SYSTEM.md does not name the capability %s", c)
		}
	}
}
