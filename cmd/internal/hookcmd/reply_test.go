package hookcmd

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

var replies = []string{
	`{"stdout":"{}","stderr":"","exit":0,"notes":[],"verdicts":[{"a":[1,{"b":null}]}]}`,
	` {"stdout":"a\u00e9\n","stderr":"no","exit":2,"notes":["x","y"]} ` + "\n",
	`{}`, `null`, `[]`, `""`, `1`, ``, ` `, `{`, `{"stdout"`, `{"stdout":`, `{"stdout":"{}"`, `{"stdout":"{}",}`, `{}{}`,
	`{} x`, `{"stdout":null,"exit":null,"stderr":null,"notes":null}`,
	`{"stdout":1}`, `{"stdout":{}}`, `{"stderr":[]}`, `{"stderr":true}`, `{"exit":"0"}`, `{"exit":0.0}`, `{"exit":2e0}`,
	`{"exit":-0}`, `{"exit":-2}`, `{"exit":9223372036854775808}`, `{"exit":00}`, `{"exit":true}`,
	`{"notes":"x"}`, `{"notes":{}}`, `{"notes":[1]}`, `{"notes":[null,"a"]}`, `{"notes":["a"`, `{"notes":["a"}`,
	`{"Stdout":"{}","EXIT":0}`, `{"exit":0,"exit":2}`, `{"stdout":"a","x":1,"stdout":"b"}`, `{"x":1,"x":2}`,
	`{"st\u0064out":"{}"}`, "{\"stdout\":\"\xff\"}", `{"stdout":"\ud800"}`, `{"verdicts":[}`,
}

// read is an answer as the library reads it.
func read(body []byte) (a answer, err error) {
	var doc struct {
		Stdout *string  `json:"stdout"`
		Stderr string   `json:"stderr"`
		Exit   *int     `json:"exit"`
		Notes  []string `json:"notes"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return answer{}, err
	}
	return answer{doc.Stdout, doc.Stderr, doc.Exit, doc.Notes}, nil
}

func sameReply(t *testing.T, body []byte) {
	t.Helper()
	got, err := decodeAnswer(body)
	want, wrong := read(body)
	if string(body) == "null" {
		wrong = err // an answer of nothing is refused a step earlier
	}
	if len(got.notes) == 0 && len(want.notes) == 0 {
		got.notes, want.notes = nil, nil
	}
	if (err == nil) != (wrong == nil) || err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%q: %+v, %v; the library reads %+v, %v", body, got, err, want, wrong)
	}
	if err != nil && !reflect.DeepEqual(got, answer{}) {
		t.Errorf("%q: %+v beside an error", body, got)
	}
}

// An answer is read as the JSON library reads it, member by member, and refused where it refuses.
func TestRepliesReadAsTheLibraryReadsThem(t *testing.T) {
	for _, r := range replies {
		sameReply(t, []byte(r))
	}
	if a, err := decodeAnswer([]byte(replies[1])); err != nil || *a.stdout != "aé\n" || a.stderr != "no" || *a.exit != 2 ||
		strings.Join(a.notes, " ") != "x y" {
		t.Errorf("%+v, %v", a, err)
	}
}

func FuzzReplies(f *testing.F) {
	for _, r := range replies {
		f.Add([]byte(r))
	}
	f.Fuzz(sameReply)
}
