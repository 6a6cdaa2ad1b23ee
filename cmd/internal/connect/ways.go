package connect

import (
	"slices"

	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/adapters/cursor"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/adapters/opencode"
)

// Way is a way past belay that was found with a runtime's real client, and where it is closed.
// docs/AGENTS.md has the same table; a test compares them.
type Way struct {
	Runtime string
	What    string  // what is done
	Closed  []Level // levels at which it was seen to be held
	By      string  // what closes it, or what is left to do
}

// Open reports whether the way stays open at the level.
func (w Way) Open(l Level) bool { return !slices.Contains(w.Closed, l) }

// Ways returns the known ways past belay, in the order of docs/AGENTS.md.
func Ways() []Way {
	all, managed := []Level{Local, Project, User, Managed}, []Level{Managed}
	claude, codexCLI, openCode, gemini := claudecode.Runtime, codex.Runtime, opencode.Runtime, geminicli.Runtime
	every, user, openClaw := []Level{Project, User, Managed}, []Level{User}, openclaw.Runtime
	return []Way{
		{claude, "another user takes the daemon's port", all, "a command over the unix socket, no HTTP"},
		{claude, "a repository's settings name a proxy", all, "a command over the unix socket; managed: NO_PROXY"},
		{claude, "a repository's settings set BELAY_HOME", all, "--state in the hook's arguments"},
		{claude, "a repository's settings set LD_PRELOAD or PATH", all,
			"exec form, absolute path: no shell; doctor is red where belay-hook loads libraries"},
		{claude, "the agent empties the settings, or sets disableAllHooks", all,
			"the settings guard, which belay init binds"},
		{claude, "another program does so while a session runs", all,
			"the settings guard refuses the change, and the client keeps what it had"},
		{claude, "disableAllHooks stands in the repository's settings", managed, "managed settings"},
		{claude, "another hook changes the command after belay judged it", managed,
			"allowManagedHooksOnly; else its result is withheld, and belay status is red"},
		{claude, "the client is started with --bare, --safe-mode, --setting-sources or --settings", managed,
			"managed settings"},
		{claude, "the client is started in a folder of the project", []Level{User, Managed},
			"the client reads the settings of the folder that it is started in"},
		{claude, "the daemon is killed or stopped", all, "belay-hook decides by itself, or blocks"},
		{claude, "a slash command with an embedded command", all,
			"each command in its file is judged; not a file that changes in between; managed: none runs"},
		{claude, "a tool that takes a command and is not Bash (Monitor)", all, "a call is judged by what it carries"},
		{claude, "belay-hook is missing, killed or late", all, "onFailure: block, but for the next row"},
		{claude, "the same at Stop, SubagentStop, TaskCompleted, TeammateIdle", nil,
			"Claude Code ignores onFailure there; no tool runs in them"},
		{claude, "@file and CLAUDE.md reach the model", nil, "no hook sees them"},
		{codexCLI, "no trust is stored for the hook", []Level{Project, User, Managed}, "belay connect stores it"},
		{codexCLI, "the client is started with -c features.hooks=false", managed,
			"features.hooks in requirements.toml; at the user level belay status is red afterwards"},
		{codexCLI, "the client is started with --ignore-user-config", managed,
			"requirements.toml: no stored trust is needed"},
		{codexCLI, "the client is started in a folder of a project without git", []Level{User, Managed},
			"Codex finds a project's root by its git repository"},
		{codexCLI, "the project's configuration ends the hooks", managed, "requirements.toml"},
		{codexCLI, "the agent removes hooks.json or belay-hook, or writes ~/.codex/.env or ~/.zshenv",
			[]Level{Project, User, Managed}, "the settings guard, which belay init binds"},
		{codexCLI, "another program removes hooks.json", managed, "requirements.toml; else doctor is red"},
		{codexCLI, "another hook changes the command after belay judged it", managed, "allow_managed_hooks_only"},
		{codexCLI, "what that command prints reaches the model", []Level{Project, User, Managed},
			"what ran is compared with what was released: withheld, and red"},
		{codexCLI, "belay-hook is missing, killed or late", nil,
			"Codex has no switch for it: the command runs; doctor is red"},
		{codexCLI, "write_stdin into a shell that stays open", []Level{Project, User, Managed},
			"open_shells blocks it when it starts"},
		{codexCLI, "write_stdin into a program of the agent's own", managed,
			"unified_exec_tty = false in requirements.toml: no terminals"},
		{codexCLI, "output before a command yields", nil, "Codex calls no hook for that part"},
		{codexCLI, "BASH_ENV in ~/.codex/.env ends the shell that starts the hook", nil,
			"doctor is red; the settings guard blocks the agent's edits of that file"},
		{codexCLI, "~/.zshenv ends it, where the account's shell is zsh", nil,
			"the settings guard blocks the agent's edits of that file"},
		{openCode, "the client is started with --pure, or with OPENCODE_PURE=1", nil,
			"OpenCode loads no plugin; doctor is red where its own environment says so, " +
				"belay status afterwards, but at the project's level"},
		{openCode, "a plugin of the project changes the command after belay judged it", nil,
			"doctor is red: read the project's plugins"},
		{openCode, "belay's plugin does not load", nil,
			"OpenCode goes on without it; doctor is red where the file was changed"},
		{openCode, "the agent removes belay's plugin, writes a tool in the place of OpenCode's own, or starts --pure", every,
			"the settings guard, which belay init binds"},
		{openCode, "the daemon is killed", every, "belay-hook decides by itself, or blocks"},
		{openCode, "belay-hook is missing or killed, and there is no daemon", every, "the plugin throws"},
		{openClaw, "the client is started as openclaw agent exec", nil,
			"OpenClaw calls no hook of a plugin; the settings guard asks about the agent's own commands"},
		{openClaw, "the configuration says plugins.enabled = false", nil,
			"doctor is red; the settings guard protects the file"},
		{openClaw, "another plugin changes the command after belay judged it", user,
			"belay's plugin comes last, with the arguments that it decided"},
		{openClaw, "another plugin asks its person, changes the command in the same answer, and the person allows it", nil,
			"OpenClaw's own runner was seen to keep the other's arguments; " +
				"a run without a person refuses, and so does a block of belay's"},
		{openClaw, "belay's plugin does not load", user, "OpenClaw does not start"},
		{openClaw, "the daemon is killed or stopped", user, "belay-hook decides by itself, or blocks"},
		{openClaw, "belay-hook is missing, or never answers", user, "the plugin's own deadline: the call is blocked"},
		{openClaw, "the agent empties openclaw.json, has its tool plugins disable belay, or starts agent exec", user,
			"the settings guard, which belay init binds"},
		{openClaw, "a call by way of tool_call (tool search)", user, "it is a call of its own, with its own name"},
		{gemini, "the project's settings say hooksConfig.enabled = false", managed,
			"hooksConfig.enabled of the machine; at the user level belay status is red afterwards"},
		{gemini, "the project's settings name belay's command in hooksConfig.disabled", nil,
			"Gemini CLI joins these lists of all levels; doctor is red"},
		{gemini, "the project has a hook with belay's own command and 1 ms to answer", []Level{User},
			"Gemini CLI keeps one hook of those with one command, the person's first; doctor warns"},
		{gemini, "another hook changes the command after belay judged it", nil,
			"no setting keeps other hooks out, and calls carry no id; doctor warns"},
		{gemini, "the project's .env sets BASH_ENV, LD_PRELOAD, SHELLOPTS or BELAY_HOME", every,
			"the entry's own environment, and --state"},
		{gemini, "the client is started in a folder that is not trusted", every,
			"without a person it does not start; with one it has no hooks, and asks about each call"},
		{gemini, "the client is started with --skip-trust in such a folder", []Level{User, Managed},
			"the project's settings are not read then"},
		{gemini, "the client is started in a folder of the project", []Level{User, Managed},
			"the client reads the settings of the folder that it is started in"},
		{gemini, "the client is started with GEMINI_CLI_SYSTEM_SETTINGS_PATH", []Level{Project, User},
			"who starts the client names the machine's settings"},
		{gemini, "the agent empties the settings, or writes .gemini/.env", every,
			"the settings guard, which belay init binds"},
		{gemini, "belay-hook is killed or late", nil, "Gemini CLI has no switch for it: the command runs"},
		{gemini, "belay-hook is missing", every, "the shell's message is the reason of a deny"},
		{gemini, "a secret in GEMINI.md or an @file reaches the model", every,
			"BeforeAgent and BeforeModel have their text"},
		{gemini, "a request beside the conversation (choice of a model, summaries)", nil,
			"Gemini CLI calls no hook for it"},
		{cursor.Runtime, "whatever is done: belay was never run with Cursor", nil,
			"golden pairs alone: try it before you rely on it"},
	}
}

// OpenAt returns the ways past belay that stay open for a runtime at a level.
func OpenAt(name string, l Level) (out []Way) {
	for _, w := range Ways() {
		if w.Runtime == name && w.Open(l) {
			out = append(out, w)
		}
	}
	return out
}
