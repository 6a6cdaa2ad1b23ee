package phases

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Line is one text that a tool call would run.
type Line struct {
	Text string `json:"text"` // words of an array are quoted and joined
	Code bool   `json:"code"` // it may be of another language than the shell's
}

// Lines is what a tool call would run.
type Lines struct {
	Lines   []Line `json:"lines"`
	Foreign bool   `json:"foreign"` // the tool is known to run another language
	More    bool   `json:"more"`    // there is more than is told here, or something that cannot be read
}

// Lines returns everything that the call would run, as hooks find it: every SDK has the same function.
// ok is false where there is nothing of the kind.
func (inv *Invocation) Lines() (found Lines, ok bool) {
	if !slices.Contains(inv.ToolNames(), "exec") {
		return Lines{}, false
	}
	doc, err := Document(*inv, nil)
	if err != nil {
		return Lines{More: true}, true
	}
	return linesOf(doc)
}

// linesOf is Lines for the input document of a call.
func linesOf(doc jsontext.Value) (found Lines, ok bool) {
	if _, judged := Get(doc, "/judged"); !judged {
		v, _ := Get(doc, firstPlace(doc))
		line, ok := lineOf(v)
		if !ok {
			return Lines{}, false
		}
		return Lines{Lines: []Line{{Text: line}}}, true
	}
	found = Lines{Lines: []Line{}, Foreign: isTrue(doc, "/judged/foreign"), More: isTrue(doc, "/judged/more")}
	for _, list := range []string{"/judged/commands", "/judged/code"} {
		for i := range maxJudged {
			at, listed := GetString(doc, Join(list, strconv.Itoa(i)))
			if !listed {
				break
			}
			v, _ := Get(doc, at)
			if line, ok := lineOf(v); ok {
				found.Lines = append(found.Lines, Line{Text: line, Code: list == "/judged/code"})
			} else {
				found.More = true
			}
		}
	}
	return found, len(found.Lines) > 0 || found.More
}

// firstPlace returns where a command is looked for that no list names: what stands there counts, even where it can be
// no command.
func firstPlace(action jsontext.Value) string {
	const first, second = "/args/command", "/args/cmd"
	if _, ok := Get(action, first); ok {
		return first
	}
	return second
}

// lineOf reads a command: a string, or an array of words.
func lineOf(v jsontext.Value) (line string, ok bool) {
	if kindOf(v) == '"' {
		return unquote(trim(v))
	}
	var words []string
	if kindOf(v) != '[' || json.Unmarshal(v, &words) != nil || len(words) == 0 ||
		slices.ContainsFunc(elements(v), func(e jsontext.Value) bool { return kindOf(e) != '"' }) {
		return "", false
	}
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(words, " "), true
}

func isTrue(doc jsontext.Value, at string) bool {
	v, ok := Get(doc, at)
	return ok && string(trim(v)) == "true"
}

// RunsArgument reports whether an argument of this name is one that tools run: a command, or code.
func RunsArgument(name string) bool { return runOf(foldTool(name)) != runNothing }
