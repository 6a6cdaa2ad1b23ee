package ownfiles

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

// payload is what a question names, of whichever runtime.
type payload struct {
	CWD        string         `json:"cwd"`
	Directory  string         `json:"directory"`
	Roots      []string       `json:"workspace_roots"`
	Session    string         `json:"session_id"`
	Transcript string         `json:"transcript_path"`
	Agents     string         `json:"agent_transcript_path"`
	HookEvent  jsontext.Value `json:"hook_event_name"`
	Hook       jsontext.Value `json:"hook"`
	Event      jsontext.Value `json:"event"`
	Phase      jsontext.Value `json:"phase"`
	Rest       jsontext.Value `json:",inline"`
}

// ruleOf returns the rule for a question, which is a whole frame. A question that cannot be read names nothing, and
// nothing is told.
func ruleOf(question []byte, getenv func(string) string) *rule {
	r := &rule{}
	if len(question) < daemonapi.FrameHeader {
		return r
	}
	h, err := daemonapi.DecodeQuestion([daemonapi.FrameHeader]byte(question))
	body := question[daemonapi.FrameHeader:]
	event := h.Kind == daemonapi.FrameEvent
	if event && err == nil {
		r.runtime, _, body, err = daemonapi.DecodeEvent(body)
	}
	var p payload
	if err != nil || json.Unmarshal(body, &p) != nil {
		return &rule{}
	}
	if r.calls = p.beforeCall(r.runtime, event); r.calls {
		if r.text, err = texts(body); err != nil {
			return &rule{}
		}
	}
	r.homes, r.temps = homes(getenv), []string{"/tmp", "/var/tmp", "/dev/shm"}
	for _, dir := range append([]string{p.CWD, p.Directory}, p.Roots...) {
		r.project(dir)
	}
	if !event {
		return r
	}
	if r.runtime == claudeCode {
		for _, dir := range []string{path.Join(getenv("HOME"), ".claude"), getenv("CLAUDE_CONFIG_DIR")} {
			r.configs = withReal(r.configs, dir)
		}
	}
	if plain(p.Session) {
		r.session = p.Session
	}
	for _, t := range []string{p.Transcript, p.Agents} {
		if daemonapi.Lookable(t) && path.Ext(t) == ".jsonl" {
			r.transcripts = append(r.transcripts, t)
		}
	}
	return r
}

// beforeCall reports whether the question is about a call that has not run, or about a command of the person's in which
// calls may stand. After a call the payload holds what the call has printed, such as the names of all files.
func (p *payload) beforeCall(runtime string, event bool) bool {
	name, before := p.HookEvent, []string(nil)
	switch {
	case !event:
		name, before = p.Phase, []string{"pre_tool"}
	case runtime == claudeCode:
		before = []string{"PreToolUse", "PermissionRequest", "UserPromptExpansion"}
	case runtime == "codex":
		before = []string{"PreToolUse", "PermissionRequest"}
	case runtime == "gemini-cli":
		before = []string{"BeforeTool"}
	case runtime == "cursor":
		before = []string{"preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead"}
	case runtime == "opencode":
		name, before = p.Event, []string{"tool.execute.before", "shell.env", "permission.ask", "permission.asked"}
	case runtime == "openclaw":
		name, before = p.Hook, []string{"before_tool_call", "resolve_exec_env"}
	case runtime == "openclaw-interceptors":
		name, before = p.Event, []string{"tool.before"}
	}
	var text string
	return name.Kind() == '"' && json.Unmarshal(name, &text) == nil && slices.Contains(before, text)
}

// plain reports whether a session's name is one name of a file.
func plain(s string) bool { return s != "" && s != "." && s != ".." && !strings.Contains(s, "/") }

// withReal adds a directory and its real path.
func withReal(list []string, dir string) []string {
	if !path.IsAbs(dir) || path.Clean(dir) == "/" {
		return list
	}
	list = append(list, path.Clean(dir))
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != "/" && !slices.Contains(list, real) {
		list = append(list, real)
	}
	return list
}

// project takes up a directory that the payload names, with the repository around it.
func (r *rule) project(dir string) {
	if !path.IsAbs(dir) {
		return
	}
	r.near = append(r.near, path.Clean(dir))
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return
	}
	r.near = append(r.near, real)
	repository := r.repository(real)
	for _, d := range []string{repository, real} {
		if d != "" && r.isProject(d, repository) {
			r.projects = append(r.projects, d)
		}
	}
}

// maxAbove is how far above a directory its repository is looked for.
const maxAbove = 16

// repository returns the directory with .git that a real directory lies in, or "". The home is none.
func (r *rule) repository(dir string) string {
	for n := 0; n < maxAbove && dir != "/" && !slices.Contains(r.homes, dir); n, dir = n+1, path.Dir(dir) {
		if _, err := os.Lstat(path.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return ""
}

// homes returns the homes of this user: as the environment says, which an agent can change, and as the system does.
func homes(getenv func(string) string) (out []string) {
	out = withReal(out, getenv("HOME"))
	passwd, err := files.Read("/etc/passwd", maxPasswd)
	if err != nil {
		return out
	}
	uid := strconv.Itoa(os.Getuid())
	for line := range strings.Lines(string(passwd)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[2] == uid {
			out = withReal(out, f[5])
		}
	}
	return out
}

const maxPasswd = 4 << 20

// texts returns all texts of a document, one a line.
func texts(src []byte) (out []byte, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(src))
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if tok.Kind() == '"' {
			out = append(append(out, tok.String()...), '\n')
		}
	}
}

// says reports whether a text says a name as a word of its own: beside it stand neither letters and digits, nor one of
// the marks before it, nor a mark behind it that makes it a longer name.
func says(text []byte, name, marks string) bool {
	if name == "" {
		return false
	}
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return false
		}
		at += i
		before, after := byte(0), text[at+len(name):]
		if at > 0 {
			before = text[at-1]
		}
		longer := len(after) > 0 &&
			(letter(after[0]) || after[0] == '-' || after[0] == '.' && len(after) > 1 && letter(after[1]))
		if !letter(before) && !strings.ContainsRune(marks, rune(before)) && !longer {
			return true
		}
	}
}

func letter(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
