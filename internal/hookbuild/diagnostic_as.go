package hookbuild

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/files"
)

var (
	asError = regexp.MustCompile(`^ERROR (?:([A-Z]+\d+): )?(.*)$`)
	asPlace = regexp.MustCompile(`^\s*└─ in (.+)\((\d+),(\d+)\)$`)
)

// The AssemblyScript compiler writes a block for each error. One in its own library names the places that led there
// after it, and of those the hook's is the one to show.
//
//	ERROR TS2304: Cannot find name 'nonsense'.
//	   :
//	 2 │ return nonsense;
//	   │        ~~~~~~~~
//	   └─ in assembly/index.ts(2,10)
func readAS(j *job, out, said string) []found {
	var list []found
	for line := range strings.Lines(said + "\n" + out) {
		line = strings.TrimRight(line, "\r\n")
		if m := asError.FindStringSubmatch(line); m != nil {
			message := strings.TrimSuffix(m[2], ".")
			if m[1] != "" {
				message += " (" + m[1] + ")"
			}
			list = append(list, found{Diagnostic: Diagnostic{Message: message}, unit: inUTF16})
		} else if m := asPlace.FindStringSubmatch(line); m != nil && len(list) > 0 {
			last := &list[len(list)-1]
			if last.File == "" || strings.HasPrefix(last.File, "~lib/") {
				message := last.Message
				*last = foundAt(m[1], m[2], m[3], message)
				last.unit = inUTF16
			}
		}
	}
	if len(list) == 0 && strings.Contains(said, "Asconfig is not valid json") {
		return j.badASConfig()
	}
	return list
}

const asConfig = "asconfig.json"

// badASConfig finds the place at which asconfig.json stops to be JSON, which the compiler does not tell.
func (j *job) badASConfig() []found {
	src, err := files.Read(filepath.Join(j.dir, asConfig), maxSource)
	if err != nil {
		return nil
	}
	f := found{Diagnostic: Diagnostic{File: asConfig, Message: "it is not JSON"}}
	d := jsontext.NewDecoder(bytes.NewReader(src), jsontext.AllowDuplicateNames(true))
	var bad *jsontext.SyntacticError
	if _, err := d.ReadValue(); errors.As(err, &bad) {
		at := min(int(bad.ByteOffset), len(src))
		f.Line = bytes.Count(src[:at], []byte("\n")) + 1
		f.Column = at - bytes.LastIndexByte(src[:at], '\n')
		f.Message += ": " + bad.Err.Error()
	}
	return []found{f}
}
