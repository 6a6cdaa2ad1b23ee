package eventlog_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// signText signs any text with the key of a seed, which Key does not.
func signText(t testing.TB, seed byte, text string) []byte {
	t.Helper()
	name := strings.SplitN(newKey(t, seed).Verifier(), "+", 3)
	secret := append([]byte{1}, slices.Repeat([]byte{seed}, 32)...)
	signer, err := note.NewSigner("PRIVATE+KEY+" + name[0] + "+" + name[1] + "+" +
		base64.StdEncoding.EncodeToString(secret))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// damagedTree is a log whose size cannot be told because of damage.
type damagedTree struct{ *loose }

func (damagedTree) LogSize(context.Context) (int64, error) {
	return 0, fmt.Errorf("%w: two sizes", kernel.ErrDamaged)
}

// edit changes an event and the tree with it, as a forger does who covers tracks.
func (l *loose) edit(t testing.TB, seq int64, change func(*phases.Event)) {
	t.Helper()
	var e phases.Event
	if err := json.Unmarshal(l.leaves[seq-1].Body, &e); err != nil {
		t.Fatal(err)
	}
	change(&e)
	body, err := json.Marshal(&e)
	if err != nil {
		t.Fatal(err)
	}
	l.leaves[seq-1].Body = body
	l.replant(t)
}

// mark signs a checkpoint of the log as it is, at the minute.
func mark(t testing.TB, l kernel.Log, k *eventlog.Key, minute int) []byte {
	t.Helper()
	_, n, err := eventlog.Mark(context.Background(), l, k, t0.Add(time.Duration(minute)*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Every kind of finding names the first event that is wrong, the last that may be, and why. The log has 5 events, and a
// checkpoint from outside covers 3 of them.
func TestFindingsNameTheEvents(t *testing.T) {
	k := newKey(t, 1)
	three, _ := build(t, 3, k)
	outside := mark(t, three, k, 3)
	hash := func(level int, n int64) int64 { return tlog.StoredHashIndex(level, n) }
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log
		want   *eventlog.Finding
	}{
		{"nothing is wrong", nil, nil},
		{"the tree is damaged", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log { return damagedTree{l} },
			&eventlog.Finding{Text: "the tree over the events is damaged: " + kernel.ErrDamaged.Error() + ": two sizes"}},
		{"an event is deleted", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves = slices.Delete(l.leaves, 2, 3)
			return l
		}, &eventlog.Finding{First: 3, Last: 3, Text: "event 3 is missing"}},
		{"the last events are deleted", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves = l.leaves[:3]
			return l
		}, &eventlog.Finding{First: 4, Last: 4, Text: "event 4 is missing"}},
		{"all are deleted", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves = nil
			return l
		}, &eventlog.Finding{First: 1, Last: 1, Text: "event 1 is missing"}},
		{"the first event is deleted", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves = l.leaves[1:]
			return l
		}, &eventlog.Finding{First: 1, Last: 1, Text: "events 1 to 1 are missing, and no event announces that"}},
		{"the first two are deleted", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves = l.leaves[2:]
			return l
		}, &eventlog.Finding{First: 1, Last: 2, Text: "events 1 to 2 are missing, and no event announces that"}},
		{"the hashes of those that are gone cannot be read", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves, l.tree = l.leaves[2:], nil
			return l
		}, &eventlog.Finding{First: 1, Last: 2,
			Text: "the contents of events 1 to 2 are gone, and their hashes cannot be read: no such hash"}},
		{"the hashes of an event cannot be read", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.tree = l.tree[:hash(0, 2)]
			return l
		}, &eventlog.Finding{First: 3, Last: 3, Text: "event 3: its hashes in the tree cannot be read: no such hash"}},
		{"an event does not decode", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves[3].Body = []byte("{")
			l.replant(t)
			return l
		}, &eventlog.Finding{First: 4, Last: 4, Text: "event 4 does not decode"}},
		{"an event has another number", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.edit(t, 4, func(e *phases.Event) { e.Seq = 5 })
			return l
		}, &eventlog.Finding{First: 4, Last: 4, Text: "event 4 says that it is event 5"}},
		{"an event is changed", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves[1].Body = append(l.leaves[1].Body, ' ')
			return l
		}, &eventlog.Finding{First: 2, Last: 2, Text: "event 2 is not the one that was recorded"}},
		{"an event is found under other values", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves[1].Copies = false
			return l
		}, &eventlog.Finding{First: 2, Last: 2, Text: "event 2 is found under values that it does not have"}},
		{"an event is changed, and found under the old values",
			func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
				l.leaves[1].Body, l.leaves[1].Copies = append(l.leaves[1].Body, ' '), false
				return l
			}, &eventlog.Finding{First: 2, Last: 2, Text: "event 2 is not the one that was recorded"}},
		{"an event stands twice", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.leaves = slices.Insert(l.leaves, 2, l.leaves[1])
			return l
		}, &eventlog.Finding{First: 3, Last: 3, Text: "event 3 is missing"}},
		{"an event is not that of the copy", func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
			body := slices.Clone(l.leaves[4].Body)
			ev.Copies = func(seq int64) (tlog.Hash, bool) { return tlog.RecordHash(body), seq == 4 }
			return l
		}, &eventlog.Finding{First: 4, Last: 4, Text: "event 4 is not the one in the copy"}},
		{"there is a copy of an event behind the last", func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
			ev.Copies = func(seq int64) (tlog.Hash, bool) { return tlog.Hash{}, seq == 6 }
			return l
		}, &eventlog.Finding{First: 6, Last: 6, Text: "event 6 is missing: there is a copy of it"}},
		{"the hash of an event is changed", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.tree[hash(0, 4)][7] ^= 1
			return l
		}, &eventlog.Finding{First: 5, Last: 5, Text: "event 5 is not the one that was recorded"}},
		{"the hash over two is changed", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.tree[hash(1, 1)][7] ^= 1
			return l
		}, &eventlog.Finding{First: 3, Last: 4, Text: "the tree over events 3 to 4 is not that of the events"}},
		{"the hash over four is changed", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.tree[hash(2, 0)][7] ^= 1
			return l
		}, &eventlog.Finding{First: 1, Last: 4, Text: "the tree over events 1 to 4 is not that of the events"}},
		{"an event is not in the tree", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.size = 4
			return l
		}, &eventlog.Finding{First: 5, Last: 5, Text: "event 5 is not in the tree"}},
		{"event 2 and the tree are changed", func(t *testing.T, l *loose, _ *eventlog.Evidence) kernel.Log {
			l.edit(t, 2, func(e *phases.Event) { e.Reason = "another" })
			return l
		}, &eventlog.Finding{First: 1, Last: 3, Class: eventlog.OtherHead,
			Text: "events 1 to 3 are not those of the checkpoint of 2026-03-01 12:03:00Z: one or more were changed, with the tree"}},
		{"event 4 and the tree are changed", func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
			ev.Outside = append([][]byte{mark(t, l, k, 5)}, ev.Outside...)
			l.edit(t, 4, func(e *phases.Event) { e.Reason = "another" })
			return l
		}, &eventlog.Finding{First: 4, Last: 5, Class: eventlog.OtherHead,
			Text: "events 4 to 5 are not those of the checkpoint of 2026-03-01 12:05:00Z: one or more were changed, with the tree"}},
		{"two checkpoints of one size differ", func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
			other, _ := build(t, 3, k)
			other.edit(t, 1, func(e *phases.Event) { e.Reason = "another" })
			ev.Outside = append(ev.Outside, mark(t, other, k, 9))
			return l
		}, &eventlog.Finding{First: 3, Last: 3, Class: eventlog.OtherHead,
			Text: "events 3 to 3 are not those of the checkpoint of 2026-03-01 12:09:00Z: one or more were changed, with the tree"}},
		{"a checkpoint covers more events than there are", func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
			ev.Outside = append(ev.Outside, mark(t, l, k, 5))
			l.leaves = l.leaves[:4]
			l.replant(t)
			return l
		}, &eventlog.Finding{First: 5, Last: 5, Class: eventlog.CutShort,
			Text: "event 5 is missing: a checkpoint of 2026-03-01 12:05:00Z covers 5 events, the log ends at 4"}},
		{"of two such checkpoints the one that covers most is named",
			func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
				long, _ := build(t, 9, k)
				ev.Outside = append(ev.Outside, mark(t, long, k, 9), mark(t, l, k, 5))
				l.leaves = l.leaves[:4]
				l.replant(t)
				return l
			}, &eventlog.Finding{First: 5, Last: 9, Class: eventlog.CutShort,
				Text: "event 5 is missing: a checkpoint of 2026-03-01 12:09:00Z covers 9 events, the log ends at 4"}},
		{"a checkpoint from outside does not verify", func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
			ev.Outside = append(ev.Outside, []byte("x\n"), []byte("y\n"))
			return l
		}, &eventlog.Finding{Class: eventlog.NotSigned,
			Text: "checkpoint 2 from outside: " + eventlog.ErrCheckpoint.Error() + ": malformed note"}},
		{"a checkpoint in the store does not verify", func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
			l.notes = [][]byte{ev.Outside[0], []byte("x\n")}
			return l
		}, &eventlog.Finding{Class: eventlog.NotSigned,
			Text: "checkpoint 2 in the store: " + eventlog.ErrCheckpoint.Error() + ": malformed note"}},
		{"an event that is wrong says more than a checkpoint",
			func(t *testing.T, l *loose, ev *eventlog.Evidence) kernel.Log {
				ev.Outside = append(ev.Outside, []byte("x\n"))
				l.leaves = slices.Delete(l.leaves, 2, 3)
				return l
			}, &eventlog.Finding{First: 3, Last: 3, Text: "event 3 is missing"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, _ := build(t, 5, k)
			ev := eventlog.Evidence{Verifier: k.Verifier(), Outside: [][]byte{outside}}
			var log kernel.Log = l
			if tc.change != nil {
				log = tc.change(t, l, &ev)
			}
			r, err := eventlog.Verify(t.Context(), log, ev)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.Wrong); diff != "" {
				t.Errorf("finding (-want +got):\n%s", diff)
			}
		})
	}
}

// The report of a sound log counts the events and checkpoints that Verify compared.
func TestReportsOfSoundLogs(t *testing.T) {
	k := newKey(t, 1)
	newest := func(l *loose) string {
		var e phases.Event
		if err := json.Unmarshal(l.leaves[len(l.leaves)-1].Body, &e); err != nil {
			t.Fatal(err)
		}
		return e.Restrictions
	}
	empty, _ := build(t, 0, k)
	five, _ := build(t, 5, k)
	three, _ := build(t, 3, k)
	for _, tc := range []struct {
		name string
		log  *loose
		ev   eventlog.Evidence
		want eventlog.Report
	}{
		{"empty", empty, eventlog.Evidence{}, eventlog.Report{}},
		{"empty, with a checkpoint", empty, eventlog.Evidence{Outside: [][]byte{mark(t, empty, k, 0)}},
			eventlog.Report{Outside: 1}},
		{"without a checkpoint", five, eventlog.Evidence{},
			eventlog.Report{Events: 5, Uncovered: 5, Restrictions: newest(five)}},
		{"with checkpoints in any order", five,
			eventlog.Evidence{Outside: [][]byte{mark(t, five, k, 0), mark(t, empty, k, 0), mark(t, three, k, 1),
				mark(t, three, k, 0)}, Torn: 2},
			eventlog.Report{Events: 5, Outside: 4, Covered: 5, Torn: 2, Restrictions: newest(five)}},
		{"with checkpoints in the store",
			&loose{leaves: five.leaves, tree: five.tree, size: 5, notes: [][]byte{mark(t, three, k, 0), mark(t, five, k, 0)}},
			eventlog.Evidence{Outside: [][]byte{mark(t, three, k, 0)}},
			eventlog.Report{Events: 5, Checkpoints: 2, Outside: 1, Covered: 3, Uncovered: 2, Restrictions: newest(five)}},
		{"with copies of some", five, eventlog.Evidence{Copies: func(seq int64) (tlog.Hash, bool) {
			if seq != 2 {
				return tlog.Hash{}, false
			}
			return tlog.RecordHash(five.leaves[1].Body), true
		}}, eventlog.Report{Events: 5, Uncovered: 5, Restrictions: newest(five)}},
	} {
		tc.ev.Verifier = k.Verifier()
		r, err := eventlog.Verify(t.Context(), tc.log, tc.ev)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, r); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// What follows on the first event that is wrong is not looked at: no checkpoint behind it counts.
func TestNothingBehindAFindingCounts(t *testing.T) {
	k := newKey(t, 1)
	l, _ := build(t, 5, k)
	two, _ := build(t, 2, k)
	l.leaves[2].Copies = false
	r := verify(t, l, k, mark(t, two, k, 0), mark(t, l, k, 0))
	want := eventlog.Report{
		Events: 5, Outside: 1, Covered: 2, Uncovered: 3,
		Wrong: &eventlog.Finding{First: 3, Last: 3, Text: "event 3 is found under values that it does not have"},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
