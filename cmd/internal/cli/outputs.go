package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

// outputs are the files that a command writes when it ends: all of them or
// none, and each at once. The command begins them before its work, so that a
// path that cannot be written fails without a wait.
//
// Between the first and the last of them being put in place a power cut can still come;
// nothing else that can go wrong is left until then.
type outputs struct {
	files []*output
}

type output struct {
	path    string
	content []byte // nil: it is made when everything is written
	pending *files.Pending
}

// add begins a file.
func (o *outputs) add(path string, perm os.FileMode) error {
	for _, f := range o.files {
		if sameFile(f.path, path) {
			return usageError(safe(path)+" is to be written twice", "Give each of them a name of its own.")
		}
	}
	if isDir(path) {
		return failure(safe(path)+" is a directory", "Name a file in it.")
	}
	f, err := files.Create(path, files.Options{Perm: perm})
	if err != nil {
		return failureBy(fmt.Errorf("%s cannot be written: %w", path, causeOf(err)),
			"Its directory must be there, and be yours to write to.")
	}
	o.files = append(o.files, &output{path: path, pending: f})
	return nil
}

// put begins a file of which the content is known.
func (o *outputs) put(path string, perm os.FileMode, content []byte) error {
	if err := o.add(path, perm); err != nil {
		return err
	}
	o.files[len(o.files)-1].content = content
	return nil
}

// sameFile reports whether two names are one, as far as their directories are there.
func sameFile(a, b string) bool {
	real := func(p string) string {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(dir, filepath.Base(p))
		}
		if abs, err := filepath.Abs(p); err == nil {
			return abs
		}
		return filepath.Clean(p)
	}
	return real(a) == real(b)
}

// causeOf leaves out the name of the file: it is a temporary one.
func causeOf(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// write fills the files and puts them in place. make returns the content of a file
// that has none yet.
func (o *outputs) write(make func(path string) ([]byte, error)) error {
	defer o.drop()
	for _, f := range o.files {
		b, err := f.content, error(nil)
		if b == nil {
			b, err = make(f.path)
		}
		if err == nil {
			_, err = f.pending.Write(b)
		}
		if err == nil {
			err = f.pending.Sync()
		}
		if err != nil {
			return failureBy(fmt.Errorf("%s cannot be written: %w", f.path, causeOf(err)), "Nothing was written.")
		}
	}
	for _, f := range o.files {
		if err := f.pending.Commit(); err != nil {
			return failureBy(fmt.Errorf("%s cannot be written: %w", f.path, causeOf(err)), "")
		}
	}
	return nil
}

// drop removes begun files that were not written.
func (o *outputs) drop() {
	for _, f := range o.files {
		_ = f.pending.Discard() // it is a temporary file; when it is gone already, all the better
	}
}

// reported is a result with every form that --report knows.
type reported interface {
	JSON() ([]byte, error)
	HTML() ([]byte, error)
	JUnit() ([]byte, error)
}

// reportUsage is the help of --report.
const reportUsage = "write a report: FILE.html, FILE.json or FILE.xml (JUnit)"

// reportAs returns the form that a report's name asks for, or nil.
func reportAs(path string) func(reported) ([]byte, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".html":
		return reported.HTML
	case ".json":
		return reported.JSON
	case ".xml":
		return reported.JUnit
	}
	return nil
}

// reports begins the files of --report.
func reports(paths []string) (*outputs, error) {
	for _, p := range paths {
		if reportAs(p) == nil {
			return nil, usageError("--report "+safe(p)+": the name says no form", "It ends in .html, .json or .xml.")
		}
	}
	o := &outputs{}
	for _, p := range paths {
		if err := o.add(p, 0o600); err != nil {
			o.drop()
			return nil, err
		}
	}
	return o, nil
}

// conclude writes the reports, prints the result as JSON or as show does, and says
// with the exit status whether something was found.
func (a *App) conclude(r reported, files *outputs, asJSON bool, show func(), found bool) error {
	if err := files.write(func(path string) ([]byte, error) { return reportAs(path)(r) }); err != nil {
		return err
	}
	if asJSON {
		b, err := r.JSON()
		if err != nil {
			return failureBy(err, "")
		}
		if _, err := a.Out.Write(b); err != nil {
			return err
		}
	} else {
		show()
	}
	if found {
		return exitWith(ExitDifferences)
	}
	return nil
}
