package phases

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// fetch checks the hosts of the URLs.
func (c scopeCheck) fetch(args jsontext.Value) error {
	if _, ok := GetString(args, "/url"); !ok {
		return c.unknown("the arguments name no URL", "net")
	}
	for _, raw := range urlArguments(args) {
		if err := c.url(raw); err != nil {
			return err
		}
	}
	return nil
}

func (c scopeCheck) url(raw string) error {
	target, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return c.unknown("it cannot be told which host a URL names", "net")
	}
	port, web := map[string]int{"http": 80, "https": 443, "ws": 80, "wss": 443}[strings.ToLower(target.Scheme)]
	if target.Scheme != "" && !web {
		return c.unknown("it cannot be told what a URL that is not of the web reaches") // file: reads files
	}
	if target.Hostname() == "" {
		return c.unknown("it cannot be told which host a URL names", "net")
	}
	if s := target.Port(); s != "" {
		port, _ = parsePort(s)
	}
	if !c.scopes.Net.allowsHost(target.Hostname(), port) {
		if c.scopes.Net.unrestricted(ScopeNet) {
			return nil // odd hosts are in no scope, but here none was asked for
		}
		return &outsideError{"net", "a host is not in scope"}
	}
	return nil
}

// argument is a string somewhere in a tool's arguments; name is that of the
// innermost member round it, folded.
type argument struct {
	name string
	raw  jsontext.Value
}

// value is the text. An action is valid JSON; for other text, "" names no file.
func (a argument) value() string {
	s, _ := GetString(a.raw, "")
	return s
}

// arguments calls f for every string in the arguments. path says that a member
// round it is one that isPathArgument knows, with only arrays between.
func arguments(v jsontext.Value, name string, f func(a argument)) {
	switch kindOf(v) {
	case '"':
		f(argument{name, v})
	case '[':
		for _, e := range elements(v) {
			arguments(e, name, f)
		}
	case '{':
		walk(v, skipSpace(v, 0), func(m member) bool {
			n, _ := unquote(v[m.name.start:m.name.end])
			arguments(v[m.value.start:m.value.end], foldTool(n), f)
			return true
		})
	}
}

// pathArguments returns the strings among a file tool's arguments, at any depth,
// that name files or directories, by the names that runtimes give such arguments.
func pathArguments(args jsontext.Value) []string {
	var out []string
	arguments(args, "", func(a argument) {
		if isPathArgument(a.name) {
			out = append(out, a.value())
		}
	})
	return out
}

// otherArguments returns all strings that pathArguments does not.
func otherArguments(args jsontext.Value) (out []argument) {
	arguments(args, "", func(a argument) {
		if !isPathArgument(a.name) {
			out = append(out, a)
		}
	})
	return out
}

// urlArguments returns the strings that name places of the web.
func urlArguments(args jsontext.Value) (out []string) {
	arguments(args, "", func(a argument) {
		for _, part := range []string{"url", "uri", "href", "link", "endpoint"} {
			if strings.Contains(a.name, part) {
				out = append(out, a.value())
				return
			}
		}
	})
	return out
}

// isPathArgument takes a folded name.
func isPathArgument(n string) bool {
	for _, suffix := range []string{"text", "content", "contents", "type", "types", "pattern", "patterns", "filter",
		"filtering", "limit", "options"} {
		if strings.HasSuffix(n, suffix) {
			return false
		}
	}
	for _, part := range []string{"path", "file", "dir", "folder"} {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}

// isProse reports names of arguments that hold text, which may say anything:
// remarks, and where a tool writes, the text of the change.
func isProse(n string, writes bool) bool {
	ends := func(suffix string) bool { return strings.HasSuffix(n, suffix) }
	return slices.ContainsFunc([]string{
		"description", "explanation", "instruction", "instructions", "reason", "prompt", "summary", "title",
	}, ends) || writes && slices.ContainsFunc([]string{
		"text", "content", "contents", "string", "str", "code", "edit", "newsource", "body", "diff", "replacement", "replace",
		"search",
	}, ends)
}

// isRegexp reports names under which a text search takes its search expression.
// pattern is not among them: other tools take a glob under that name.
func isRegexp(n string) bool { return n == "query" || n == "regex" || n == "regexp" }

// namesBase reports arguments that say what relative paths are relative to.
func namesBase(args jsontext.Value) bool {
	moved := false
	arguments(args, "", func(a argument) {
		switch a.name {
		case "cwd", "root", "base", "pwd", "workdir", "workingdir", "workingdirectory", "currentdirectory", "workspace",
			"basedir", "basepath", "basedirectory", "rootdir", "rootpath", "rootdirectory":
			moved = true
		}
	})
	return moved
}

// patchedFiles returns the files that a patch in the *** Begin Patch form names.
// Another text of several lines beside it might be the patch that counts.
func patchedFiles(args jsontext.Value) ([]string, bool) {
	var out []string
	texts := 0
	arguments(args, "", func(a argument) {
		if text := a.value(); strings.Contains(text, "***") {
			out = append(out, patchHeaders(text)...)
			texts++
		} else if !isProse(a.name, false) && strings.ContainsAny(text, "\n\r") {
			texts++
		}
	})
	return out, texts == 1 && len(out) > 0
}
