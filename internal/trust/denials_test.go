package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// What all kernels deny counts beside trust.yaml and without one, without a database, and is only ever added to.
func TestDenialsOfAllKernels(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	bad, worse := phases.ByteDigest([]byte("bad")), phases.ByteDigest([]byte("worse"))
	v := trust.Dir{Path: dir}.Open(nil)
	add := func(digest string) trust.Denial {
		t.Helper()
		n := trust.NewDenial(tiers.Deny{Digests: []string{digest}}, "it sends\nfiles away", "dev", now)
		if err := trust.EditDenials(dir, func(d *trust.Denials) error { d.Add(n); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	denied := func(digest string) bool { return v.Denied(digest) != nil }
	if denied(bad) {
		t.Fatal("at first")
	}
	n := add(bad)
	if !v.Refresh() || !denied(bad) || denied(worse) {
		t.Error("without trust.yaml")
	}
	if err := trust.Edit(dir, func(src []byte) ([]byte, error) { return src, nil }); err != nil {
		t.Fatal(err)
	}
	add(worse)
	if !v.Refresh() || !denied(bad) || !denied(worse) || (trust.Dir{Path: dir}).Open(nil).Denied(worse) == nil {
		t.Error("beside trust.yaml, or after a start")
	}

	// A row of another kernel that took the name says nothing of where this one is recorded.
	other := trust.NewDenial(tiers.Deny{Digests: []string{phases.ByteDigest([]byte("harmless"))}}, "x", "x", now)
	for name, deny := range map[string]trust.Denial{"another": other, "the same": n} {
		d := trust.Denials{Denials: []trust.Denial{n}}
		deny.ID, deny.Kernel, deny.Event = n.ID, "b", 3
		if d.Add(deny); len(d.Denials) != 1 || (d.Denials[0].Event == 3) != (name == "the same") {
			t.Errorf("%s: %+v", name, d.Denials)
		}
	}

	// Another kernel reads what this one writes; where it is recorded is no part of that.
	n.Kernel, n.Event = "a", 7
	body, err := n.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := trust.DecodeDenial(body)
	if err != nil || got.ID != n.ID || got.Why != n.Why || got.Event != 0 || got.Deny.Digests[0] != bad {
		t.Errorf("%+v, %v", got, err)
	}
	for old, c := range map[string]string{
		`"deny":{"digests":["` + bad + `"]}`: `"deny":{}`,
		`"id":"`:                             `"id":"x`,
		`"why":"`:                            `"why":"\u001b`,
		`"by":`:                              `"event":7,"by":`,
		`"at":`:                              `"allow":1,"at":`,
		`"digests":`:                         `"digest":`,
		`"sha256:`:                           `"sha1:`,
	} {
		changed := strings.Replace(string(body), old, c, 1)
		if d, err := trust.DecodeDenial([]byte(changed)); err == nil || changed == string(body) {
			t.Errorf("%s: %+v", c, d)
		}
	}

	// One that cannot be read may deny anything: no signature counts, and nothing that was denied comes back.
	if err := trust.EditDenials(dir, func(d *trust.Denials) error {
		d.Unreadable = []string{"row 3, of kernel b"}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	v.Refresh()
	if !strings.Contains(v.Problem(), "row 3, of kernel b") || v.InUse() != nil || !denied(bad) {
		t.Errorf("unreadable: %q", v.Problem())
	}
	// What can be read goes on to count, for hooks that come with belay, too.
	worst, mine := phases.ByteDigest([]byte("worst")), phases.ByteDigest([]byte("mine"))
	add(worst)
	if !v.Refresh() || !denied(worst) || v.Refresh() {
		t.Error("a denial beside one that cannot be read does not count")
	}
	policy := filepath.Join(dir, tiers.PolicyFile)
	write(t, policy, "{version: belay/v1, deny: {digests: ['"+mine+"']}}")
	if !v.Refresh() || !denied(mine) {
		t.Error("a denial of trust.yaml beside one that cannot be read does not count")
	}
	write(t, policy, "{")
	last := phases.ByteDigest([]byte("last"))
	add(last)
	if !v.Refresh() || !denied(last) || !denied(mine) {
		t.Error("a denial beside a trust.yaml that cannot be read does not count")
	}
	if err := os.Remove(policy); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, trust.DenialsFile), []byte(`{"version":1,"denials":[{}]}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	v.Refresh()
	if !strings.Contains(v.Problem(), "denials.json: /denials/0: /id") || !denied(bad) {
		t.Errorf("a file that was edited: %q", v.Problem())
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An entry that could not be read again, or that no row has room for, is refused before anything is written.
func TestDenialThatDoesNotFit(t *testing.T) {
	long := make([]string, 600)
	for n := range long {
		long[n] = phases.ByteDigest([]byte{byte(n), byte(n >> 8)})
	}
	for name, deny := range map[string]tiers.Deny{
		"a file name for a key": {Keys: []string{"releas.pub"}},
		"no digest":             {Signatures: []string{"sha256:1"}},
		"nothing":               {},
		"more than a row takes": {Digests: long},
	} {
		dir := t.TempDir()
		n := trust.NewDenial(deny, "why", "dev", time.Now())
		err := trust.EditDenials(dir, func(d *trust.Denials) error { d.Add(n); return nil })
		if _, serr := os.Stat(filepath.Join(dir, trust.DenialsFile)); err == nil || serr == nil {
			t.Errorf("%s: %v, %v", name, err, serr)
		}
	}
}
