package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
)

func TestRedact(t *testing.T) {
	const head = "version: belay/v1\nredact:\n"
	f, err := config.Parse([]byte(head +
		"  profile: strict\n  allow: [/tool, /args/*/name]\n  secrets: [\"env:DB_PASSWORD\", \"file:/run/secrets/x\"]\n"))
	if err != nil || f.Redact.Profile != "strict" || len(f.Redact.Allow) != 2 || len(f.Redact.Secrets) != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	for text, where := range map[string]string{
		"  patterns: [{name: a, regex: abcd, keywords: []}]\n":                                             "/redact/patterns/0",
		"  patterns: [{name: a, regex: abcd, keywords: [ab]}]\n":                                           "/redact/patterns/0/keywords/0",
		"  patterns: [{name: A, regex: abcd, keywords: [abc]}]\n":                                          "/redact/patterns/0",
		"  patterns: [{name: a, regex: '.*', keywords: [abc]}]\n":                                          "/redact/patterns/0",
		"  patterns: [{name: a, regex: '(?!b)abcd', keywords: [abc]}]\n":                                   "/redact/patterns/0",
		"  patterns: [{name: a, regex: abcd, keywords: [abc], group: 1}]\n":                                "/redact/patterns/0",
		"  patterns: [{name: a, regex: abcd, keywords: [abc], color: red}]\n":                              "/redact/patterns/0/color",
		"  patterns: [{name: a, regex: abcd, keywords: [abc]}, {name: a, regex: abce, keywords: [abc]}]\n": "/redact/patterns/1/name",
		"  profile: lax\n":                                      "/redact/profile",
		"  profile: Strict\n":                                   "/redact/profile",
		"  allow: [/tool]\n":                                    "/redact/allow",
		"  profile: strict\n  allow: [tool]\n":                  "/redact/allow/0",
		"  profile: strict\n  allow: [\"\"]\n":                  "/redact/allow/0",
		"  secrets: [hunter22hunter22]\n":                       "/redact/secrets/0",
		"  secrets: [\"env:A B\"]\n":                            "/redact/secrets/0",
		"  secrets: [\"env:\"]\n":                               "/redact/secrets/0",
		"  secret: [\"env:A\"]\n":                               "/redact",
		"  masks: [args]\n":                                     "belay.yaml:3: /redact/masks/0",
		"  masks: [\"\"]\n":                                     "belay.yaml:3: /redact/masks/0",
		"  masks: [/a, /b~2]\n":                                 "belay.yaml:3: /redact/masks/1",
		"  masks:\n  - /a\n  - {path: /b, how: drop}\n":         "belay.yaml:5: /redact/masks/1/how",
		"  masks:\n  - /a\n  - {path: /b, how: hash, why: x}\n": "belay.yaml:5: /redact/masks/1",
		"  masks:\n  - /a\n  - {how: remove}\n":                 "belay.yaml:5: /redact/masks/1",
		"  masks:\n  - /a\n  - 7\n":                             "belay.yaml:5: /redact/masks/1",
		"  masks:\n  - {path: /b, path: /c}\n":                  "belay.yaml:4: ",
		"  masks:\n  - [/a]\n":                                  "belay.yaml:4: /redact/masks/0",
		"  masks:\n  - ~\n":                                     "belay.yaml:4: /redact/masks/0",
	} {
		_, err := config.Parse([]byte(head + text))
		if !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), where) ||
			strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMasks(t *testing.T) {
	f, err := config.Parse(
		[]byte("version: belay/v1\nredact:\n  masks: [/a, {path: /b}, {path: /c, how: hash}, {path: /d/*/e, how: remove}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []config.Mask{{Path: "/a", How: "hash"}, {Path: "/b", How: "hash"}, {Path: "/c", How: "hash"},
		{Path: "/d/*/e", How: "remove"}}
	if !slices.Equal(f.Redact.Masks, want) {
		t.Errorf("%+v", f.Redact.Masks)
	}
}
