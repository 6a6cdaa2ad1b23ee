package dispatch

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/phases"
)

// tree is what a caller tells of its files that tells of links alone: targets of links, "" for no link. What begins
// with /unknown cannot be told; all else is absent.
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

func (tree) Start(context.Context, files.Purpose, string, int64) ([]byte, error) {
	return nil, filesource.ErrUntold
}

func (tree) Read(context.Context, files.Purpose, string, int64) ([]byte, error) {
	return nil, filesource.ErrUntold
}

func (tree) End(context.Context, files.Purpose, string, int64) ([]byte, error) {
	return nil, filesource.ErrUntold
}

func (tree) Open(context.Context, files.Purpose, string) (*files.File, error) {
	return nil, filesource.ErrUntold
}

func (tree) Glob(context.Context, files.Purpose, string) ([]string, error) {
	return nil, filesource.ErrUntold
}

// Of a caller that does not tell what files hold, there are none where nothing is, and else it cannot be told.
func TestFilesThatAreAway(t *testing.T) {
	told := tree{"/h": "", "/h/.claude": "", "/h/.claude/a*b": "", "/h/l": "/h/.claude"}
	ctx := WithFiles(t.Context(), told, "")
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
		texts, err := readFiles(ctx)([]string{"/h/none", pattern})
		if len(texts) != 0 || none != (err == nil) || err != nil && !errors.Is(err, filesource.ErrUntold) {
			t.Errorf("%s: %q, %v", pattern, texts, err)
		}
	}
	if b, err := readTail(ctx)("/etc/passwd", 10); b != nil || !errors.Is(err, filesource.ErrUntold) {
		t.Errorf("%q, %v", b, err)
	}
}

// What settings hold is not read either: /etc/passwd is there for this process, and not for the one who asks.
func TestSettingsThatAreAway(t *testing.T) {
	for there, want := range map[string]string{"there": "unreadable", "not there": ""} {
		told := tree{"/etc": ""}
		if there == "there" {
			told["/etc/passwd"] = ""
		}
		inv := phases.Invocation{Runtime: "claude-code", Phase: phases.StateTransition,
			Action: []byte(`{"machine":"config","data":{"file_path":"/etc/passwd"}}`)}
		tellSettings(WithFiles(t.Context(), told, ""), &inv)
		var list []settingsFile
		if err := json.Unmarshal(inv.Metadata["settings"], &list); err != nil || len(list) != 1 || list[0].Counts != want {
			t.Errorf("%s: %s, %v", there, inv.Metadata["settings"], err)
		}
	}
}
