package rules

import "strings"

// Scheme begins the name of a module that is built from a rules file: rules:FILE has the
// rules that judge, rules:FILE#changes those that change the action.
const Scheme = "rules:"

// Engine is the built-in hook that rules are compiled into.
const Engine = "rules-engine"

const changesMark = "#changes"

// ParseModule takes the name of a module apart; false when it is not of the Scheme.
func ParseModule(module string) (file string, p Part, ok bool) {
	file, ok = strings.CutPrefix(module, Scheme)
	if !ok {
		return "", Judges, false
	}
	if rest, changes := strings.CutSuffix(file, changesMark); changes {
		return rest, Changes, true
	}
	return file, Judges, true
}

// ModuleName is the opposite of ParseModule.
func ModuleName(file string, p Part) string {
	if p == Changes {
		return Scheme + file + changesMark
	}
	return Scheme + file
}

// Compile is Parse and Build in one step. Errors are those of both.
func Compile(name string, src, engine []byte, p Part) ([]byte, error) {
	module, _, err := CompileParts(name, src, engine, p)
	return module, err
}

// CompileParts is Compile, and returns the parts that the file has, also beside an error about the part asked for.
func CompileParts(name string, src, engine []byte, p Part) ([]byte, []Part, error) {
	f, err := Parse(name, src)
	if err != nil {
		return nil, nil, err
	}
	module, err := f.Build(engine, p)
	if err != nil {
		return nil, f.Parts(), &Error{File: name, Reason: err.Error()}
	}
	return module, f.Parts(), nil
}
