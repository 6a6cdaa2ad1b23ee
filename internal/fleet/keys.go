package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/store/postgres"
)

const maxKeys = 4 << 20

// ReadKeys reads an operator's file of keys: each line has the name of a kernel and the key that `belay events key`
// prints there. A line that begins with # is a comment.
func ReadKeys(path string) (map[string]string, error) {
	b, err := files.Read(path, maxKeys)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	out, err := parseKeys(b)
	if err != nil {
		return nil, fmt.Errorf("keys: %s%w", path, err)
	}
	return out, nil
}

func parseKeys(b []byte) (map[string]string, error) {
	out, n := map[string]string{}, 0
	for line := range bytes.Lines(b) {
		n++
		bad := func(format string, args ...any) error {
			return fmt.Errorf(":%d: %s", n, fmt.Sprintf(format, args...))
		}
		if !utf8.Valid(line) {
			return nil, bad("it is no UTF-8")
		}
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		words := strings.Fields(text)
		switch {
		case len(words) != 2:
			return nil, bad("want the name of a kernel and its key, as `belay events key` prints it")
		case !postgres.ValidName(words[0]):
			return nil, bad("%q is no name of a kernel", words[0])
		case out[words[0]] != "":
			return nil, bad("kernel %s has a key already", words[0])
		case eventlog.CheckVerifier(words[1]) != nil:
			return nil, bad("what follows %s is no key that `belay events key` prints", words[0])
		}
		out[words[0]] = words[1]
	}
	if len(out) == 0 {
		return nil, errors.New(" holds no key")
	}
	return out, nil
}
