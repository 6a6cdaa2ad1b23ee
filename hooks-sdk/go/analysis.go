package hook

// Shell is what ShellParse found. A guard treats each of these as "cannot tell",
// and asks or blocks: an error, OK false, Truncated true, an entry in Unknown, a
// command without a name, and a word that matters with Known false.
type Shell struct {
	OK        bool   // the text is shell and was walked to the end
	Error     string // what is wrong when it is not
	Dialect   string // the grammar that read it: bash or posix
	Commands  []Command
	Unknown   []Unknown // what would run but is not known statically
	Truncated bool      // there is more than is told here
	Functions []string  // names of the functions that the text defines

	// Programs of other languages that would run. They are no doubt by themselves: a
	// guard that judges what runs judges their texts, or asks.
	UnknownPrograms []Program
}

// Program is a program of another language than the shell's: what an interpreter
// gets as an argument, on its standard input or in a file.
type Program struct {
	Language string // python, perl, javascript, awk, sql, make, crontab, native…
	Text     string // the program, where it is at hand
	Partial  bool   // parts of Text are not known and stand as their source text
	File     string // the file that holds it
	Raw      string // its source text, cut
	Command  int    // index of its command, or -1
}

// Command is one simple command that would run.
type Command struct {
	Name      string // last path element of the command word; "" when it is not known
	Words     []Word // the command word and its arguments after expansion
	Raw       string // its source text, cut
	Assigns   []Assign
	Redirects []Redirect
	StdinFrom int   // index of the command whose output it reads, or -1
	Stdin     *Word // the text on its standard input, where that stands in the text that was parsed; else nil
	Pipe      int   // the number of its pipeline, from 1; 0 outside of one

	Parent  int      // index of the innermost wrapper that runs it, or -1
	Via     []string // wrappers round it, outermost first
	Context []string // constructs round it: substitution, background, function:NAME...

	CWD        string // where it runs, after a cd in the text; "" when that is where the text was started
	CWDUnknown bool   // parts of CWD are not known and stand as their source text

	Remote    bool // it runs on another host or in a container
	Function  bool // it calls a function of the text; the commands of its body follow
	Recursive bool // it calls a function that is already running
	ArgsOpen  bool // more arguments follow that are not known
}

// Word is a word after quote removal and expansion.
type Word struct {
	Text  string // parts that are not known stand as their source text
	Known bool   // Text is exactly what the command gets, apart from ~ and patterns
	Glob  bool   // it has a pattern that the shell would expand
	Tilde bool   // it begins with ~ or $HOME, both written ~
	From  []int  // where it is not known: indexes of the commands whose output is in it
}

// Assign is NAME=value before a command, or given to env.
type Assign struct {
	Name  string
	Value Word
}

// Redirect is a redirection.
type Redirect struct {
	Op     string
	FD     int64
	Target Word
}

// Unknown is something that would run and is not known.
type Unknown struct {
	What    string // name, code, script or limit
	Raw     string // its source text, cut
	Command int    // index of the command that it belongs to, or -1
	Partial bool   // of code: it is known but for words in it, and what it runs is among the commands
}

// Line returns the words as one line.
func (c Command) Line() string {
	var b []byte
	for i, w := range c.Words {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, w.Text...)
	}
	return string(b)
}

func parsedReply(code int32) (Value, error) {
	if err := check(code); err != nil {
		return Value{}, err
	}
	s, err := lastReply()
	if err != nil {
		return Value{}, err
	}
	v, ok := ParseJSON(s)
	if !ok {
		return Value{}, Invalid
	}
	return v, nil
}

// ShellParse tells every command that a shell text of at most 64 KiB would run.
func ShellParse(text string) (Shell, error) {
	v, err := parsedReply(rawShellParse(text))
	if err != nil {
		return Shell{}, err
	}
	s := Shell{
		OK: v.Get("ok").True(), Error: v.Get("error").Text(), Dialect: v.Get("dialect").Text(),
		Truncated: v.Get("truncated").True(), Functions: v.Get("functions").Texts(),
	}
	for _, c := range v.Get("commands").Items() {
		s.Commands = append(s.Commands, readCommand(c))
	}
	for _, u := range v.Get("unknown").Items() {
		s.Unknown = append(s.Unknown, Unknown{
			What: u.Get("what").Text(), Raw: u.Get("raw").Text(), Command: place(u, "command"), Partial: u.Get("partial").True(),
		})
	}
	for _, p := range v.Get("unknown_programs").Items() {
		s.UnknownPrograms = append(s.UnknownPrograms, Program{
			Language: p.Get("language").Text(), Text: p.Get("text").Text(), Partial: p.Get("partial").True(),
			File: p.Get("file").Text(), Raw: p.Get("raw").Text(), Command: place(p, "command"),
		})
	}
	return s, nil
}

func readCommand(v Value) Command {
	c := Command{
		Name: v.Get("name").Text(), Raw: v.Get("raw").Text(), Pipe: index(v, "pipe"),
		StdinFrom: place(v, "stdin_from"), Parent: place(v, "parent"), Via: v.Get("via").Texts(), Context: v.Get("context").Texts(),
		Remote: v.Get("remote").True(), Function: v.Get("function").True(), Recursive: v.Get("recursive").True(),
		ArgsOpen: v.Get("args_open").True(),
	}
	if w := v.Get("cwd"); w.Kind() != None {
		c.CWD, c.CWDUnknown = w.Get("text").Text(), !w.Get("known").True()
	}
	if w := v.Get("stdin"); w.Kind() != None {
		word := readWord(w)
		c.Stdin = &word
	}
	for _, w := range v.Get("words").Items() {
		c.Words = append(c.Words, readWord(w))
	}
	for _, a := range v.Get("assigns").Items() {
		c.Assigns = append(c.Assigns, Assign{Name: a.Get("name").Text(), Value: readWord(a.Get("value"))})
	}
	for _, r := range v.Get("redirects").Items() {
		fd, _ := r.Get("fd").Int()
		c.Redirects = append(c.Redirects, Redirect{Op: r.Get("op").Text(), FD: fd, Target: readWord(r.Get("target"))})
	}
	return c
}

func readWord(v Value) Word {
	w := Word{
		Text: v.Get("text").Text(), Known: v.Get("known").True(), Glob: v.Get("glob").True(), Tilde: v.Get("tilde").True(),
	}
	for _, from := range v.Get("from").Items() {
		if n, ok := from.Int(); ok && n >= 0 {
			w.From = append(w.From, int(n))
		}
	}
	return w
}

// place reads the index of a command: -1 where there is none.
func place(v Value, name string) int {
	if n, ok := v.Get(name).Int(); ok && n >= 0 {
		return int(n)
	}
	return -1
}

// InputCommand returns the command line of a tool call: /args/command or
// /args/cmd, as a string, or as an array of words, which are quoted and joined.
// ok is false when there is nothing of the kind, or something else stands there.
// A guard uses InputLines, which finds commands of other tools, too.
func InputCommand() (line string, ok bool) {
	for _, path := range []string{"/args/command", "/args/cmd"} {
		if v := InputValue(path); v.Kind() != None {
			return commandLine(v)
		}
	}
	return "", false
}

func commandLine(v Value) (line string, ok bool) {
	if v.Kind() == String {
		return v.Text(), true
	}
	if len(v.Items()) == 0 || len(v.Texts()) != len(v.Items()) || v.Kind() != Array {
		return "", false
	}
	var b []byte
	for i, w := range v.Texts() {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, '\'')
		for j := 0; j < len(w); j++ {
			if w[j] == '\'' {
				b = append(b, `'\'`...)
			}
			b = append(b, w[j])
		}
		b = append(b, '\'')
	}
	return string(b), true
}

// Line is one text that a tool call would run.
type Line struct {
	Text string // as InputCommand returns it
	Code bool   // it may be of another language than the shell's
}

// Lines is what a tool call would run.
type Lines struct {
	Lines   []Line
	Foreign bool // the tool is known to run another language: what its code does cannot be told from it
	More    bool // there is more than is told here, or something that cannot be read
}

// InputLines returns everything that a tool call would run: of a tool that runs
// commands, and of one that the host judges as such by what the call carries.
// ok is false when there is nothing of the kind.
func InputLines() (found Lines, ok bool) {
	judged := InputValue("/judged")
	if judged.Kind() == None {
		line, ok := InputCommand()
		return Lines{Lines: []Line{{Text: line}}}, ok
	}
	found = Lines{Foreign: judged.Get("foreign").True(), More: judged.Get("more").True()}
	for _, list := range []string{"commands", "code"} {
		for _, at := range judged.Get(list).Texts() {
			if line, ok := commandLine(InputValue(at)); ok {
				found.Lines = append(found.Lines, Line{Text: line, Code: list == "code"})
			} else {
				found.More = true
			}
		}
	}
	return found, len(found.Lines) > 0 || found.More
}

// Path is one path in the forms that a rule can be written against.
type Path struct {
	Path     string   // as a file system would take it: absolute where the directory is known, cleaned
	Resolved string   // with symbolic links followed, as far as they may be looked at; "" otherwise
	Keys     []string // every form for comparing; a rule should look at all of them
	Links    string   // resolved, partial, absent, unknown or loop
	Notes    []string // spellings that hide something, such as percent or invisible
}

// PathResolve resolves up to 64 paths; relative ones against cwd, or the
// invocation's working directory when that is "".
func PathResolve(cwd string, paths ...string) ([]Path, error) {
	var w Writer
	w.Begin('{').Key("paths").Texts(paths)
	if cwd != "" {
		w.Key("cwd").Text(cwd)
	}
	v, err := parsedReply(rawPathResolve(w.End('}').String()))
	if err != nil {
		return nil, err
	}
	var out []Path
	for _, r := range v.Get("results").Items() {
		out = append(out, Path{
			Path: r.Get("path").Text(), Resolved: r.Get("resolved").Text(), Keys: r.Get("keys").Texts(),
			Links: r.Get("links").Text(), Notes: r.Get("notes").Texts(),
		})
	}
	return out, nil
}

// Match is the first match of a pattern in a text.
type Match struct {
	Text, Pattern int // indexes
	Start, End    int // byte offsets in the text
}

// MatchRE2 tells which RE2 patterns, unanchored, match which texts; at most 64 of each.
func MatchRE2(patterns, texts []string) ([]Match, error) { return match("re2", patterns, texts) }

// MatchGlob tells which glob patterns match which whole texts; at most 64 of each.
func MatchGlob(patterns, texts []string) ([]Match, error) { return match("glob", patterns, texts) }

func match(kind string, patterns, texts []string) ([]Match, error) {
	var w Writer
	w.Begin('{').Key("kind").Text(kind).Key("patterns").Texts(patterns).Key("texts").Texts(texts).End('}')
	v, err := parsedReply(rawPatternMatch(w.String()))
	if err != nil {
		return nil, err
	}
	var out []Match
	for _, m := range v.Get("matches").Items() {
		out = append(out, Match{Text: index(m, "text"), Pattern: index(m, "pattern"), Start: index(m, "start"), End: index(m, "end")})
	}
	return out, nil
}

func index(v Value, name string) int {
	n, _ := v.Get(name).Int()
	return int(n)
}

// Secret is a secret in a text.
type Secret struct {
	Kind       string // such as github-token or private-key
	Start, End int    // byte offsets in the text
}

// FindSecrets tells kinds and places of the secrets in a text of at most
// 256 KiB, by place, not overlapping; more tells that the list was cut.
func FindSecrets(text string) (list []Secret, more bool, err error) {
	v, err := parsedReply(rawFindSecrets(text))
	if err != nil {
		return nil, false, err
	}
	for _, s := range v.Get("secrets").Items() {
		list = append(list, Secret{Kind: s.Get("kind").Text(), Start: index(s, "start"), End: index(s, "end")})
	}
	return list, v.Get("truncated").True(), nil
}
