package system_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/system"
)

const version = "version: belay-system/v1\n"

// Everything that system.yaml can say, and the defaults of what it leaves out.
func TestParse(t *testing.T) {
	c, err := system.Parse([]byte(version))
	if err != nil || c.Users.Max != 64 || c.Limits != (system.Limits{Connections: 64, Running: 8, Waiting: 64,
		StateMiB: 512, IdleMinutes: 60}) || c.Limits.Idle() != time.Hour || c.AllowState {
		t.Fatalf("%+v, %v", c, err)
	}
	c, err = system.Parse([]byte(version + `contact: "the platform team, #belay"
users:
  allow: [alice, "1001", "@developers"]
  max: 5
reviewers:
  alice: [carol]
  "*": [security]
allow_state: true
limits: {connections: 8, running: 2, waiting: 3, state_mib: 64, idle_minutes: 5}
`))
	if err != nil || c.Contact != "the platform team, #belay" || len(c.Users.Allow) != 3 || c.Users.Max != 5 ||
		c.Reviewers["alice"][0] != "carol" || !c.AllowState || c.Limits.StateMiB != 64 || c.Limits.Idle() != 5*time.Minute {
		t.Fatalf("%+v, %v", c, err)
	}
}

// What is not valid is refused with its line, and nothing of it counts.
func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                               "/version",
		"version: belay/v1":              "system.yaml:1: /version: must be belay-system/v1",
		version + "allow: true":          "system.yaml:2: /allow: unknown member",
		version + "contact: |\n  a\n  b": "one line",
		version + "contact: " + strings.Repeat("a", 201): "at most 200 bytes",
		version + "users: {allow: []}":                   "lists no user",
		version + "users: {allow: ['a:b']}":              "/users/allow/0: is a user's name",
		version + "users: {allow: ['@']}":                "is a user's name",
		version + "users: {allow: ['-rf']}":              "is a user's name",
		version + "users: {max: 0}":                      "between 1 and 4096",
		version + "limits:\n  running: 1000":             "system.yaml:3: /limits/running: must be between 1 and 256",
		version + "limits: {state_mib: 1.5}":             "whole number",
		version + "limits: {idle_minutes: 0}":            "between 1 and 43200",
		version + "reviewers: {'a b': [c]}":              "is a user's name or uid, or *",
		version + "reviewers: {a: ['']}":                 "name of a reviewer",
		version + "allow_state: yes":                     "wrong type",
		version + "contact: a\ncontact: b":               "contact",
		version + "contact: \"\xff\"":                    "UTF-8",
	} {
		_, err := system.Parse([]byte(text))
		if !errors.Is(err, system.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}

// FuzzParse: whatever the bytes are, Parse ends with a configuration within its bounds or with an error of its class.
func FuzzParse(f *testing.F) {
	f.Add([]byte(version))
	f.Add([]byte(version + "users: {allow: [alice]}\nreviewers: {'*': [security]}\nlimits: {running: 2}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := system.Parse(src)
		if err != nil {
			if !errors.Is(err, system.ErrConfig) {
				t.Fatal(err)
			}
			return
		}
		if c.Limits.Running < 1 || c.Users.Max < 1 || c.Version != system.Version {
			t.Fatalf("%+v", c)
		}
	})
}
