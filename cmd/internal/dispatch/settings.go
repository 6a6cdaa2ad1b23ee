package dispatch

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/internal/runfiles"
	"github.com/belay-hooks/belay/phases"
)

// maxSettings is the most bytes of one settings file that are read.
const maxSettings = 1 << 20

// settingsFile is what hooks are told about a settings file of a runtime.
type settingsFile struct {
	Path   string `json:"path"`
	Counts string `json:"counts"` // a digest of what switches hooks; "" when nothing in it does
}

// tellSettings adds to the start of a session of Claude Code, and to a change of its settings, what the
// files hold: the payload has only their names. A hook compares the two.
func tellSettings(ctx context.Context, inv *phases.Invocation) {
	if inv.Runtime != "claude-code" {
		return
	}
	var paths []string
	machine, _ := phases.GetString(inv.Action, "/machine")
	kind, _ := phases.GetString(inv.Action, "/kind")
	switch {
	case inv.Phase == phases.StateTransition && machine == "config":
		if file, ok := phases.GetString(inv.Action, "/data/file_path"); ok {
			paths = []string{file}
		} else {
			paths = settingsPaths(ctx, inv)
		}
	case inv.Phase == phases.PrePlan && kind == "session_start":
		paths = settingsPaths(ctx, inv)
	default:
		return
	}
	list := []settingsFile{}
	for _, p := range paths {
		if filepath.IsAbs(p) {
			p = filepath.Clean(p)
			list = append(list, settingsFile{Path: p, Counts: countsIn(ctx, p)})
		}
	}
	raw, err := json.Marshal(list)
	if err != nil { // a name that is not UTF-8: the hook is told nothing, and asks
		return
	}
	tell(inv, "settings", raw)
}

// tell adds what the host has looked up to what hooks read beside the action.
func tell(inv *phases.Invocation, key string, value jsontext.Value) {
	md := make(map[string]jsontext.Value, len(inv.Metadata)+1)
	for k, v := range inv.Metadata {
		md[k] = v
	}
	md[key] = value
	inv.Metadata = md
}

// tellRuns adds to a call what lies in the files that its commands would run: a hook judges it like
// the commands themselves.
func tellRuns(ctx context.Context, inv *phases.Invocation) {
	list := runfiles.Of(ctx, inv, filesOf(ctx))
	if len(list) == 0 {
		return
	}
	raw, err := json.Marshal(list)
	if err != nil { // a name that is not UTF-8
		raw = jsontext.Value(`[{"path":"a file","kind":"shell","why":"its name is no text"}]`)
	}
	tell(inv, "runs", raw)
}

// settingsPaths returns the files that a session of Claude Code reads: the user's, where its transcripts
// are kept, and the project's.
func settingsPaths(ctx context.Context, inv *phases.Invocation) (paths []string) {
	user, _, ok := "", "", false
	if transcript, has := phases.GetString(inv.Metadata["payload"], "/transcript_path"); has {
		user, _, ok = strings.Cut(transcript, "/projects/")
	}
	if home := filesOf(ctx).Home; !ok && home != "" {
		user, ok = filepath.Join(home, ".claude"), true
	}
	if ok {
		paths = append(paths, filepath.Join(user, "settings.json"))
	}
	if inv.CWD != "" {
		project := filepath.Join(inv.CWD, ".claude")
		paths = append(paths, filepath.Join(project, "settings.json"), filepath.Join(project, "settings.local.json"))
	}
	return paths
}

// countsIn returns a digest of what switches hooks in a settings file: its hooks, environment and
// plugins, and all that names belay. A file that is not there has nothing of it.
func countsIn(ctx context.Context, path string) string {
	source := filesOf(ctx).Source
	src, err := source.Read(ctx, files.Settings, path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, filesource.ErrUntold) && absent(ctx, source, path) {
		return ""
	}
	var members map[string]jsontext.Value
	if err != nil || json.Unmarshal(src, &members) != nil {
		return "unreadable"
	}
	count := map[string]jsontext.Value{}
	var named []string
	for name, v := range members {
		folded := strings.ToLower(name)
		if strings.Contains(folded, "hook") || strings.Contains(folded, "plugin") ||
			strings.Contains(folded, "marketplace") ||
			folded == "env" {
			switch strings.Join(strings.Fields(string(v)), "") {
			case "{}", "[]", "null", "false":
			default:
				count[name] = v
			}
			continue
		}
		named = append(named, namesBelay(name, v)...)
	}
	if len(named) > 0 {
		slices.Sort(named)
		if raw, err := json.Marshal(named); err == nil {
			count["belay"] = raw
		}
	}
	if len(count) == 0 {
		return ""
	}
	raw, err := json.Marshal(count, json.Deterministic(true))
	if err != nil {
		return "unreadable"
	}
	digest, err := phases.Digest(raw)
	if err != nil {
		return "unreadable"
	}
	return digest
}

// namesBelay returns the texts of a member that name belay.
func namesBelay(name string, v jsontext.Value) (out []string) {
	add := func(s string) {
		if strings.Contains(strings.ToLower(s), "belay") {
			out = append(out, s)
		}
	}
	add(name)
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return out
		}
		if tok.Kind() == '"' {
			add(tok.String())
		}
	}
}
