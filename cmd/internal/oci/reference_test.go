package oci

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

func TestReferences(t *testing.T) {
	d := phases.ByteDigest([]byte("x"))
	for s, want := range map[string]Reference{
		"oci://ghcr.io/acme/hooks/guard:1.0":  {Host: "ghcr.io", Repo: "acme/hooks/guard", Tag: "1.0"},
		"oci://ghcr.io/acme/guard@" + d:       {Host: "ghcr.io", Repo: "acme/guard", Digest: d},
		"oci://GHCR.io/acme/guard:x@" + d:     {Host: "ghcr.io", Repo: "acme/guard", Tag: "x", Digest: d},
		"oci://localhost:5000/guard":          {Host: "localhost:5000", Repo: "guard"},
		"oci://[::1]:5000/a__b/c--d:v1_2.3-4": {Host: "[::1]:5000", Repo: "a__b/c--d", Tag: "v1_2.3-4"},
	} {
		got, err := ParseReference(s)
		if err != nil || got != want {
			t.Errorf("%s: %+v (%v), want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "ghcr.io/acme/guard:1", "https://ghcr.io/a:1", "oci://", "oci://ghcr.io", "oci://ghcr.io/", "oci:///a:1",
		"oci://ghcr.io/Acme/guard:1", "oci://ghcr.io/a/../b:1", "oci://ghcr.io/a//b:1", "oci://ghcr.io/a:",
		"oci://ghcr.io/a@", "oci://ghcr.io/a:x/y",
		"oci://ghcr.io/a@sha256:abc", "oci://ghcr.io/a@" + strings.ToUpper(d),
		"oci://ghcr.io/a@sha512:" + strings.Repeat("0", 128),
		"oci://user@ghcr.io/a:1", "oci://user:pw@ghcr.io/a:1", "oci://gh cr.io/a:1", "oci://ghcr.io:99999/a:1",
		"oci://ghcr.io:0/a:1", "oci://ghcr.io/a:1?x", "oci://ghcr.io/a#x",
		"oci://ghcr.io/a%2fb:1", "oci://ghcr.io/a:1\n", "oci://ghcr.io/" + strings.Repeat("a", 600), "oci://gh\x00cr.io/a:1",
	} {
		_, err := ParseReference(s)
		if err == nil {
			t.Errorf("%q was accepted", s)
			continue
		}
		wantClass(t, err, ErrReference, "")
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "127.0.0.1": true, "127.9.9.9:80": true, "[::1]:5000": true,
		"[::ffff:127.0.0.1]:5000": true,
		"localhost.example":       false, "127.0.0.1.example:5000": false, "10.0.0.1": false, "0.0.0.0:5000": false,
		"[::]:5000": false, "registry": false,
	} {
		if got := (Reference{Host: host}).Loopback(); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}
