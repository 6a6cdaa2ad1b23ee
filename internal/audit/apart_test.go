package audit_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
)

// belay.yaml can name members that are secrets. Of what a hook wrote that is kept apart they are found before the
// record sees the value, which would redact it elsewhere, too.
func TestNamesOfEntriesKeptApart(t *testing.T) {
	named, err := redact.New(redact.Config{Key: make([]byte, 32), KeyNames: []string{"value"}})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := redact.New(redact.Config{Key: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	const mark = "tainted-by-mallet"
	for _, red := range []*redact.Redactor{named, plain} {
		d := audit.NewDetector(red, red)
		memory := d.Remember()
		b := &audit.Builder{Redactor: memory, Digester: keys(), Fresh: d}
		entry := phases.Entry{Value: jsontext.Value(`"` + mark + `"`), Hook: "user-h", Tier: phases.Sandboxed}
		value, masked, err := b.Apart().Entry("user/note", entry)
		if secret := red == named; err != nil || masked != secret || strings.Contains(string(value), mark) == secret {
			t.Errorf("%s, %v, %v", value, masked, err)
		}
		entry.Value = value
		doc, err := json.Marshal(map[string]phases.Metadata{"metadata": {"user/note": entry}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := memory.JSON(doc); err != nil || memory.Known() != 0 {
			t.Errorf("the record knows %d secrets after %s: %v", memory.Known(), doc, err)
		}
		if text, err := memory.Text(mark); err != nil || text != mark {
			t.Errorf("others' text became %q, %v", text, err)
		}
	}
}
