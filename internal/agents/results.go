// Package agents holds what the real clients of agent runtimes were seen to do with belay connected:
// the results of `make test-agents`, one file per client in results/, and the table in docs/AGENTS.md
// that is made of them. Its tests, behind the build tag agents, run the clients against scripted model
// servers on loopback: script_test.go has the turns, responses_test.go and messages_test.go the servers,
// host_test.go the daemon, and files named after them the clients.
package agents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Level is where the client's hooks are registered.
type Level string

// The levels, weakest first.
const (
	User    Level = "user"
	Project Level = "project"
	Local   Level = "local" // the person's own part of a project's settings
	Managed Level = "managed"
	System  Level = "system" // managed settings, and belay in system mode: make test-system-agents
)

// Levels returns the levels that most clients have, weakest first.
func Levels() []Level { return []Level{User, Project, Managed} }

// levels returns the columns of a client's tables: the levels that it was tried at.
func (c Client) levels() []Level {
	all := []Level{User, Project, Local, Managed, System}
	return slices.DeleteFunc(all, func(l Level) bool {
		return !slices.ContainsFunc(c.Results, func(r Result) bool { return r.Level == l })
	})
}

// Result is one case at one level, as the client was seen to behave.
type Result struct {
	Group string `json:"group"` // the table that it stands in: verdicts, failures, ways past
	Case  string `json:"case"`  // what was done, in words for a reader
	Level Level  `json:"level"`
	Got   string `json:"got"`           // "held", "open", or a word of the case's own
	Note  string `json:"note,omitzero"` // what a reader has to know beside it
}

// Client is the results of one client.
type Client struct {
	Name    string   `json:"name"` // as people call it
	Version string   `json:"version"`
	Results []Result `json:"results"`
}

// Read reads all results below dir, sorted by file name.
func Read(dir string) ([]Client, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	var out []Client
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("agents: %w", err)
		}
		var c Client
		if err := json.Unmarshal(b, &c, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("agents: %s: %w", f, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// Over returns the client's results with those that an older run has of groups that this one did not run, in
// the order of groups: verdicts, failures, ways past, others. A run in system mode tries that level alone, and
// other runs leave it out.
func (c Client) Over(older Client) Client {
	run := func(r Result) string { return fmt.Sprint(r.Level == System, r.Group) }
	ran := firsts(c.Results, run)
	kept := slices.DeleteFunc(slices.Clone(older.Results), func(r Result) bool { return slices.Contains(ran, run(r)) })
	c.Results = append(kept, c.Results...)
	rank := func(r Result) int {
		n := 6
		if i := slices.Index([]string{"verdict", "failure", "way past"}, r.Group); i >= 0 {
			n = 2 * i
		}
		if r.Level == System {
			n++
		}
		return n
	}
	slices.SortStableFunc(c.Results, func(a, b Result) int { return rank(a) - rank(b) })
	return c
}

// Encode returns the file of a client: its results in the order of groups, cases and levels as they
// first came.
func (c Client) Encode() ([]byte, error) {
	b, err := json.Marshal(c, jsontext.WithIndent("  "), jsontext.EscapeForHTML(false))
	if err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	return append(b, '\n'), nil
}

// Tables returns the clients' tables in Markdown: for each group the cases and what they gave at each
// level. A case that did not run at a level has an empty cell.
func Tables(clients []Client) string {
	var b strings.Builder
	for _, c := range clients {
		fmt.Fprintf(&b, "### %s %s\n", c.Name, c.Version)
		for _, group := range firsts(c.Results, func(r Result) string { return r.Group }) {
			fmt.Fprintf(&b, "\n| %s |", group)
			for _, level := range c.levels() {
				b.WriteString(" " + string(level) + " |")
			}
			b.WriteString(" |\n" + strings.Repeat("|---", len(c.levels())+2) + "|\n")
			in := slices.DeleteFunc(slices.Clone(c.Results), func(r Result) bool { return r.Group != group })
			for _, name := range firsts(in, func(r Result) string { return r.Case }) {
				b.WriteString("| " + cell(name))
				var notes []string
				for _, level := range c.levels() {
					i := slices.IndexFunc(in, func(r Result) bool { return r.Case == name && r.Level == level })
					got := ""
					if i >= 0 {
						got = in[i].Got
						if n := in[i].Note; n != "" && !slices.Contains(notes, n) {
							notes = append(notes, n)
						}
					}
					b.WriteString(" | " + cell(got))
				}
				b.WriteString(" | " + cell(strings.Join(notes, "; ")) + " |\n")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Summary returns the results as a table for a terminal: what was seen first, then what was done.
func Summary(clients []Client) string {
	var b strings.Builder
	for _, c := range clients {
		fmt.Fprintf(&b, "\n%s %s\n", c.Name, c.Version)
		for _, group := range firsts(c.Results, func(r Result) string { return r.Group }) {
			fmt.Fprintf(&b, "  %-15s%s\n", "", strings.ToUpper(group))
			for _, r := range c.Results {
				if r.Group != group {
					continue
				}
				fmt.Fprintf(&b, "  %-15s%s\n", r.Got, r.Case)
				if r.Note != "" {
					fmt.Fprintf(&b, "  %-17s%s\n", "", r.Note)
				}
			}
		}
	}
	return b.String()
}

// firsts returns the keys in the order in which they first come.
func firsts(list []Result, key func(Result) string) []string {
	var out []string
	for _, r := range list {
		if k := key(r); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func cell(s string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s) }

// The lines of a page between which the tables stand.
const (
	begin = "<!-- results: make test-agents -->\n"
	end   = "<!-- end of results -->\n"
)

// ErrPage says that a page has no place for the tables.
var ErrPage = errors.New("agents: the page has no place for the results")

// Insert returns the page with the tables in their place. The error is ErrPage.
func Insert(page, tables string) (string, error) {
	head, rest, ok := strings.Cut(page, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", ErrPage
	}
	return head + begin + "\n" + tables + end + tail, nil
}
