package wire_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
)

var update = flag.Bool("update", false, "write testdata/wire.golden anew")

// The JSON of each document is that of the version before: golden lines that a daemon of
// then wrote, empty and with each member set. A line may be added, none may change.
func TestDocumentsOnTheWire(t *testing.T) {
	var got bytes.Buffer
	for _, v := range []any{
		&wire.Status{}, &wire.UnsignedRevisions{}, &wire.Sink{}, &wire.Daemon{}, &wire.Hook{}, &wire.Session{}, &wire.Latch{},
		&wire.Health{}, &wire.SinkHealth{}, &wire.Problem{}, &wire.ProblemBody{}, &wire.Compacted{}, &wire.Reconciliation{},
	} {
		for _, full := range []bool{false, true} {
			if full {
				n := 0
				fill(t, reflect.ValueOf(v).Elem(), &n)
			}
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s %s\n", reflect.TypeOf(v).Elem().Name(), b)
			back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			if err := json.Unmarshal(b, back, json.RejectUnknownMembers(true)); err != nil {
				t.Errorf("what is encoded does not decode: %v", err)
			}
			if again, err := json.Marshal(back); err != nil || !bytes.Equal(again, b) {
				t.Errorf("decoded and encoded again: %s, %v", again, err)
			}
		}
	}
	const path = "testdata/wire.golden"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
	}
}

// fill gives each member that is on the wire a value of its own, in the order of declaration.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(t, v.Field(i), n)
			}
		}
	default:
		t.Fatalf("a %s cannot be filled", v.Type())
	}
}
