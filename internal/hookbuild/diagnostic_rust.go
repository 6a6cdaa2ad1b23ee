package hookbuild

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// rustMessage is a line of cargo's --message-format=json, as far as it is read.
type rustMessage struct {
	Reason    string   `json:"reason"`
	Filenames []string `json:"filenames"` // compiler-artifact
	Message   struct { // compiler-message
		Level    string `json:"level"`
		Message  string `json:"message"`
		Rendered string `json:"rendered"`
		Code     *struct {
			Code string `json:"code"`
		} `json:"code"`
		Spans []rustSpan `json:"spans"`
	} `json:"message"`
}

type rustSpan struct {
	File      string `json:"file_name"`
	Line      int    `json:"line_start"`
	Column    int    `json:"column_start"`
	Primary   bool   `json:"is_primary"`
	Label     string `json:"label"`
	Expansion *struct {
		Span rustSpan `json:"span"`
	} `json:"expansion"`
}

// rustMessages returns cargo's messages, one JSON document a line. Other lines are passed over.
func rustMessages(out string) []rustMessage {
	var list []rustMessage
	for line := range strings.Lines(out) {
		var m rustMessage
		if json.Unmarshal([]byte(line), &m) == nil && m.Reason != "" {
			list = append(list, m)
		}
	}
	return list
}

func readRust(j *job, out, said string) []found {
	var list []found
	for _, m := range rustMessages(out) {
		if m.Message.Level != "error" || strings.HasPrefix(m.Message.Message, "aborting due to") {
			continue
		}
		f := found{unit: inCharacters}
		f.Message = m.Message.Message
		for _, s := range m.Message.Spans {
			if !s.Primary {
				continue
			}
			if s.Label != "" && !strings.HasPrefix(s.Label, "not found in ") {
				f.Message += ": " + s.Label
			}
			for s.Expansion != nil && !exists(filepath.Join(j.dir, j.crateFile(s.File))) {
				s = s.Expansion.Span // from the macro of another crate to where it is used
			}
			f.File, f.Line, f.Column = j.crateFile(s.File), s.Line, s.Column
			break
		}
		if m.Message.Code != nil {
			f.Message += " (" + m.Message.Code.Code + ")"
		}
		list = append(list, f)
	}
	if len(list) == 0 {
		list = readCargo(said)
	}
	return list
}

// crateFile undoes what remapped does: /CRATE/src/lib.rs is a file in the crate's directory.
func (j *job) crateFile(file string) string {
	name, rest, ok := strings.Cut(strings.TrimPrefix(filepath.ToSlash(file), "/"), "/")
	if dir := j.crates[name]; ok && dir != "" && strings.HasPrefix(file, "/") && !exists(file) {
		if rel, err := filepath.Rel(j.dir, filepath.Join(dir, rest)); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return file
}

// readCargo reads the errors of cargo itself, such as those of a Cargo.toml that is wrong.
//
//	error: failed to parse manifest at `/hook/Cargo.toml`
//
//	Caused by:
//	  TOML parse error at line 5, column 5
func readCargo(said string) []found {
	_, text, ok := strings.Cut("\n"+said, "\nerror: ")
	if !ok {
		return nil
	}
	first, rest, _ := strings.Cut(text, "\n")
	f := found{Diagnostic: Diagnostic{Message: first}}
	if m := regexp.MustCompile("`([^`]*Cargo\\.toml)`").FindStringSubmatch(first); m != nil {
		f.File = m[1]
	}
	if m := regexp.MustCompile(`at line (\d+),? column (\d+)`).FindStringSubmatch(rest); m != nil && f.File != "" {
		f.Line, _ = strconv.Atoi(m[1])
		f.Column, _ = strconv.Atoi(m[2])
	}
	var causes []string
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if line != "" && line != "Caused by:" && !strings.Contains(line, "|") && line != "`" &&
			!strings.HasPrefix(line, "TOML parse error at ") {
			causes = append(causes, line)
		}
	}
	if len(causes) > 0 {
		f.Message += ": " + strings.Join(causes[:min(len(causes), 4)], "; ")
	}
	return []found{f}
}

// rendered is what cargo would have written for people.
func rendered(out, said string) string {
	var b strings.Builder
	for _, m := range rustMessages(out) {
		b.WriteString(m.Message.Rendered)
	}
	return strings.TrimSpace(b.String() + "\n" + said)
}
