package redact

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// No usual name holds a secret, or says that its value is one.
func TestUsualNames(t *testing.T) {
	if len(usualNames) < 100 {
		t.Errorf("%d names", len(usualNames))
	}
	for name := range usualNames {
		d := detector{ungated: true}
		if found := d.find(name); found != nil {
			t.Errorf("%s: %v", name, found)
		}
		if kind, str := nameKind(name); str != none || kind != "" {
			t.Errorf("%s is the name of a %s", name, kind)
		}
	}
	for _, name := range []string{"token", "password", "api_key", "tokens", "auth", "key", "secret", "headersx"} {
		if usualNames[name] {
			t.Errorf("%s is usual", name)
		}
	}
	// What the operator or the record has added is looked for in every name.
	r, err := New(Config{Key: make([]byte, MinKey), Exact: []string{"old_string"}})
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := r.JSON([]byte(`{"old_string":1}`)); err != nil || string(out) == `{"old_string":1}` {
		t.Errorf("%s, %v", out, err)
	}
	rec := NewRecord()
	plain := testRedactor(t)
	if _, masked, err := rec.JSON(plain, []byte(`{"password":"reported_time"}`)); err != nil || len(masked) != 1 {
		t.Fatal(masked, err)
	}
	if out, masked, err := rec.JSON(plain, []byte(`{"reported_time":1}`)); err != nil || len(masked) != 1 {
		t.Errorf("%s %q %v: a known secret is left in a name", out, masked, err)
	}
}

// No detector finds anything in a time.
func TestInstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 7e9).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC()
		s := at.Format(rapid.SampledFrom([]string{time.RFC3339, time.RFC3339Nano}).Draw(t, "form"))
		d := detector{ungated: true}
		if found := d.find(s); found != nil || !instant(s) {
			t.Fatalf("%s: %v", s, found)
		}
	})
	for _, s := range []string{"", "Z", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05x1Z",
		"2026-01-02T03:04:05.1234567890Z",
		"2026-01-02T03:04:05.1a3Z", "2026-01-02T03:04:05+01:00", "2026-01x02T03:04:05Z", "a026-01-02T03:04:05Z"} {
		if instant(s) {
			t.Errorf("%s is a time", s)
		}
	}
}
