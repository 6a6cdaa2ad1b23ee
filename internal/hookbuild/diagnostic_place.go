package hookbuild

import (
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

var (
	errorLine  = regexp.MustCompile(`^(.+?):(\d+):(\d+): (?:fatal )?error: (.*)$`)
	macroLine  = regexp.MustCompile(`^(.+?:\d+:\d+): note: expanded from macro '(\w+)'$`)
	linkerLine = regexp.MustCompile(`^(?:\w+:)?wasm-ld[^:]*: error: (?:(\S+\.o|\S+\.bc|\S+\.a): )?(.*)$`)
	goLine     = regexp.MustCompile(`^(?:vet: )?(\S.*?\.\w+):(\d+):(?:(\d+):)? (.*)$`)
)

// Compilers that write FILE:LINE:COLUMN: error: TEXT, as clang and wat2wasm do, and the linker of both.
//
//	hook.c:5:20: error: use of undeclared identifier 'nonsense'
//	hook.c:1:10: fatal error: 'none.h' file not found
//	wasm-ld-19: error: /tmp/hook-a7530c.o: undefined symbol: other
//
// A place of the hook from which a macro came goes with the error.
func readErrors(j *job, _, said string) []found {
	var list []found
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n")
		if m := macroLine.FindStringSubmatch(line); m != nil && len(list) > 0 && !filepath.IsAbs(m[1]) {
			list[len(list)-1].Message += ", by the macro " + m[2] + " of " + m[1]
		} else if m := errorLine.FindStringSubmatch(line); m != nil {
			list = append(list, foundAt(m[1], m[2], m[3], m[4]))
		} else if f, ok := j.linkError(line); ok {
			list = append(list, f)
		}
	}
	return list
}

func foundAt(file, line, column, message string) found {
	n, _ := strconv.Atoi(line)
	c, _ := strconv.Atoi(column)
	return found{Diagnostic: Diagnostic{File: path.Clean(filepath.ToSlash(file)), Line: n, Column: c, Message: message}}
}

// linkError reads an error of wasm-ld, which knows no lines: a symbol is looked for in the sources.
func (j *job) linkError(line string) (found, bool) {
	m := linkerLine.FindStringSubmatch(line)
	if m == nil {
		return found{}, false
	}
	message := m[2]
	_, symbol, ok := strings.Cut(message, "undefined symbol: ")
	if !ok {
		return found{Diagnostic: Diagnostic{Message: message}}, true
	}
	f := j.firstUse(symbol)
	f.Message = message
	if j.lang == "c" {
		f.Message += "; it is declared, and defined nowhere (a hook has no libc)"
	}
	return f, true
}

// firstUse returns the first place in the C sources where a name stands; a use comes before a declaration.
func (j *job) firstUse(name string) found {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	var declared found
	for _, file := range j.glob("*.c", "*.h") {
		src, err := files.Read(filepath.Join(j.dir, file), maxSource)
		if err != nil {
			continue
		}
		for i, line := range strings.Split(string(src), "\n") {
			at := word.FindStringIndex(line)
			if at == nil || strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			f := found{Diagnostic: Diagnostic{File: file, Line: i + 1, Column: at[0] + 1}}
			if !strings.HasPrefix(strings.TrimSpace(line), "extern ") {
				return f
			}
			if declared.File == "" {
				declared = f
			}
		}
	}
	return declared
}

// The go command, and TinyGo, which writes in its way: a line # PACKAGE, then FILE:LINE:COLUMN: TEXT; a text goes on in
// lines that begin with a tab. Without a column: go.mod:3: unknown directive: foo.
func readGo(j *job, out, said string) []found {
	var list []found
	for line := range strings.Lines(said + "\n" + out) {
		line = strings.TrimRight(line, "\r\n")
		if m := goLine.FindStringSubmatch(line); m != nil {
			list = append(list, foundAt(m[1], m[2], m[3], m[4]))
		} else if strings.HasPrefix(line, "\t") && len(list) > 0 {
			list[len(list)-1].Message += "\n" + line
		} else if f, ok := j.linkError(line); ok {
			list = append(list, f)
		}
	}
	return list
}
