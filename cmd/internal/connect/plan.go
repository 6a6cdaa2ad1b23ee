package connect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/adapters/cursor"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/adapters/opencode"
)

// Level is the one of a runtime's settings that the entries go to.
type Level string

// The levels, from the one that holds least to the one that holds most.
const (
	Local   Level = "local"   // of one person in one project; Claude Code only
	Project Level = "project" // of all who work in a project
	User    Level = "user"    // of one person in all projects
	Managed Level = "managed" // of the machine, written by its administrator
)

// Runtimes returns the runtimes that can be connected.
func Runtimes() []string {
	return []string{claudecode.Runtime, codex.Runtime, cursor.Runtime, geminicli.Runtime, openclaw.Runtime,
		opencode.Runtime}
}

// Levels returns the levels that a runtime has, from the one that holds least; none for a name
// that is no runtime.
func Levels(name string) []Level {
	switch name {
	case claudecode.Runtime:
		return []Level{Local, Project, User, Managed}
	case codex.Runtime, geminicli.Runtime, opencode.Runtime:
		return []Level{Project, User, Managed}
	case cursor.Runtime: // another level is not described
		return []Level{Project, User}
	case openclaw.Runtime: // one configuration of one person, and no managed one
		return []Level{User}
	}
	return nil
}

// Place says where the settings of runtimes lie. Paths are absolute.
type Place struct {
	Claude string // the directory of Claude Code's user settings
	Codex  string // the directory of Codex's user settings
	Cursor string // the directory of Cursor's user settings
	Gemini string // the directory of Gemini CLI's user settings
	// OpenCode is the directory of OpenCode's user settings; Pure: the environment has it load no plugin.
	OpenCode string
	Pure     bool
	// OpenCodeMore are the other directories of which OpenCode loads plugins in every project, and OpenCodeConfig is a
	// configuration beside opencode.json; "" is none.
	OpenCodeMore   []string
	OpenCodeConfig string
	// OpenClaw is the directory of OpenClaw's state, and OpenClawConfig its configuration.
	OpenClaw, OpenClawConfig string
	Project                  string
	Root                     string // before the paths of managed settings; "" is this system's own
}

// Places finds them from the environment.
func Places(getenv func(string) string, project string) (Place, error) {
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE")
	}
	p := Place{Claude: getenv("CLAUDE_CONFIG_DIR"), Codex: getenv("CODEX_HOME"), Project: project}
	if dir := getenv("GEMINI_CLI_HOME"); dir != "" { // it stands for the home itself
		p.Gemini = filepath.Join(dir, ".gemini")
	}
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		p.OpenCode = filepath.Join(dir, "opencode")
	}
	switch strings.ToLower(getenv("OPENCODE_PURE")) {
	case "", "0", "false", "no", "off", "n":
	default:
		p.Pure = true
	}
	if home == "" && (p.Claude == "" || p.Codex == "" || p.Gemini == "" || p.OpenCode == "" ||
		getenv("OPENCLAW_STATE_DIR") == "") {
		return Place{}, &Error{Reason: "there is no home directory", Advice: "Set HOME.", Err: ErrUsage}
	}
	if p.Codex != "" { // Codex itself follows links of this one, and of no other
		if real, err := filepath.EvalSymlinks(p.Codex); err == nil {
			p.Codex = real
		}
	} else {
		p.Codex = filepath.Join(home, ".codex")
	}
	p.Cursor = filepath.Join(home, ".cursor")
	if p.Claude == "" {
		p.Claude = filepath.Join(home, ".claude")
	}
	if p.Gemini == "" {
		p.Gemini = filepath.Join(home, ".gemini")
	}
	if p.OpenCode == "" {
		p.OpenCode = filepath.Join(home, ".config", "opencode")
	}
	if home != "" {
		p.OpenCodeMore = append(p.OpenCodeMore, filepath.Join(home, ".opencode"))
	}
	if dir := getenv("OPENCODE_CONFIG_DIR"); dir != "" {
		p.OpenCodeMore = append(p.OpenCodeMore, dir)
	}
	p.OpenCodeConfig = getenv("OPENCODE_CONFIG")
	p.OpenClaw, p.OpenClawConfig = openClawPlace(getenv, home)
	absolute := []*string{&p.OpenClaw, &p.OpenClawConfig, &p.Claude, &p.Codex, &p.Cursor, &p.Gemini, &p.OpenCode,
		&p.Project}
	for i := range p.OpenCodeMore {
		absolute = append(absolute, &p.OpenCodeMore[i])
	}
	if p.OpenCodeConfig != "" {
		absolute = append(absolute, &p.OpenCodeConfig)
	}
	for _, d := range absolute {
		abs, err := filepath.Abs(*d)
		if err != nil {
			return Place{}, err
		}
		*d = abs
	}
	return p, nil
}

// openClawPlace finds OpenClaw's state and configuration, as it does itself. Blank values, "undefined" and "null" are
// none there.
func openClawPlace(getenv func(string) string, home string) (state, config string) {
	set := func(name string) string {
		v := strings.TrimSpace(getenv(name))
		if v == "undefined" || v == "null" {
			return ""
		}
		if rest, ok := strings.CutPrefix(v, "~"); ok && (rest == "" || rest[0] == '/') {
			return home + rest
		}
		return v
	}
	if dir := set("OPENCLAW_HOME"); dir != "" {
		home = dir
	}
	if state = set("OPENCLAW_STATE_DIR"); state == "" {
		state = filepath.Join(home, ".openclaw")
		if profile := set("OPENCLAW_PROFILE"); profile != "" && profile != "default" {
			state += "-" + profile
		}
	}
	if config = set("OPENCLAW_CONFIG_PATH"); config == "" {
		config = filepath.Join(state, "openclaw.json")
	}
	return state, config
}

// managedOpenCode is the directory of OpenCode's managed settings.
func managedOpenCode() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/opencode"
	case "windows":
		return `C:\ProgramData\opencode`
	}
	return "/etc/opencode"
}

// managedDirs are the directories of managed settings.
func managedDirs() (claudeDir, codexDir, geminiDir string) {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode", "/private/etc/codex", "/Library/Application Support/GeminiCli"
	case "windows":
		return `C:\Program Files\ClaudeCode`, `C:\ProgramData\OpenAI\Codex`, `C:\ProgramData\gemini-cli`
	}
	return "/etc/claude-code", "/etc/codex", "/etc/gemini-cli"
}

// file is one file of a runtime's settings.
type file struct {
	path string
	kind kind
}

type kind string

const (
	kindClaude       kind = "claude"
	kindGemini       kind = "gemini"
	kindCursor       kind = "cursor"
	kindCodexHooks   kind = "hooks.json"
	kindCodexConfig  kind = "config.toml"
	kindCodexManaged kind = "requirements.toml"
	kindOpenCode     kind = "plugin"
	kindOpenCodeJSON kind = "opencode.json"
	kindOpenClaw     kind = "openclaw plugin"
	kindOpenClawPack kind = "openclaw package.json"
	kindOpenClawSpec kind = "openclaw.plugin.json"
	kindOpenClawJSON kind = "openclaw.json"
)

// pluginFile is the name of belay's plugin for OpenCode and for OpenClaw.
const pluginFile = "belay.js"

// files returns the files of a level in the order in which they are written: the stored trust
// comes before the hooks, which run only with it.
func (p Place) files(name string, level Level) []file {
	claudeDir, codexDir, geminiDir := managedDirs()
	switch name + " " + string(level) {
	case "claude-code local":
		return []file{{filepath.Join(p.Project, ".claude", "settings.local.json"), kindClaude}}
	case "claude-code project":
		return []file{{filepath.Join(p.Project, ".claude", "settings.json"), kindClaude}}
	case "claude-code user":
		return []file{{filepath.Join(p.Claude, "settings.json"), kindClaude}}
	case "claude-code managed":
		return []file{{filepath.Join(p.Root, claudeDir, "managed-settings.json"), kindClaude}}
	case "cursor project":
		return []file{{filepath.Join(p.Project, ".cursor", "hooks.json"), kindCursor}}
	case "cursor user":
		return []file{{filepath.Join(p.Cursor, "hooks.json"), kindCursor}}
	case "gemini-cli project":
		return []file{{filepath.Join(p.Project, ".gemini", "settings.json"), kindGemini}}
	case "gemini-cli user":
		return []file{{filepath.Join(p.Gemini, "settings.json"), kindGemini}}
	case "gemini-cli managed":
		return []file{{filepath.Join(p.Root, geminiDir, "settings.json"), kindGemini}}
	case "codex project":
		return []file{{filepath.Join(p.Codex, "config.toml"), kindCodexConfig},
			{filepath.Join(p.Project, ".codex", "hooks.json"), kindCodexHooks}}
	case "codex user":
		return []file{{filepath.Join(p.Codex, "config.toml"), kindCodexConfig},
			{filepath.Join(p.Codex, "hooks.json"), kindCodexHooks}}
	case "codex managed":
		return []file{{filepath.Join(p.Root, codexDir, "requirements.toml"), kindCodexManaged}}
	case "openclaw user": // the plugin stands before the configuration names it
		dir := filepath.Join(p.OpenClaw, "belay")
		return []file{{filepath.Join(dir, pluginFile), kindOpenClaw}, {filepath.Join(dir, "package.json"), kindOpenClawPack},
			{filepath.Join(dir, "openclaw.plugin.json"), kindOpenClawSpec}, {p.OpenClawConfig, kindOpenClawJSON}}
	case "opencode project":
		return []file{{filepath.Join(p.Project, ".opencode", "plugin", pluginFile), kindOpenCode}}
	case "opencode user":
		return []file{{filepath.Join(p.OpenCode, "plugin", pluginFile), kindOpenCode}}
	case "opencode managed": // OpenCode loads no plugin of this directory by itself
		dir := filepath.Join(p.Root, managedOpenCode())
		return []file{{filepath.Join(dir, pluginFile), kindOpenCode},
			{filepath.Join(dir, "opencode.json"), kindOpenCodeJSON}}
	}
	return nil
}

// Change is what a file becomes. Old and New are nil where there is no file.
type Change struct {
	Path     string
	Old, New []byte
}

// Changes reports whether anything is to be written.
func (c Change) Changes() bool {
	return string(c.Old) != string(c.New) || (c.Old == nil) != (c.New == nil)
}

// Plan is what connecting or disconnecting a runtime does.
type Plan struct {
	Runtime string
	Level   Level
	Files   []Change // in the order in which they are written; those that stay are among them
	Notes   []string // for the person
}

// Changes reports whether anything is to be written.
func (p Plan) Changes() bool { return slices.ContainsFunc(p.Files, Change.Changes) }

// Reader returns a file's content; its error is of class fs.ErrNotExist where there is none.
type Reader func(path string) ([]byte, error)

// Make says what connecting (or disconnecting) the runtime at the level writes. It writes nothing.
// Errors are ErrUsage, ErrConflict, jsonedit.ErrInvalid, jsonedit.ErrShape, or those of read, each
// with the file it is about.
func Make(name string, level Level, place Place, hook Hook, connected bool, read Reader) (Plan, error) {
	plan := Plan{Runtime: name, Level: level}
	files := place.files(name, level)
	if files == nil {
		return plan, &Error{Reason: fmt.Sprintf("%s has no settings of the level %s", name, level),
			Err: ErrUsage}
	}
	if connected {
		if err := hook.Check(); err != nil {
			return plan, err
		}
	}
	for _, f := range files {
		old, err := readOld(read, f.path)
		if err != nil {
			return plan, err
		}
		plan.Files = append(plan.Files, Change{Path: f.path, Old: old})
	}
	// From the last to the first: the trust depends on what hooks.json becomes.
	for i := len(files) - 1; i >= 0; i-- {
		c := &plan.Files[i]
		var err error
		var notes []string
		switch files[i].kind {
		case kindClaude:
			c.New, notes, err = claude(c.Old, level, hook, connected)
		case kindGemini:
			c.New, notes, err = gemini(c.Old, level, hook, connected)
		case kindCursor:
			c.New, err = cursorHooks(c.Old, hook, connected)
		case kindCodexHooks:
			c.New, err = codexHooks(c.Old, hook, connected)
			if !connected {
				notes = moved(c.Old)
			}
		case kindCodexManaged:
			c.New, notes, err = codexManaged(c.Old, hook, connected)
		case kindOpenCode:
			c.New, err = openCodePlugin(c.Old, hook, connected)
		case kindOpenCodeJSON:
			c.New, err = openCodeConfig(c.Old, filepath.Join(managedOpenCode(), pluginFile), connected)
		case kindOpenClaw:
			c.New, err = openClawPlugin(c.Old, hook, connected)
		case kindOpenClawPack:
			c.New, err = wholeFile(c.Old, openClawPackageMark, openClawPackage, connected)
		case kindOpenClawSpec:
			c.New, err = wholeFile(c.Old, openClawManifestMark, openClawManifest, connected)
		case kindOpenClawJSON:
			c.New, err = openClawConfig(c.Old, filepath.Dir(files[0].path), connected)
		case kindCodexConfig:
			c.New, err = plan.trust(c.Old, hook, connected)
		}
		if err != nil {
			return plan, in(c.Path, err)
		}
		plan.Notes = append(plan.Notes, notes...)
	}
	if !connected {
		slices.Reverse(plan.Files) // a hook without trust is reported by Codex, trust without a hook is nothing
	}
	return plan, nil
}

// trust returns what config.toml becomes beside the hooks.json of the plan. Entries for a hooks.json
// of another level stay.
func (p *Plan) trust(src []byte, hook Hook, connected bool) ([]byte, error) {
	hooks := p.Files[len(p.Files)-1]
	kept, err := keptTrust(src, hooks.Path)
	if err != nil {
		return nil, err
	}
	if !connected {
		if src == nil {
			return nil, nil
		}
		return codexTrust(src, kept)
	}
	entries, err := trusts(hooks.Path, hooks.New, hook)
	if err != nil {
		return nil, err
	}
	return codexTrust(src, append(kept, entries...))
}

func readOld(read Reader, path string) ([]byte, error) {
	b, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, in(path, err)
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}
