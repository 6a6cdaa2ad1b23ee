package hookbuild

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/files"
)

// Diagnostic is one error that a compiler found.
type Diagnostic struct {
	File    string `json:"file"`    // as the caller of Build can open it; "" for an error without a place
	Line    int    `json:"line"`    // from 1; 0 for an error without a place
	Column  int    `json:"column"`  // in characters, from 1; 0 where the compiler names none
	Message string `json:"message"` // one line or more
}

// unit is what a compiler counts in columns.
type unit int

const (
	inBytes unit = iota
	inCharacters
	inUTF16
)

// found is a diagnostic as a compiler wrote it: the file from the hook's directory, and the column in its own unit.
type found struct {
	Diagnostic
	unit unit
}

// finder takes apart what a compiler that failed has written.
type finder func(j *job, out, said string) []found

// placed is a diagnostic with what is shown of it.
type placed struct {
	Diagnostic
	source string // the line that it is about; "" where it cannot be read
	sdk    string // the place of its file in the SDK, as sdkFile says it
}

// place finds the line that a diagnostic is about, and names its file as the caller of Build would.
func (j *job) place(f found) placed {
	p := placed{Diagnostic: f.Diagnostic}
	if p.File == "" {
		return p
	}
	at := filepath.FromSlash(p.File)
	if !filepath.IsAbs(at) {
		at = filepath.Join(j.dir, at)
	}
	if src, err := files.Read(at, maxSource); err == nil && p.Line > 0 {
		if lines := strings.Split(string(src), "\n"); p.Line <= len(lines) {
			p.source = strings.TrimRight(lines[p.Line-1], " \t\r")
			p.Column = characters(lines[p.Line-1], p.Column, f.unit)
		}
	}
	if rel, err := filepath.Rel(j.dir, at); err == nil && (filepath.IsLocal(rel) || !filepath.IsAbs(p.File)) {
		p.sdk = j.sdkFile(at, filepath.ToSlash(rel))
		p.File = filepath.ToSlash(filepath.Join(j.shown, rel))
	}
	return p
}

// The places that files of an SDK are at.
const (
	sdkCopy    = "copy"    // beside the hook, where its author can change it
	sdkBrought = "brought" // written anew by every build
)

func (j *job) sdkFile(at, rel string) string {
	if inWork, err := filepath.Rel(j.work, at); err == nil && filepath.IsLocal(inWork) {
		return sdkBrought
	}
	if strings.HasPrefix(rel, "sdk/") {
		return sdkCopy
	}
	return ""
}

// characters turns a column that is counted in a unit into one that is counted in characters, both from 1.
func characters(line string, column int, u unit) int {
	if column < 1 || u == inCharacters {
		return column
	}
	n := column - 1 // units before it
	count := 1
	for line != "" {
		r, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		if u == inUTF16 {
			size = utf16.RuneLen(r)
		}
		if n -= size; n < 0 {
			break
		}
		count++
	}
	return count
}

// maxShown is how much of a source line is shown, in characters.
const maxShown = 100

// text is the error as people read it: place, message, and the line with a caret below the column.
func (p placed) text() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		for _, n := range []int{p.Line, p.Column} {
			if n > 0 {
				b.WriteString(strconv.Itoa(n) + ":")
			}
		}
		b.WriteByte(' ')
	}
	b.WriteString(p.Message)
	if strings.TrimSpace(p.source) == "" {
		return b.String()
	}
	number := strconv.Itoa(p.Line)
	gutter := strings.Repeat(" ", len(number))
	line, column := window([]rune(p.source), p.Column)
	b.WriteString("\n  " + number + " | " + string(line))
	if column > 0 {
		under := make([]rune, column-1)
		for i := range under {
			under[i] = ' '
			if line[i] == '\t' {
				under[i] = '\t' // so that the caret stands right whatever a tab's width is
			}
		}
		b.WriteString("\n  " + gutter + " | " + string(under) + "^")
	}
	return b.String()
}

// window returns the part of a long line that is round a column, and the column in it; 0 for one that is not in it.
func window(line []rune, column int) (shown []rune, at int) {
	if column > len(line)+1 {
		column = 0
	}
	if len(line) <= maxShown {
		if column == len(line)+1 {
			line = append(line, ' ') // what is missing at the end
		}
		return line, column
	}
	from := min(max(column-maxShown/2, 0), len(line)-maxShown)
	shown = append([]rune{}, line[from:from+maxShown]...)
	if from > 0 {
		shown[0] = '…'
	}
	if from+maxShown < len(line) {
		shown[maxShown-1] = '…'
	}
	if column == 0 || column-from > maxShown {
		return shown, 0
	}
	return shown, column - from
}

// exists reports whether a file that a compiler names is there.
func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
