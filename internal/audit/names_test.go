package audit_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/redact"
)

func redactor(t testing.TB, secret string) *redact.Redactor {
	t.Helper()
	r, err := redact.New(redact.Config{Key: make([]byte, 32), Exact: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Names, and what hooks read again, are redacted by the rules that are in force, and by those for what is stored.
func TestStoredFollowsTheRules(t *testing.T) {
	d := audit.NewDetector(redactor(t, "apples and apples"), redactor(t, "pears and pears"))
	stored := func(text string) string {
		t.Helper()
		out, err := audit.ForStored(d).Text(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, step := range []struct {
		do     func()
		redact string
	}{
		{func() {}, "pears and pears"},
		{func() { d.Storing(redactor(t, "plums and plums")) }, "plums and plums"},
		{func() { d.Use(audit.NewDetector(redactor(t, "apples and apples"), redactor(t, "figs and figs"))) },
			"figs and figs"},
	} {
		step.do()
		for _, fruit := range []string{"apples and apples", "pears and pears", "plums and plums", "figs and figs"} {
			if redacted := stored(fruit) != fruit; redacted != (fruit == step.redact) {
				t.Errorf("%s while the rules redact %s: redacted is %v", fruit, step.redact, redacted)
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { audit.ForStored(d) }); n > 0 {
		t.Errorf("%v allocations for each invocation", n)
	}
}

// BenchmarkNames redacts the names of an invocation as the kernel does before each decision.
func BenchmarkNames(b *testing.B) {
	r, err := redact.New(redact.Config{Key: make([]byte, 32)})
	if err != nil {
		b.Fatal(err)
	}
	d := audit.NewDetector(r, r)
	b.ReportAllocs()
	for b.Loop() {
		names := audit.ForStored(d)
		for _, name := range [...]string{"claude-code", "0b1c9a52-6c1e-4a5b-9d0e-2f6f3c1d8e4a", "main", "alice"} {
			if _, err := names.Text(name); err != nil {
				b.Fatal(err)
			}
		}
	}
}
