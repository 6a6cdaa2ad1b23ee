package hookdoc

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/config"
)

// list begins the file that a binding is written into, to come out as belay.yaml would show it.
const list = "version: " + config.Version + "\nhooks:\n"

// Block writes a binding as an element of `hooks` in belay.yaml. If the binding sets no configuration,
// the block ends in a comment with the options that have a default: taken out of the comment, it sets
// them to what holds without it. Errors are of class config.ErrConfig.
func Block(b config.Binding, options []Option) (string, error) {
	src, err := config.AddBinding([]byte(list), b)
	if err != nil {
		return "", err
	}
	text, ok := bytes.CutPrefix(src, []byte(list))
	if !ok {
		return "", fmt.Errorf("%w: the binding is not the only one", config.ErrConfig)
	}
	out := strings.TrimRight(string(text), "\n") + "\n"
	if defaults := defaultsOf(options); len(b.Config) == 0 && b.ConfigFile == "" && len(defaults) > 0 {
		j, err := json.Marshal(defaults, json.Deterministic(true), jsontext.SpaceAfterColon(true),
			jsontext.SpaceAfterComma(true))
		if err != nil {
			return "", fmt.Errorf("%w: %w", config.ErrConfig, err)
		}
		out += "    # config: " + string(j) + "\n"
	}
	return out, nil
}

func defaultsOf(options []Option) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for _, o := range options {
		if o.Top() && len(o.Default) > 0 {
			out[o.Name] = o.Default
		}
	}
	return out
}
