package redact

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A text, and a document's texts, in which nothing is found take no memory, whatever detectors look at them.
func TestLookingTakesNoMemory(t *testing.T) {
	r := testRedactor(t)
	text := strings.Repeat("ran 12 tests of the connection: ok, order by id | sort; see http://a.example/b?c=d -u x_y (z)\n", 60)
	if len(text) <= maxHarmless {
		t.Fatal("the text is one that is remembered as harmless")
	}
	if out, found := r.Text(text); out != text || found != nil {
		t.Fatalf("found %v", found)
	}
	if n := testing.AllocsPerRun(20, func() { r.Text(text) }); n >= 1 {
		t.Errorf("%v allocations for a text without a secret", n)
	}
	doc := jsontext.Value(`{"tool":"exec","args":{"command":"go test ./... | tail -3","n":[1,2]}}`)
	if n := testing.AllocsPerRun(20, func() { _, _, _ = r.JSON(doc) }); n > 2 { // its text, and the places of its values
		t.Errorf("%v allocations for a document without a secret", n)
	}
}

// Desks are used by one goroutine at a time, and what one redacts is not seen by the next.
func TestDesksAreForOne(t *testing.T) {
	r := testRedactor(t)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			rec := NewRecord()
			for n := range 50 {
				secret := fmt.Sprintf("Zk3vQ9xWb7TnRf2LpY%02d%03d", g, n)
				out, masked, err := rec.JSON(r, jsontext.Value(`{"password":"`+secret+`","b":"a \u0041 `+strings.Repeat("x",
					n)+`"}`))
				if err != nil || len(masked) != 1 || strings.Contains(string(out), secret) {
					t.Errorf("%s: %v %v", out, masked, err)
				}
				if out, found := r.Text("see " + secret + "x"); found != nil {
					t.Errorf("a desk knows what another learned: %s", out)
				}
				if out, found := rec.Text(r, "see "+secret); len(found) != 1 || strings.Contains(out, secret) {
					t.Errorf("a record forgot: %s", out)
				}
			}
		})
	}
	all.Wait()
	k := r.sit(nil)
	if k.leave(); k.own.key != nil || k.own.record != nil || k.look.record != nil || k.look.harmless != nil {
		t.Error("something of a Redactor is left on a desk that is free")
	}
}

// A text with very many findings leaves no list of that length to the next one, nor anything in the lists that stay.
func TestRoomsStaySmall(t *testing.T) {
	var d detector
	line := "password=Zk3vQ9xWb7TnRf2LpYc8 \\x41\n"
	if found := d.find(strings.Repeat(line, maxKept+1)); len(found) <= maxKept {
		t.Fatalf("%d findings are too few for this test", len(found))
	}
	if found := d.find(strings.Repeat(line, 10)); len(found) != 10 {
		t.Fatalf("%d findings", len(found))
	}
	for _, r := range d.rooms.free {
		c := &r.census
		if n := max(cap(r.found), cap(r.bare.cuts), cap(c.runs), cap(c.names), cap(c.pairs)); n > maxKept {
			t.Errorf("a list with room for %d stays", n)
		}
		for _, f := range r.found[:cap(r.found)] {
			if f != (Finding{}) {
				t.Errorf("%v stays in a room", f)
			}
		}
		if r.bare.text != "" || r.view != nil {
			t.Error("a text stays in a room")
		}
	}
}
