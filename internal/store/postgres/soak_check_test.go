package postgres_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// callerOf is one caller of one process of a kernel; number is of what it does.
func callerOf(id string) (caller string, number int, what string, err error) {
	parts := strings.Split(id, "-")
	if len(parts) != 4 {
		return "", 0, "", fmt.Errorf("event %s is of none of the callers", id)
	}
	number, err = strconv.Atoi(parts[2])
	return parts[0] + "-" + parts[1], number, parts[3], err
}

// check compares the logs with the journals, and what is shared with the logs.
func (w *soakWorld) check(s *soak) {
	happened := map[string]int64{} // in all logs
	for k := range s.kernels {
		w.compare(s, k, happened)
	}
	o := s.o
	o.Kernel = "prepare"
	store := pgtest.Open(s.T, o)
	for n := range soakLeases {
		l, err := store.Lease(s.Context(), fmt.Sprint("l", n))
		if logged := happened[fmt.Sprint("claim.", n)]; err != nil || l.Uses != logged || l.Uses > w.uses {
			s.Errorf("lease %d has %d uses of %d, and the logs say %d; %v", n, l.Uses, w.uses, logged, err)
		}
	}
	for n := range soakCounters {
		v, err := store.HookState(s.Context(), "n", fmt.Sprint("counter", n))
		count, _ := strconv.ParseInt(string(v.Value), 10, 64)
		if logged := happened[fmt.Sprint("count.", n)]; err != nil || count != logged {
			s.Errorf("counter %d is %d, and the logs say %d; %v", n, count, logged, err)
		}
	}
	used := 0
	for n := range w.items {
		var did [3]int64
		for i, what := range []string{"ask.", "decide.", "use."} {
			did[i] = happened[fmt.Sprint(what, n)]
		}
		want, known := map[[3]int64]approvals.State{{1, 0, 0}: approvals.Pending, {1, 1, 0}: approvals.Approved,
			{1, 1, 1}: approvals.Consumed, {}: ""}[did]
		it, err := store.Approval(s.Context(), fmt.Sprint("q", n))
		state := approvals.State("")
		if it != nil {
			state = it.State
		}
		if !known || state != want || err != nil {
			s.Errorf("question %d was asked, decided and used %v times, and is %q; %v", n, did, state, err)
		}
		used += int(did[2])
	}
	if r, err := store.Restrictions(s.Context()); err != nil || r.Tampered != nil {
		s.Errorf("what restricts: %+v, %v", r.Tampered, err)
	}
	s.Logf("%d answers of people were used, each once", used)
}

// compare checks that a kernel's log holds what its callers were told, and besides that only what was on its way when
// a process was killed.
func (w *soakWorld) compare(s *soak, k int, happened map[string]int64) {
	told, last := w.journal(s, k)
	o := s.o
	o.Kernel = fmt.Sprint("k", k)
	store := pgtest.Open(s.T, o)
	seen := map[string]bool{}
	written, killed := 0, 0
	for after := int64(0); ; {
		es, err := store.Events(s.Context(), wire.Query{After: after, Limit: wire.MaxLimit})
		if err != nil {
			s.Fatal(err)
		}
		if len(es) == 0 {
			break
		}
		for _, e := range es {
			after = e.Seq
			caller, number, what, err := callerOf(e.ID)
			seq, answered := told[e.ID]
			switch {
			case err != nil:
				s.Error(err)
			case seen[e.ID]:
				s.Errorf("event %s is there twice", e.ID)
			case answered && seq != e.Seq: // 0: it was refused
				s.Errorf("event %s: its caller was told %d, and it has number %d", e.ID, seq, e.Seq)
			case !answered && number <= last[caller]:
				s.Errorf("event %s is there, and its caller was told that it is not", e.ID)
			case !answered && number > last[caller]+1:
				s.Errorf("event %s comes before one that its caller never sent", e.ID)
			}
			if answered {
				written++
			} else {
				killed++
			}
			seen[e.ID] = true
			happened[what]++
		}
	}
	for id, seq := range told {
		if seq != 0 && !seen[id] {
			s.Errorf("event %s is lost: its caller was told %d", id, seq)
		}
	}
	size := storetest.CheckLog(s.T, store)
	s.Logf("kernel %d: %d events, %d of which were on their way when a process was killed; %d were refused", k, size, killed,
		len(told)-written)
	if err := store.Close(); err != nil {
		s.Error(err)
	}
}

// journal reads what the callers of a kernel were told: the number of each event, 0 when it was refused; and the last
// thing that each caller has an answer for.
func (w *soakWorld) journal(s *soak, k int) (told map[string]int64, last map[string]int) {
	told, last = map[string]int64{}, map[string]int{}
	f, err := os.Open(filepath.Join(s.dir, fmt.Sprint("k", k, ".journal")))
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, number, _ := strings.Cut(lines.Text()[1:], " ")
		seq, err := strconv.ParseInt(number, 10, 64)
		caller, n, _, cerr := callerOf(id)
		if err != nil || cerr != nil {
			s.Fatalf("the journal of kernel %d: %q", k, lines.Text())
		}
		told[id], last[caller] = seq, n
		if lines.Text()[0] == '=' {
			w.done++
		}
	}
	if err := lines.Err(); err != nil {
		s.Fatal(err)
	}
	return told, last
}
