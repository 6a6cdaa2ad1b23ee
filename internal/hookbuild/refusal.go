package hookbuild

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Refusal is what a compiler said that refused a source. errors.As finds it in an error of class ErrCompile.
type Refusal struct {
	Program string       // the compiler
	Errors  []Diagnostic // in its order; at most maxErrors
	Output  string       // the file with all that it said, as the caller of Build can open it; "" where it is not kept
	Next    string       // what the author does now, in sentences, one a line
	text    string
	cause   error
}

const (
	maxErrors     = 100
	errorsAsText  = 3  // that are shown; the rest is counted
	linesAsText   = 12 // of output in which no error is found
	outputFile    = "compiler.txt"
	maxLineAsText = 200 // characters
)

// Error returns the first errors with their lines.
func (r *Refusal) Error() string { return r.text }

// Unwrap returns how the compiler ended.
func (r *Refusal) Unwrap() error { return r.cause }

// refuse makes the error of a compiler that failed from all that it wrote.
func (j *job) refuse(program, whole string, list []found, cause error) error {
	r := &Refusal{Program: program, Errors: []Diagnostic{}, cause: cause}
	var shown []placed
	for _, f := range list[:min(len(list), maxErrors)] {
		p := j.place(f)
		shown = append(shown, p)
		r.Errors = append(r.Errors, p.Diagnostic)
	}
	r.text = r.Program + " " + said(shown, len(list), whole)
	r.Next = j.next(shown, len(list))
	if err := os.WriteFile(filepath.Join(j.work, outputFile), []byte(whole+"\n"), 0o644); err == nil && j.keeps {
		r.Output = filepath.ToSlash(filepath.Join(j.shown, "build", outputFile))
		r.Next += "\nAll that the compiler said is in " + r.Output + "."
	}
	return &Error{Class: ErrCompile, Text: r.text, Cause: r}
}

// said is the text of the first errors, or of the begin of the output where none is found in it.
func said(shown []placed, count int, whole string) string {
	if count == 0 {
		lines := strings.Split(whole, "\n")
		more := ""
		if len(lines) > linesAsText {
			lines, more = lines[:linesAsText], "\n…"
		}
		for i, l := range lines {
			if r := []rune(l); len(r) > maxLineAsText {
				lines[i] = string(r[:maxLineAsText]) + "…"
			}
		}
		return "failed:\n" + strings.Join(lines, "\n") + more
	}
	var b strings.Builder
	b.WriteString("refused the source")
	if count > 1 {
		fmt.Fprintf(&b, ", with %d errors", count)
	}
	b.WriteString(":\n")
	for _, p := range shown[:min(len(shown), errorsAsText)] {
		b.WriteString(p.text() + "\n")
	}
	if more := count - errorsAsText; more > 0 {
		fmt.Fprintf(&b, "… and %d more", more)
	}
	return strings.TrimRight(b.String(), "\n")
}

// next says what the author does now; the first error counts.
func (j *job) next(shown []placed, count int) string {
	const again = "run `belay hook build` again"
	if count == 0 {
		return "Mend what it names, and " + again + "."
	}
	first := shown[0]
	switch {
	case first.sdk == sdkCopy:
		return fmt.Sprintf("%s is a file of the SDK. Mend it, or take the one of a new hook (`belay hook new other --lang %s`), "+
			"and %s.", first.File, j.lang, again)
	case first.sdk == sdkBrought:
		return fmt.Sprintf("%s is a file of the SDK, which belay writes anew in every build. "+
			"Look at what the hook defines before it includes that file, and %s.", first.File, again)
	case count > 1:
		return "Mend the first one, and " + again + ": the others may come from it."
	}
	return "Mend it, and " + again + "."
}
