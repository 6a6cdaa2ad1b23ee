package phases

import (
	"os"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What a call would run, by the vectors that all SDKs share.
func TestLinesVectors(t *testing.T) {
	src, err := os.ReadFile("../hooks-sdk/abi/testdata/commands.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Document jsontext.Value `json:"document"`
		Command  *string        `json:"command"`
		Lines    *Lines         `json:"lines"`
	}
	if err := json.Unmarshal(src, &vectors, json.RejectUnknownMembers(true)); err != nil || len(vectors) < 20 {
		t.Fatal(len(vectors), err)
	}
	for _, v := range vectors {
		got, ok := linesOf(v.Document)
		if ok != (v.Lines != nil) {
			t.Errorf("%s: %+v, %v", v.Document, got, ok)
		} else if ok && (!slices.Equal(got.Lines, v.Lines.Lines) || got.Foreign != v.Lines.Foreign ||
			got.More != v.Lines.More) {
			t.Errorf("%s: %+v, want %+v", v.Document, got, *v.Lines)
		}
	}
}

// Only calls that are judged as commands have lines.
func TestLinesOfCalls(t *testing.T) {
	for args, want := range map[string]string{
		`{"command":"ls"}`:                  "ls",
		`{"cmd":["ls","it's"]}`:             `'ls' 'it'\''s'`,
		`{"command":null,"cmd":"id"}`:       "id",
		`{"file_path":"/x","content":"ls"}`: "",
	} {
		for _, tool := range []string{"Bash", "mcp__x__run"} {
			inv := Invocation{Runtime: "claude-code", Phase: PreTool,
				Action: jsontext.Value(`{"tool":"` + tool + `","args":` + args + `}`)}
			got, ok := inv.Lines()
			if ok != (want != "") || ok && (len(got.Lines) != 1 || got.Lines[0].Text != want || got.More) {
				t.Errorf("%s %s: %+v, %v", tool, args, got, ok)
			}
		}
	}
	inv := Invocation{Runtime: "claude-code", Phase: PreTool,
		Action: jsontext.Value(`{"tool":"Read","args":{"file_path":"a","command":"ls"}}`)}
	if got, ok := inv.Lines(); ok {
		t.Errorf("%+v", got)
	}
}
