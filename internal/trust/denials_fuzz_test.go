package trust

import (
	"bytes"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// fuzzDenials are denials of each kind.
func fuzzDenials(f *testing.F) []Denial {
	f.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	digest := phases.ByteDigest([]byte("bad"))
	return []Denial{
		NewDenial(tiers.Deny{Digests: []string{digest}, Keys: []string{digest}, Signatures: []string{digest}}, "why", "dev",
			now),
		NewDenial(tiers.Deny{Identities: []tiers.DeniedIdentity{
			{Issuer: "https://issuer.example", Subject: tiers.Subject{Regex: `^\d+@acme\.example$`}},
			{Issuer: "https://issuer.example", Subject: tiers.Subject{Equal: "a@acme.example"}},
			{Issuer: "https://issuer.example", Subject: tiers.Subject{URLPrefix: "https://acme.example/"}},
		}}, "", "", now),
	}
}

// A denial that another kernel wrote is refused, or counts here: it goes into the file, and is the same when it is read
// from there. Otherwise one row could stop each kernel that takes it.
func FuzzDenial(f *testing.F) {
	for _, d := range fuzzDenials(f) {
		b, err := d.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(bytes.Replace(b, []byte(`"at":`), []byte(`"at":"2026-03-01T12:00:00.5+14:00","at":`), 1))
		f.Add(bytes.Replace(b, []byte(`acme`), []byte(`\u0085\u2028\u007f`), 1))
	}
	none := &tiers.Policy{}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := DecodeDenial(src)
		if err != nil {
			return
		}
		told, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeDenial(told)
		if err != nil || !again.sameAs(&d) || again.ID != d.ID {
			t.Fatalf("%s: %+v, %v", told, again, err)
		}
		d.Kernel, d.Event = "b", 3
		if err := d.fits(); err != nil {
			t.Fatalf("%s: it cannot be written: %v", told, err)
		}
		file, err := json.Marshal(&Denials{Version: denialsVersion, Denials: []Denial{d}}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		read, err := parseDenials(file)
		if err != nil || len(read.Denials) != 1 || !read.Denials[0].sameAs(&d) {
			t.Fatalf("%s: %+v, %v", file, read, err)
		}
		if p, err := read.on(none); err != nil || p == none {
			t.Fatalf("%s: it denies nothing: %v", file, err)
		}
	})
}

// The file that has them is refused, or counts as a whole, and is the same when it is written anew.
func FuzzDenials(f *testing.F) {
	list := fuzzDenials(f)
	list[0].Kernel, list[0].Event = "a", 7
	for _, d := range []Denials{{Version: 1, Denials: list}, {Version: 1, Unreadable: []string{"row 3"}}, {}} {
		b, err := json.Marshal(&d, json.Deterministic(true))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := parseDenials(src)
		if err != nil {
			return
		}
		out, err := json.Marshal(&d, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseDenials(out)
		if err != nil || len(again.Denials) != len(d.Denials) || len(again.Unreadable) != len(d.Unreadable) {
			t.Fatalf("%s: %+v, %v", out, again, err)
		}
		if _, err := d.on(&tiers.Policy{}); err != nil && len(d.Unreadable) == 0 {
			t.Fatalf("%s: %v", src, err)
		}
	})
}
