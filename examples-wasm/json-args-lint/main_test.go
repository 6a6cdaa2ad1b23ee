package main

import (
	"testing"

	"github.com/belay-hooks/belay/hooks-sdk/go/hooktest"
)

const config = `{"tools":{"exec":{"required":["command"],"closed":true,"args":{
	"command":{"type":"string","max_length":10},"timeout":{"type":"integer","min":1,"max":600},"shell":{"one_of":["sh","bash"]}}}}}`

func TestLint(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"command":"ls","timeout":600,"shell":"sh"}`, ""},
		{`{"timeout":0.5}`, "the arguments of exec are wrong: command is missing; timeout must be of type integer"},
		{`{"command":"0123456789a"}`, "the arguments of exec are wrong: command must not be longer than 10 bytes"},
		{`{"command":"ls","timeout":601,"color":1}`, "the arguments of exec are wrong: timeout must be at most 600; color is not an argument of this tool"},
		{`{"command":"ls","shell":"zsh"}`, "the arguments of exec are wrong: shell must be one of the values allowed for it"},
		{`[]`, "the arguments of exec are wrong: they are no object"},
	} {
		got := hooktest.New(`{"tool":"exec","args":` + c.args + `}`).Config(config).Run(preTool)
		if got.Status != 0 || got.Blocked != c.want {
			t.Errorf("%s: got %d %q, want %q", c.args, got.Status, got.Blocked, c.want)
		}
	}
	if got := hooktest.New(`{"tool":"read","args":[]}`).Config(config).Run(preTool); len(got.Effects) > 0 {
		t.Errorf("a tool without rules: %+v", got)
	}
}
