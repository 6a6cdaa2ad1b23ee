package reconcile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/reconcile"
	"github.com/belay-hooks/belay/internal/transcripts"
)

func claude() recorded { return runs()[0] }

// again compares, logs the comparison, and returns it.
func (r recorded) again(t *testing.T, m *memory, dir string) wire.Reconciliation {
	t.Helper()
	got := r.compare(t, m, dir)
	m.record(t, &got)
	return got
}

func (r recorded) file(dir string) string { return filepath.Join(dir, filepath.FromSlash(r.log)) }

func (r recorded) question(dir, log string) reconcile.Question {
	return reconcile.Question{Runtime: r.runtime, Dir: dir, Log: log, Now: now()}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A log that grows is read from where it was; one that shrank, changed or went is a finding, which stays.
func TestRewrittenLogs(t *testing.T) {
	for _, r := range runs() {
		if r.off > 0 || filepath.Ext(r.log) != ".jsonl" {
			continue
		}
		for name, change := range map[string]struct {
			of   func(text string) string
			want int
		}{
			"nothing": {func(text string) string { return text }, 0},
			"growth": {func(text string) string {
				return text + text[strings.LastIndexByte(text[:len(text)-1], '\n')+1:]
			}, 0},
			"a half line more": {func(text string) string { return text + `{"type":` }, 0},
			"a blank changed":  {func(text string) string { return strings.Replace(text, `": "`, `":  "`, 1) }, 1},
			"a first line more": {func(text string) string {
				first, _, _ := strings.Cut(text, "\n")
				return first + "\n" + text
			}, 1},
			"the last byte gone": {func(text string) string { return text[:len(text)-1] }, 1},
			"all gone":           {func(text string) string { return text[:strings.IndexByte(text, '\n')+1] }, 1},
		} {
			t.Run(r.name+"/"+name, func(t *testing.T) {
				m, dir := r.events(t), r.copied(t)
				if first := r.again(t, m, dir); first.Found != 0 {
					t.Fatalf("%s", shown(t, first))
				}
				write(t, r.file(dir), change.of(read(t, r.file(dir))))
				got := r.again(t, m, dir)
				if n := count(&got)[wire.FindingRewritten]; n != change.want {
					t.Errorf("%d: %s", n, shown(t, got))
				}
				got = r.again(t, m, dir)
				if n := count(&got)[wire.FindingRewritten]; n != change.want {
					t.Errorf("the next time %d: %s", n, shown(t, got))
				}
			})
		}
	}
}

// A subagent's log that was read and is not there any more is a finding.
func TestRemovedSubagentLog(t *testing.T) {
	r := claude()
	m, dir := r.events(t), r.copied(t)
	r.again(t, m, dir)
	if err := os.RemoveAll(strings.TrimSuffix(r.file(dir), ".jsonl")); err != nil {
		t.Fatal(err)
	}
	if got := r.compare(t, m, dir); count(&got)[wire.FindingRewritten] != 1 || got.Unknown != 1 {
		t.Errorf("%s", shown(t, got))
	}
}

// What a reader does not know makes the comparison unknown, and hides no finding.
func TestUnknownRecords(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON": "not a line", "a new kind": `{"type":"a-new-kind"}`, "no object": `[1]`,
		"two names":   `{"type":"user","type":"user"}`,
		"a long line": `{"type":"` + strings.Repeat("x", transcripts.MaxLine) + `"}`,
		"zeros":       strings.Repeat("\x00", 512),
		"a new part":  `{"type":"assistant","sessionId":"$S","message":{"content":[{"type":"a_new_part"}]}}`,
		"no call": `{"type":"assistant","sessionId":"$S","message":{"content":[` +
			`{"type":"tool_use","id":7}]}}`,
		"a stray result": `{"type":"user","sessionId":"$S","message":{"content":[` +
			`{"type":"tool_result","tool_use_id":"none"}]}}`,
		"another session": `{"type":"assistant","sessionId":"other","message":{"content":[{"type":"tool_use",` +
			`"id":"toolu_x","name":"Bash","input":{"command":"x"}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := claude()
			m, dir := r.events(t), r.copied(t)
			line = strings.ReplaceAll(line, "$S", "a79c7f03-c262-4ef1-aafe-2018d72d897b")
			write(t, r.file(dir), read(t, r.file(dir))+line+"\n")
			if got := r.compare(t, m, dir); got.Status != wire.ReconcileUnknown || got.Unknown != 1 || len(got.Why) != 1 {
				t.Errorf("%s", shown(t, got))
			} else if foreign := got.Why[0] == transcripts.Foreign; foreign != (name == "another session") {
				t.Errorf("it is unknown because of %s", got.Why[0])
			}
			m.list = m.list[:len(m.list)-1]
			if got := r.compare(t, m, dir); got.Status != wire.ReconcileDiffers || got.Unknown != 1 || got.Found != 1 {
				t.Errorf("%s", shown(t, got))
			}
		})
	}
}

// One id in two calls is a finding, also where both have the same arguments.
func TestDoubledIDs(t *testing.T) {
	r := claude()
	m, dir := r.events(t), r.copied(t)
	edit(t, dir, func(line string) []string {
		if strings.Contains(line, `"id": "toolu_001_0", "input"`) {
			return []string{line, line}
		}
		return []string{line}
	})
	if got := r.compare(t, m, dir); got.Found != 1 || got.List[0].Kind != wire.FindingDoubled ||
		got.List[0].Call != "toolu_001_0" {
		t.Errorf("%s", shown(t, got))
	}
}

// The calls of one session are compared with the verdicts of that session alone, whatever ids they have.
func TestOtherSessions(t *testing.T) {
	r := claude()
	m, dir := r.events(t), r.copied(t)
	const other = "00000000-c262-4ef1-aafe-2018d72d897b"
	text := strings.ReplaceAll(read(t, r.file(dir)), "a79c7f03-c262-4ef1-aafe-2018d72d897b", other)
	forged := filepath.Join(filepath.Dir(r.file(dir)), other+".jsonl")
	write(t, forged, text)
	list, err := reconcile.Compare(t.Context(), m, r.question(dir, forged))
	if err != nil || list[0].Session != other || list[0].Verdicts != 0 || count(&list[0])[wire.FindingUnasked] != 12 {
		t.Errorf("%v %s", err, shown(t, list))
	}
	if got := r.compare(t, m, dir); got.Found != 0 {
		t.Errorf("the session whose ids were copied: %s", shown(t, got))
	}
	// A file with another's name for its own.
	write(t, forged, read(t, r.file(dir)))
	list, err = reconcile.Compare(t.Context(), m, r.question(dir, forged))
	if err != nil || list[0].Session != other || list[0].Calls != 0 || list[0].Status != wire.ReconcileUnknown {
		t.Errorf("%v %s", err, shown(t, list))
	}
	_, err = reconcile.Compare(t.Context(), m, reconcile.Question{Runtime: r.runtime, Dir: dir, Log: forged, Now: now(),
		Session: "a79c7f03-c262-4ef1-aafe-2018d72d897b"})
	if !errors.Is(err, reconcile.ErrSession) {
		t.Errorf("a log for the session of another: %v", err)
	}
}

// Events whose contents are gone judge nothing, and calls from before belay's first event are not judged.
func TestGoneEvents(t *testing.T) {
	r := claude()
	m, dir := r.events(t), r.copied(t)
	m.list[3].Input = nil
	if got := r.compare(t, m, dir); got.Status != wire.ReconcileUnknown || got.Unknown != 1 || got.Found != 0 {
		t.Errorf("an event without contents: %s", shown(t, got))
	}
	m = r.events(t)
	m.gone = m.list[3].Seq
	m.list = m.list[4:]
	if got := r.compare(t, m, dir); got.Found != 0 || got.Earlier == 0 {
		t.Errorf("compacted events: %s", shown(t, got))
	}
}

// A subagent's log is compared as a part of its session, whichever file is named.
func TestSubagentsOwnFile(t *testing.T) {
	r := runs()[2]
	m, dir := r.events(t), r.copied(t)
	whole := r.again(t, m, dir)
	child := filepath.Join(filepath.Dir(r.file(dir)),
		"rollout-2026-11-24T08-04-26-01a20c95-afab-7e61-bebc-912d88301303.jsonl")
	list, err := reconcile.Compare(t.Context(), m, r.question(dir, child))
	if err != nil || len(list) != 1 || shown(t, list[0]) != shown(t, whole) {
		t.Errorf("%v %s, and by the session's own %s", err, shown(t, list), shown(t, whole))
	}
	if err := os.Remove(r.file(dir)); err != nil {
		t.Fatal(err)
	}
	list, err = reconcile.Compare(t.Context(), m, r.question(dir, child))
	if err != nil || len(list) != 1 || count(&list[0])[wire.FindingRewritten] != 1 || list[0].Calls != 1 {
		t.Errorf("without the session's own: %v %s", err, shown(t, list))
	}
}
