package strictyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

// A fault says what may have been meant, or what there is, and what belongs there.
func TestReasonsTeach(t *testing.T) {
	type common struct {
		Mode string `json:"mode"`
	}
	type binding struct {
		common   `json:",inline"`
		Name     string            `json:"name"`
		Priority int               `json:"priority,omitzero"`
		Off      bool              `json:"disabled"`
		Phases   []string          `json:"phases"`
		Config   map[string]string `json:"config"`
		hidden   string
	}
	type file struct {
		Hooks []binding `json:"hooks"`
		Share float64   `json:"share"`
	}
	_ = binding{}.hidden
	for src, want := range map[string]string{
		"hooks:\n- name: a\n  priorty: 5\n": "f.yaml:3:3: /hooks/0/priorty: unknown member; did you mean priority?",
		"hooks:\n- name: a\n  Mode: x\n":    "f.yaml:3:3: /hooks/0/Mode: unknown member; did you mean mode?",
		"hooks:\n- name: a\n  colour: red\n": "f.yaml:3:3: /hooks/0/colour: unknown member; " +
			"there are mode, name, priority, disabled, phases and config",
		"hooks:\n- {priority: high}\n": "/hooks/0/priority: wrong type: a text does not fit here, but a whole number",
		"hooks:\n- {disabled: 1}\n":    "/hooks/0/disabled: wrong type: a number does not fit here, but true or false",
		"hooks:\n- {name: 1}\n":        "/hooks/0/name: wrong type: a number does not fit here, but a text",
		"hooks:\n- {phases: all}\n":    "/hooks/0/phases: wrong type: a text does not fit here, but a list",
		"hooks:\n- {config: x}\n":      "/hooks/0/config: wrong type: a text does not fit here, but an object",
		"share: x\n":                   "/share: wrong type: a text does not fit here, but a number",
		"hooks: [a]\n":                 "/hooks/0: wrong type: a text does not fit here, but an object with mode, name,",
		"hooks:\n\t- name: a\n":        "f.yaml:2:1: not YAML: a tab, and YAML is indented by blanks",
		"hooks:\n  - name: a\n \tb: c": "f.yaml:3:2: not YAML: a tab",
		"\xff\xfeh\x00":                "f.yaml:1:1: this is UTF-16: save it as UTF-8",
		"hooks: []\n# f\xfcr\n":        "f.yaml:2:4: not valid UTF-8: save the file as UTF-8",
	} {
		err := strictyaml.Unmarshal([]byte(src), new(file))
		if err == nil || !strings.Contains(strictyaml.At("f.yaml", err), want) {
			t.Errorf("%q: %v\nwant %s", src, err, want)
		}
	}
	// A mark of the byte order and ends of lines of Windows are none.
	for _, src := range []string{"\xef\xbb\xbfhooks: []\n", "hooks:\r\n- name: a\r\n"} {
		if err := strictyaml.Unmarshal([]byte(src), new(file)); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestIn(t *testing.T) {
	_, cause := strictyaml.Parse([]byte("a: 1\na: 2\n"))
	if err := strictyaml.In("f.yaml", cause); err.Error() != "f.yaml:2:1: /a: duplicate key" ||
		!errors.Is(err, strictyaml.ErrInvalid) {
		t.Error(err)
	}
	if text := strictyaml.At("f.yaml", fmt.Errorf("gone")); text != "f.yaml: gone" {
		t.Error(text)
	}
	if text := strictyaml.At("f.yaml", &strictyaml.Error{Reason: "gone"}); text != "f.yaml: gone" {
		t.Error(text)
	}
}
