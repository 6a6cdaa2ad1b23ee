package dispatch

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// tree is what is told of another user's files: targets of links, "" for no link. What begins with /unknown cannot be
// told; all else is absent.
type tree map[string]string

func (t tree) Readlink(_ context.Context, path string) (string, error) {
	target, there := t[path]
	switch {
	case path == "/unknown":
		return "", errors.New("cannot be told")
	case !there:
		return "", fs.ErrNotExist
	case target == "":
		return "", hostcalls.ErrNotLink
	}
	return target, nil
}

// Files of another user are never read: there are none where nothing is, and else it cannot be told what they hold.
func TestFilesThatAreAway(t *testing.T) {
	files := tree{"/h": "", "/h/.claude": "", "/h/.claude/a*b": "", "/h/l": "/h/.claude"}
	for pattern, none := range map[string]bool{
		"/h/.claude/commands/x.md":      true,
		"/h/.claude/commands/*.md":      true,
		"/h/none/*/x/*.md":              true,
		"/h/l/none":                     true,
		`/h/.claude/a\*c/x.md`:          true,
		`/h/.claude/a\*b`:               false,
		"/h/.claude":                    false,
		"/h/l":                          false,
		"/h/*/none":                     false,
		"/*":                            false,
		"*":                             false,
		"":                              false,
		"relative/none":                 false,
		"/unknown/x":                    false,
		"/h/.claude/none[/x":            false, // below a directory that is there
		"/h/.claude/settings\\?/[a-z]*": true,
	} {
		texts, err := noFiles(t.Context(), files)([]string{"/h/none", pattern})
		if len(texts) != 0 || none != (err == nil) || err != nil && !errors.Is(err, errAway) {
			t.Errorf("%s: %q, %v", pattern, texts, err)
		}
	}
	if b, err := noTail("/etc/passwd", 10); b != nil || !errors.Is(err, errAway) {
		t.Errorf("%q, %v", b, err)
	}
}

// What settings hold is not read either: /etc/passwd is there for this process, and not for the one who asks.
func TestSettingsThatAreAway(t *testing.T) {
	for files, want := range map[string]string{"there": "unreadable", "not there": ""} {
		told := tree{"/etc": ""}
		if files == "there" {
			told["/etc/passwd"] = ""
		}
		inv := phases.Invocation{Runtime: "claude-code", Phase: phases.StateTransition,
			Action: []byte(`{"machine":"config","data":{"file_path":"/etc/passwd"}}`)}
		tellSettings(WithAway(t.Context(), told), &inv)
		var list []settingsFile
		if err := json.Unmarshal(inv.Metadata["settings"], &list); err != nil || len(list) != 1 || list[0].Counts != want {
			t.Errorf("%s: %s, %v", files, inv.Metadata["settings"], err)
		}
	}
}
