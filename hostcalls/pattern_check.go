package hostcalls

import (
	"errors"
	"fmt"
	"regexp/syntax"
)

// CheckPattern returns why pattern_match would refuse the pattern, of kind re2 or glob,
// or else the length in bytes of the longest text that it is surely tried on.
func CheckPattern(kind, pattern string) (longest int, err error) {
	if kind == "re2" && classWork(pattern, false) > maxClassWork {
		return 0, errors.New("its character classes cost too much to read")
	}
	m, code := newMatcher(kind, pattern, false)
	switch {
	case code == TooLarge:
		return 0, fmt.Errorf("it costs too much to match: at most %d bytes, repetitions written out below %d steps",
			maxPattern, maxRegexpSize)
	case code != 0 && kind == "glob":
		return 0, errors.New("not a glob pattern")
	case code != 0:
		var bad *syntax.Error
		if _, err := syntax.Parse(pattern, syntax.Perl); errors.As(err, &bad) {
			return 0, fmt.Errorf("not a RE2 pattern: %s", bad.Code)
		}
		return 0, errors.New("not a RE2 pattern")
	}
	if kind == "glob" {
		return maxGlobText, nil
	}
	return maxPatternWork/max(1, m.size) - 1, nil
}
