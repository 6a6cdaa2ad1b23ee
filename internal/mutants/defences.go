package mutants

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

// Defence is one defence with the change that switches it off and the test that has to fail then.
type Defence struct {
	Name    string `json:"defence"` // the attack it prevents, in a line
	Package string `json:"package"` // folder from the module's root; "." is the root
	Symbol  string `json:"symbol"`  // Name or Type.Name
	From    string `json:"from,omitzero"`
	With    string `json:"with,omitzero"`
	Test    string `json:"test"`          // FOLDER/TestName[/subtest]; FOLDER/SCRIPT.txtar for a script
	Race    bool   `json:"race,omitzero"` // the test runs under the race detector (cgo)
}

// ErrInvalid is the class of errors about the table of defences.
var ErrInvalid = errors.New("the table of defences is not valid")

// ReadDefences reads the table strictly. Names have to be different.
func ReadDefences(path string) ([]Defence, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var table struct {
		Defences []Defence `json:"defences"`
	}
	if err := strictyaml.Unmarshal(src, &table); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	seen := map[string]bool{}
	for n := range table.Defences {
		d := &table.Defences[n]
		switch {
		case d.Name == "" || d.Package == "" || d.Symbol == "" || d.Test == "":
			return nil, fmt.Errorf("%w: entry %d needs defence, package, symbol and test", ErrInvalid, n+1)
		case d.From == "" && d.With == "":
			return nil, fmt.Errorf("%w: %s: nothing is changed", ErrInvalid, d.Name)
		case seen[d.Name]:
			return nil, fmt.Errorf("%w: %s stands there twice", ErrInvalid, d.Name)
		}
		seen[d.Name] = true
		if _, err := d.target(); err != nil {
			return nil, err
		}
	}
	return table.Defences, nil
}

// tests select what go test runs.
type tests struct {
	pkg     string // as go test takes it
	pattern string // "" for all
	race    bool   // under the race detector
}

// env is the environment of the go command, which needs cgo for the race detector.
func (t tests) env() []string {
	if t.race {
		return append(os.Environ(), "CGO_ENABLED=1")
	}
	return os.Environ()
}

// flags are those of go test that every run has.
func (t tests) flags() []string {
	if t.race {
		return []string{"-vet=off", linkFast, "-race"}
	}
	return []string{"-vet=off", linkFast}
}

// target returns the test that has to fail.
func (d *Defence) target() (tests, error) {
	t := tests{race: d.Race}
	if dir, script, ok := strings.Cut(d.Test, "/testdata/script/"); ok {
		name, isScript := strings.CutSuffix(script, ".txtar")
		if !isScript {
			return t, fmt.Errorf("%w: %s: %s is no script", ErrInvalid, d.Name, d.Test)
		}
		t.pkg, t.pattern = "./"+dir, "^TestScripts$/^"+name+"$"
		return t, nil
	}
	at := strings.Index(d.Test, "/Test")
	if at < 0 {
		return t, fmt.Errorf("%w: %s: %s names no test", ErrInvalid, d.Name, d.Test)
	}
	for n, part := range strings.Split(d.Test[at+1:], "/") {
		if n > 0 {
			t.pattern += "/"
		}
		t.pattern += "^" + part + "$"
	}
	t.pkg = "./" + d.Test[:at]
	return t, nil
}
