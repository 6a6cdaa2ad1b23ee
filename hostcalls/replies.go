package hostcalls

// The documents that analysis calls answer. Members are always present unless
// marked as optional; a member added later does not change version 1 of the ABI.

// ShellReply answers shell_parse(text). The text is what an agent would hand to
// `bash -c`.
//
// A guard should treat each of these as "cannot tell" and ask or block:
// ok false, truncated true, an entry in unknown, a command whose name is "",
// and a word that matters to it with known false.
type ShellReply struct {
	OK        bool           `json:"ok"`                 // the text is shell and was walked to the end, inner texts included
	Dialect   string         `json:"dialect"`            // "bash" or "posix": the grammar that read it
	Error     string         `json:"error,omitzero"`     // when not ok: what is wrong and where, without text of the input
	Commands  []ShellCommand `json:"commands"`           // in the order in which they would start; ≤ 512
	Unknown   []ShellUnknown `json:"unknown"`            // what would run but is not known statically; ≤ 64
	Truncated bool           `json:"truncated"`          // a limit was reached: there is more than is told here
	Functions []string       `json:"functions,omitzero"` // names of functions that the text defines
}

// ShellCommand is one simple command that would run: typed in the text itself,
// or handed by a wrapper (sudo, xargs, sh -c, find -exec …) to be run. A wrapper
// and what it wraps are both listed, the wrapper first.
type ShellCommand struct {
	Name      string          `json:"name"`               // last path element of the command word, "rm" for /bin/rm; "" when not known
	Words     []ShellWord     `json:"words"`              // the command word and its arguments after expansion; redirections are not in it
	Raw       string          `json:"raw"`                // source text, cut at 512 bytes
	Assigns   []ShellAssign   `json:"assigns,omitzero"`   // NAME=value before the command, or given to env
	Redirects []ShellRedirect `json:"redirects,omitzero"` //
	Pipe      int             `json:"pipe"`               // number of the pipeline that it is part of, from 1; commands with the same number are connected; 0: none
	StdinFrom int             `json:"stdin_from"`         // index in commands of the one whose output it reads, or -1
	Stdin     *ShellWord      `json:"stdin,omitzero"`     // the text on its standard input where that comes from the script: here-document, here-string, echo …
	Via       []string        `json:"via,omitzero"`       // wrappers round it, outermost first: "sudo", "sh -c", "xargs", "find -exec", "ssh", "eval", "stdin" …
	Parent    int             `json:"parent"`             // index in commands of the innermost wrapper, or -1
	Context   []string        `json:"context,omitzero"`   // constructs round it, outermost first: subshell, substitution, process_substitution, background, loop, condition, function:NAME, uncalled:NAME
	CWD       *ShellWord      `json:"cwd,omitzero"`       // where it runs, after a cd in the text; absent: where the text was started
	Function  bool            `json:"function,omitzero"`  // it calls a function that the text defines; the commands of its body follow
	Recursive bool            `json:"recursive,omitzero"` // the function is already running
	Remote    bool            `json:"remote,omitzero"`    // it runs on another host or in a container (ssh, docker exec, kubectl exec …)
	ArgsOpen  bool            `json:"args_open,omitzero"` // more arguments follow that are not known: those of xargs, or an unquoted expansion
}

// ShellWord is a word after quote removal and expansion.
type ShellWord struct {
	Text  string `json:"text"`           // parts that are not known stand as their source text, such as "$X"; a leading ~ is kept; ≤ 8 KiB
	Known bool   `json:"known"`          // text is exactly what the command gets, apart from ~ and glob
	Glob  bool   `json:"glob,omitzero"`  // has unquoted * ? [ that the shell would expand; those it holds as text are escaped in no way
	Tilde bool   `json:"tilde,omitzero"` // begins with an unquoted ~ or with $HOME, both written "~"
}

// ShellAssign is one assignment.
type ShellAssign struct {
	Name  string    `json:"name"`
	Value ShellWord `json:"value"`
}

// ShellRedirect is one redirection.
type ShellRedirect struct {
	Op     string    `json:"op"`     // > >> < <> >| >& <& &> &>> << <<- <<<
	FD     int       `json:"fd"`     // the descriptor that is redirected
	Target ShellWord `json:"target"` // the file, or the descriptor, or the text of a here-document
}

// ShellUnknown is something that would run and is not known statically.
type ShellUnknown struct {
	What    string `json:"what"`    // name: the command word; code: text for eval, sh -c or a shell's input; script: a file that a shell would run; limit
	Raw     string `json:"raw"`     // source text, cut at 512 bytes
	Command int    `json:"command"` // index in commands, or -1
}

// PathRequest is the argument of path_resolve: at most 64 paths of 4 KiB.
type PathRequest struct {
	Paths []string `json:"paths"`
	CWD   string   `json:"cwd,omitzero"` // what relative paths are relative to; the invocation's working directory when empty
}

// PathReply answers path_resolve, one result per path in the same order.
type PathReply struct {
	Results []PathResult `json:"results"`
}

// PathResult is one path in the forms that a rule can be written against.
// A rule should look at all of keys.
type PathResult struct {
	Input    string   `json:"input"`
	Path     string   `json:"path"`              // as a file system would take it: ~, $HOME and file: URLs resolved, absolute where the directory is known, cleaned
	Key      string   `json:"key"`               // for comparing: also percent-decoded, NFKC, invisible characters removed, \ as /, drive letter and /proc/*/root dropped, lower case
	Resolved string   `json:"resolved,omitzero"` // path with symbolic links followed, as far as they may be looked at
	Keys     []string `json:"keys"`              // every distinct key: that of path, of each reading of a doubtful spelling, and of resolved
	Absolute bool     `json:"absolute"`          // path is absolute (a leading ~ is not, when the home directory is not known)
	Links    string   `json:"links"`             // resolved: every element was looked at; partial: some lie outside of the file scopes; absent: the path ends before its last element; unknown: not looked at; loop
	Notes    []string `json:"notes,omitzero"`    // spellings that hide something: percent, invisible, unicode, nul, backslash, drive, stream, proc, file_url, blank, dot, tilde_user, variable
}

// PatternRequest is the argument of pattern_match: at most 64 patterns of 1 KiB
// against at most 64 texts.
type PatternRequest struct {
	Kind       string   `json:"kind"` // re2: RE2 syntax, unanchored; glob: *, **, ?, [class], {a,b} against the whole text, / separates
	Patterns   []string `json:"patterns"`
	Texts      []string `json:"texts"`
	IgnoreCase bool     `json:"ignore_case,omitzero"`
}

// PatternReply answers pattern_match: the first match of each pattern in each
// text. A pattern that is not valid, or too costly, refuses the call (Invalid, TooLarge).
type PatternReply struct {
	Any     bool           `json:"any"`
	Matches []PatternMatch `json:"matches"` // by text, then by pattern
}

// PatternMatch is one match; Start and End are byte offsets in the text.
type PatternMatch struct {
	Text    int `json:"text"`    // index in texts
	Pattern int `json:"pattern"` // index in patterns
	Start   int `json:"start"`
	End     int `json:"end"`
}

// SecretsReply answers find_secrets(text). Values are never in it.
type SecretsReply struct {
	Secrets   []SecretPlace `json:"secrets"` // by place, not overlapping; ≤ 256
	Truncated bool          `json:"truncated"`
}

// SecretPlace is one secret; Start and End are byte offsets in the text.
type SecretPlace struct {
	Kind  string `json:"kind"` // such as github_token, private_key, password
	Start int    `json:"start"`
	End   int    `json:"end"`
}
