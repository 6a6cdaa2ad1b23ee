package shell

// Reply answers shell_parse(text). The text is what an agent would hand to
// `bash -c`.
//
// A guard should treat each of these as "cannot tell" and ask or block:
// ok false, truncated true, an entry in unknown, a command whose name is "",
// and a word that matters to it with known false.
type Reply struct {
	OK       bool      `json:"ok"`             // the text is shell and was walked to the end, inner texts included
	Dialect  string    `json:"dialect"`        // "bash" or "posix": the grammar that read it
	Error    string    `json:"error,omitzero"` // when not ok: the fault and its place, without text of the input
	Commands []Command `json:"commands"`       // in the order in which they would start; ≤ 512
	Unknown  []Unknown `json:"unknown"`        // what would run but is not known statically; ≤ 64
	// programs of other languages that would run; ≤ 64
	UnknownPrograms []Program `json:"unknown_programs,omitzero"`
	Truncated       bool      `json:"truncated"`          // a limit was reached: there is more than is told here
	Functions       []string  `json:"functions,omitzero"` // names of functions that the text defines
}

// Command is one simple command that would run: typed in the text itself, or
// handed by a wrapper (sudo, xargs, sh -c, find -exec …) to be run. A wrapper
// and the command in it are both listed, the wrapper first.
type Command struct {
	// last path element of the command word, "rm" for /bin/rm; "" when not known
	Name string `json:"name"`
	// the command word and its arguments after expansion; redirections are not in it
	Words     []Word     `json:"words"`
	Raw       string     `json:"raw"`                // source text, cut at 512 bytes
	Assigns   []Assign   `json:"assigns,omitzero"`   // NAME=value before the command, or given to env
	Redirects []Redirect `json:"redirects,omitzero"` //
	// number of the pipeline that it is part of, from 1; commands with the same number are connected; 0: none
	Pipe      int `json:"pipe"`
	StdinFrom int `json:"stdin_from"` // index in commands of the one whose output it reads, or -1
	// the text on its standard input where that comes from the script: here-document, here-string, echo …
	Stdin *Word `json:"stdin,omitzero"`
	// wrappers round it, outermost first: "sudo", "sh -c", "xargs", "find -exec", "ssh", "eval", "stdin" …
	Via    []string `json:"via,omitzero"`
	Parent int      `json:"parent"` // index in commands of the innermost wrapper, or -1
	// constructs round it, outermost first: subshell, substitution, process_substitution, background, loop,
	// endless (of a loop whose condition does not change), condition, function:NAME, uncalled:NAME
	Context []string `json:"context,omitzero"`
	// where it runs, after a cd in the text; absent: where the text was started
	CWD *Word `json:"cwd,omitzero"`
	// it calls a function that the text defines; the commands of its body follow
	Function  bool `json:"function,omitzero"`
	Recursive bool `json:"recursive,omitzero"` // the function is already running
	// it runs on another host or in a container (ssh, docker exec, kubectl exec …)
	Remote bool `json:"remote,omitzero"`
	// more arguments follow that are not known: those of xargs, or an unquoted expansion
	ArgsOpen bool `json:"args_open,omitzero"`
}

// Word is a word after quote removal and expansion.
type Word struct {
	// parts that are not known stand as their source text, such as "$X"; a leading ~ is kept; ≤ 8 KiB
	Text  string `json:"text"`
	Known bool   `json:"known"` // text is exactly what the command gets, apart from ~ and glob
	// has unquoted * ? [ that the shell would expand; those it holds as text are escaped in no way
	Glob  bool `json:"glob,omitzero"`
	Tilde bool `json:"tilde,omitzero"` // begins with an unquoted ~ or with $HOME, both written "~"
	// indexes of the commands whose output is in the text, where it is not known: those of a substitution in it,
	// or in the value of a variable in it; ≤ 8
	From []int `json:"from,omitzero"`

	holes string // the text with a hole in place of each part that is not known; "" where they cannot be told apart
}

// Assign is one assignment.
type Assign struct {
	Name  string `json:"name"`
	Value Word   `json:"value"`
}

// Redirect is one redirection.
type Redirect struct {
	Op     string `json:"op"`     // > >> < <> >| >& <& &> &>> << <<- <<<
	FD     int    `json:"fd"`     // the descriptor that is redirected
	Target Word   `json:"target"` // the file, or the descriptor, or the text of a here-document
}

// Unknown is something that would run and is not known statically.
type Unknown struct {
	// name: the command word; code: text for eval, sh -c or a shell's input; script: a file that a shell would run; limit
	What    string `json:"what"`
	Raw     string `json:"raw"`     // source text, cut at 512 bytes
	Command int    `json:"command"` // index in commands, or -1
	// of code: the text is known but for words in it, and is walked: what it runs is listed in Commands
	Partial bool `json:"partial,omitzero"`
}
