package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/phases"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func keyForTests(t *testing.T) *Key {
	t.Helper()
	k, err := NewKey(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// signedText is a note with any text, signed as it is.
func signedText(t *testing.T, k *Key, lines ...string) []byte {
	t.Helper()
	b, err := note.Sign(&note.Note{Text: strings.Join(lines, "\n") + "\n"}, k.signer)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLinesOfSignedNotes: a note that the key signed counts only if each of its lines has the expected form.
func TestLinesOfSignedNotes(t *testing.T) {
	k := keyForTests(t)
	root := Checkpoint{}.Root.String()
	checkpoint := []string{Origin, "3", root, "time 2026-03-01T12:00:00Z"}
	compaction := append([]string{compactionOrigin}, append(slices.Clone(checkpoint[1:]), "by dev", "why space")...)
	recovery := append([]string{recoveryOrigin},
		append(slices.Clone(checkpoint[1:]), "mark none", "by dev", "why disk")...)
	for name, n := range map[string]struct {
		lines []string
		open  func(b []byte) error
	}{
		"a checkpoint": {checkpoint, func(b []byte) error { _, err := Open(b, k.Verifier()); return err }},
		"a compaction": {compaction, func(b []byte) error {
			_, err := OpenStatement(b, k.Verifier())
			return err
		}},
		"a recovery": {recovery, func(b []byte) error { _, err := OpenRecovery(b, k.Verifier()); return err }},
		"a recovery, in its event": {recovery, func(b []byte) error {
			_, err := recoveryOf(4, recoveryEvent(b), k.Verifier())
			return err
		}},
	} {
		if err := n.open(signedText(t, k, n.lines...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		bad := map[string][]string{
			"a line less":    n.lines[:len(n.lines)-1],
			"two lines more": append(slices.Clone(n.lines), "x", "y"),
		}
		for i, line := range n.lines {
			for what, other := range map[string]string{"another line": "x" + line, "no line": "", "a longer line": line + "x"} {
				if strings.HasPrefix(line, "by ") || strings.HasPrefix(line, "why ") || strings.HasPrefix(line, "mark ") {
					if what == "a longer line" {
						continue // any text
					}
				}
				changed := slices.Clone(n.lines)
				changed[i] = other
				bad[fmt.Sprintf("%s, number %d", what, i+1)] = changed
			}
		}
		for _, size := range []string{"-1", "03", "+3", "3.0", "9223372036854775808"} {
			changed := slices.Clone(n.lines)
			changed[1] = size
			bad["the size "+size] = changed
		}
		for what, lines := range bad {
			if err := n.open(signedText(t, k, lines...)); !errors.Is(err, ErrCheckpoint) {
				t.Errorf("%s with %s: %v", name, what, err)
			}
		}
	}
}

func recoveryEvent(statement []byte) []byte {
	doc, err := json.Marshal(map[string]string{"statement": string(statement)})
	if err != nil {
		panic(err)
	}
	b, err := json.Marshal(&phases.Event{Seq: 4, Type: phases.EventRecovery, Time: noon, Output: doc})
	if err != nil {
		panic(err)
	}
	return b
}

// TestRecoveryOfAnEvent: the statement counts if a whole event of a recovery has it, and it is about the
// events before.
func TestRecoveryOfAnEvent(t *testing.T) {
	k := keyForTests(t)
	statement, err := SignRecovery(k,
		Recovery{Checkpoint: Checkpoint{Size: 3, Time: noon}, Mark: "none", By: "dev", Why: "disk"})
	if err != nil {
		t.Fatal(err)
	}
	good := string(recoveryEvent(statement))
	if r, err := recoveryOf(4, []byte(good), k.Verifier()); err != nil || r.Size != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for what, c := range map[string]struct {
		seq  int64
		body string
	}{
		"another event":            {5, good},
		"an event that breaks off": {4, strings.TrimSuffix(good, "}") + `,"rule":`},
		"an event of another type": {4,
			strings.Replace(good, `"`+string(phases.EventRecovery)+`"`, `"`+string(phases.EventNotice)+`"`, 1)},
		"an event without output": {4, `{"seq":4,"type":"` + string(phases.EventRecovery) + `"}`},
		"an output that is no statement": {4, `{"seq":4,"type":"` + string(phases.EventRecovery) +
			`","output":{"statement":1}}`},
		"no event": {4, ""},
	} {
		if _, err := recoveryOf(c.seq, []byte(c.body), k.Verifier()); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRepairedTables: which tables a recovery says it repaired; what does not decode says nothing.
func TestRepairedTables(t *testing.T) {
	for output, want := range map[string][]string{
		`{"rows":{"tables":["latches","leases"]}}`: {"latches", "leases"},
		`{"rows":{}}`: nil, `{}`: nil, `{"rows":1}`: nil, `{"rows":{"tables":["latches",1]}}`: nil, "": nil,
	} {
		body := `{"seq":4,"type":"` + string(phases.EventRecovery) + `"`
		if output != "" {
			body += `,"output":` + output
		}
		if got := repaired([]byte(body + "}")); !slices.Equal(got, want) {
			t.Errorf("%s: %q", output, got)
		}
		if got := repaired([]byte(body)); got != nil {
			t.Errorf("%s, broken off: %q", output, got)
		}
	}
}

// TestWhatARecoveryExplains: checkpoints of more events than are left and no more than the mark knew, signed no later
// than the recovery.
func TestWhatARecoveryExplains(t *testing.T) {
	for _, c := range []struct {
		why, mark string
		size      int64
		after     time.Duration
		want      bool
	}{
		{"one more than is left", "6:AAAA", 4, -time.Hour, true},
		{"as many as are left", "6:AAAA", 3, -time.Hour, false},
		{"all that the mark knew", "6:AAAA", 6, -time.Hour, true},
		{"more than the mark knew", "6:AAAA", 7, -time.Hour, false},
		{"signed with the recovery", "6:AAAA", 5, 0, true},
		{"signed a second later", "6:AAAA", 5, time.Second, false},
		{"a mark that was missing says no number", "none", 1 << 40, -time.Hour, true},
		{"a number that is none", "many:AAAA", 1 << 40, -time.Hour, true},
		{"a number that is too large says none", "9223372036854775808:AAAA", 5, -time.Hour, true},
	} {
		r := Recovery{Checkpoint: Checkpoint{Size: 3, Time: noon}, Mark: c.mark}
		if got := r.explains(Checkpoint{Size: c.size, Time: noon.Add(c.after)}); got != c.want {
			t.Errorf("%s: %v", c.why, got)
		}
	}
	if r := (Recovery{Mark: "9223372036854775808:AAAA"}); r.reaches() != 0 {
		t.Errorf("a number that is too large reaches %d", r.reaches())
	}
}

// TestRecordedIsBounded: of a long log, the digests of the newest events are held, and no more.
func TestRecordedIsBounded(t *testing.T) {
	v := verifier{recorded: map[int64]string{}}
	root := restrict.Digest{1}
	for seq := range int64(3 * keepRecorded) {
		v.record(&phases.Event{Seq: seq + 1, Restrictions: root.String()}, nil)
	}
	if v.report.Wrong != nil || len(v.recorded) != keepRecorded || v.recorded[2*keepRecorded+1] == "" ||
		v.recorded[2*keepRecorded] != "" {
		t.Errorf("%d are held, %+v", len(v.recorded), v.report.Wrong)
	}
}

// TestTheFirstFindingCounts: the report holds the first finding, not those that follow from it.
func TestTheFirstFindingCounts(t *testing.T) {
	var v verifier
	v.wrong(1, 2, "first")
	v.wrong(3, 4, "second")
	if want := (Finding{First: 1, Last: 2, Text: "first"}); *v.report.Wrong != want {
		t.Errorf("%+v", v.report.Wrong)
	}
}

// TestBeginnings: how far each line of a checkpoint may go when it breaks off there.
func TestBeginnings(t *testing.T) {
	hash, whole := strings.Repeat("A", 43)+"=",
		[]string{Origin, "12", strings.Repeat("A", 43) + "=", "time 2026-03-01T12:00:00Z", "", "— belay-0123abcd AAAA"}
	if len(hash) != len(whole[2]) {
		t.Fatal(hash)
	}
	upTo := func(n int, last string) string { return strings.Join(append(slices.Clone(whole[:n]), last), "\n") }
	for s, want := range map[string]bool{
		"b": true, "": true, Origin: true, Origin + "x": false, "x": false,
		upTo(1, ""): true, upTo(1, strings.Repeat("9", 19)): true, upTo(1, strings.Repeat("9", 20)): false,
		upTo(1, "x"):    false,
		Origin + "\n\n": false, Origin + "\nx\n": false, "x\n12": false,
		upTo(2, ""): true, upTo(2, hash): true, upTo(2, hash+"A"): false, upTo(2, "-"): false,
		Origin + "\n12\nA\n": false, Origin + "\n12\n" + hash[1:] + "\n": false,
		upTo(3, "t"): true, upTo(3, "time"): true, upTo(3, "time 2"): true, upTo(3, "tame"): false, upTo(3, "time x"): false,
		upTo(4, ""): true, upTo(4, "x"): false, strings.Join(whole[:3], "\n") + "\ntime\n": false,
		upTo(5, ""): true, upTo(5, "— bel"): true, upTo(5, whole[5]): true, upTo(5, "— belay-0123abcd AA=="): true,
		upTo(5, "— belay-x"): false, upTo(5, "- belay"): false,
		strings.Join(whole[:4], "\n") + "\nx\n—": false, upTo(6, ""): false, upTo(6, "x"): false,
	} {
		if got := beginning(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
	k := keyForTests(t)
	for file, want := range map[string]string{"": "", "\n": "\n", "b": "", "x": "x", "belay event": ""} {
		if got, torn := CutTorn([]byte(file), k.Verifier()); string(got) != want || torn != (want != file) {
			t.Errorf("%q: %q is left, torn %v", file, got, torn)
		}
	}
}
