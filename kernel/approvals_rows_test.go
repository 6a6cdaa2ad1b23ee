package kernel_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/approvals"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// rows is a host on a database, and somebody else's hands on the table of approvals.
type rows struct {
	*host
	db *sqlite3.Conn
	n  int
}

func openRows(t *testing.T) *rows {
	t.Helper()
	path := filepath.Join(t.TempDir(), "belay.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{Unproven: true}) // what the kernel finds by itself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	hooks := []hook{{name: "asker", caps: []string{"request_approval"}, run: effects(ask("why"))}, {name: "writes", caps: []string{"rewrite:/args"}, mutates: preTool, run: effects(rewrite("/args/safe", "true"))}}
	r := &rows{host: newHost(t, hooks, reviewed, func(c *kernel.Config, o *kernel.Options) {
		o.Store = store
		c.Approvals.Quota = approvals.MaxQuota
	})}
	if r.db, err = sqlite3.Open("file:" + path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.db.Close() })
	if err := r.db.BusyTimeout(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rows) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	st, _, err := r.db.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i, a := range args {
		switch a := a.(type) {
		case string:
			err = st.BindText(i+1, a)
		case []byte:
			err = st.BindBlob(i+1, a)
		case int64:
			err = st.BindInt64(i+1, a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Exec(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if r.db.Changes() == 0 {
		t.Fatalf("%s: nothing was changed", sql)
	}
}

func (r *rows) body(t *testing.T, id string) map[string]any {
	t.Helper()
	st, _, err := r.db.Prepare("SELECT body FROM approvals WHERE id = '" + id + "'")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var doc map[string]any
	if !st.Step() || json.Unmarshal(st.ColumnBlob(0, nil), &doc) != nil {
		t.Fatalf("no row %s", id)
	}
	return doc
}

func (r *rows) setBody(t *testing.T, id string, doc map[string]any) {
	t.Helper()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	r.exec(t, "UPDATE approvals SET body=? WHERE id=?", b, id)
}

// question returns a question that was never asked before.
func (r *rows) question() phases.Invocation {
	r.n++
	inv := invocation(phases.PreTool)
	inv.Action = jsontext.Value(fmt.Sprintf(`{"tool":"exec","args":{"command":"git push --force %d"}}`, r.n))
	return inv
}

// file asks, and has the reviewer decide so that the item is in the state.
func (r *rows) file(t *testing.T, inv phases.Invocation, s approvals.State) string {
	t.Helper()
	id := r.pending(t, inv)
	verdict := map[approvals.State]approvals.Verdict{approvals.Approved: approvals.Approve, approvals.Denied: approvals.Deny}[s]
	if verdict != "" {
		if err := r.decide(t, id, verdict, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// useless checks that a row that somebody has changed is neither shown nor decided, and
// that nothing passes by it.
func (r *rows) useless(t *testing.T, id string, inv phases.Invocation) {
	t.Helper()
	if it, err := r.Approval(t.Context(), id); err == nil {
		t.Errorf("it is shown: %+v", it)
	}
	list, err := r.Approvals(t.Context(), kernel.ApprovalQuery{Limit: approvals.MaxLimit})
	if err != nil || slices.ContainsFunc(list, func(it kernel.Approval) bool { return it.ID == id }) {
		t.Errorf("it is listed, or nothing is: %v", err)
	}
	if _, err := r.DecideApproval(t.Context(), id, kernel.ApprovalDecision{Verdict: approvals.Approve}); err == nil {
		t.Error("it is decided")
	}
	if err := r.FinishApproval(t.Context(), id, ""); err == nil {
		t.Error("it is used up")
	}
	if v, _ := r.Invoke(t.Context(), inv); v.Decision == phases.Allow || v.Approval != nil && v.Approval.ID == id {
		t.Errorf("%s, %+v", v.Decision, v.Approval)
	}
}

// leaves are the members of a document, those in objects too, by pointers.
func leaves(at string, v any, out map[string]any) {
	if doc, ok := v.(map[string]any); ok {
		for name, m := range doc {
			leaves(at+"/"+name, m, out)
		}
		return
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		for i := range list {
			leaves(fmt.Sprintf("%s/%d", at, i), list[i], out)
		}
		return
	}
	out[at] = v
}

// with returns a copy of a document in which the leaf at a pointer is v.
func with(doc any, ptr string, v any) any {
	if ptr == "" {
		return v
	}
	name, rest, _ := strings.Cut(ptr[1:], "/")
	if rest != "" {
		rest = "/" + rest
	}
	if list, ok := doc.([]any); ok {
		out := slices.Clone(list)
		var i int
		fmt.Sscan(name, &i)
		out[i] = with(list[i], rest, v)
		return out
	}
	out := maps.Clone(doc.(map[string]any))
	out[name] = with(out[name], rest, v)
	return out
}

// another is a value of the same type that is not the same.
func another(v any) any {
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.Add(time.Second).Format(time.RFC3339Nano)
		}
		return v + "A"
	case bool:
		return !v
	case float64:
		return v + 1
	}
	return "another"
}

// One UPDATE of one column, one member or both of them makes of an item something that
// is not shown, not decided, and lets nothing pass; whatever its state.
func TestEveryColumnAndMemberCounts(t *testing.T) {
	r := openRows(t)
	for _, state := range []approvals.State{approvals.Pending, approvals.Approved, approvals.Denied} {
		inv := r.question()
		it := r.file(t, inv, state)
		cases := map[string]func(t *testing.T, id string){}
		for _, c := range []string{"kind", "key", "state", "credential", "runtime", "session", "agent"} {
			cases["column "+c] = func(t *testing.T, id string) {
				r.exec(t, "UPDATE approvals SET "+c+" = "+c+" || 'x' WHERE id = ?", id)
			}
		}
		cases["column ends_ns"] = func(t *testing.T, id string) {
			r.exec(t, "UPDATE approvals SET ends_ns = ends_ns + 1 WHERE id = ?", id)
		}
		for _, to := range approvals.States() {
			if to != state {
				cases["column and member state "+string(to)] = func(t *testing.T, id string) {
					r.setBody(t, id, with(r.body(t, id), "/state", string(to)).(map[string]any))
					r.exec(t, "UPDATE approvals SET state = ? WHERE id = ?", string(to), id)
				}
			}
		}
		for member, column := range map[string]string{"/kind": "kind", "/key": "key", "/by/credential": "credential", "/by/runtime": "runtime", "/by/session": "session", "/by/agent": "agent"} {
			cases["column and member "+column] = func(t *testing.T, id string) {
				r.setBody(t, id, with(r.body(t, id), member, "another").(map[string]any))
				r.exec(t, "UPDATE approvals SET "+column+" = 'another' WHERE id = ?", id)
			}
		}
		cases["column and member ends"] = func(t *testing.T, id string) {
			doc := r.body(t, id)
			at := map[approvals.State]string{approvals.Pending: "/expires", approvals.Approved: "/decision/until", approvals.Denied: "/closed"}[state]
			end := r.clock.Now().Add(3 * time.Hour)
			r.setBody(t, id, with(doc, at, end.UTC().Format(time.RFC3339Nano)).(map[string]any))
			r.exec(t, "UPDATE approvals SET ends_ns = ? WHERE id = ?", end.UnixNano(), id)
		}
		found := map[string]any{}
		leaves("", r.body(t, it), found)
		for ptr, v := range found {
			cases["member "+ptr] = func(t *testing.T, id string) {
				doc := r.body(t, id)
				now := map[string]any{}
				leaves("", doc, now)
				if ptr == "/decision/signature" {
					v = strings.Replace(now[ptr].(string), now[ptr].(string)[:2], "zz", 1)
					r.setBody(t, id, with(doc, ptr, v).(map[string]any))
					return
				}
				r.setBody(t, id, with(doc, ptr, another(now[ptr])).(map[string]any))
			}
		}
		for _, name := range []string{"decision", "closed", "before", "action", "notes", "details", "more"} {
			cases["member /"+name+" more or less"] = func(t *testing.T, id string) {
				doc := r.body(t, id)
				if _, ok := doc[name]; ok {
					delete(doc, name)
				} else {
					doc[name] = map[string]any{"decision": map[string]any{"verdict": "approved", "by": "dev", "content": "", "at": "2026-03-01T12:00:00Z", "until": "2036-03-01T12:00:00Z"},
						"closed": "2026-03-01T12:00:00Z", "notes": []string{"safe"}, "details": map[string]any{"x": 1}, "more": 1}[name]
				}
				r.setBody(t, id, doc)
			}
		}
		cases["no document"] = func(t *testing.T, id string) {
			r.exec(t, "UPDATE approvals SET body = CAST('{' AS BLOB) WHERE id = ?", id)
		}
		if len(cases) < 45 {
			t.Fatalf("only %d cases: %v", len(cases), slices.Sorted(maps.Keys(cases)))
		}
		for name, change := range cases {
			t.Run(string(state)+"/"+name, func(t *testing.T) {
				inv := r.question()
				id := r.file(t, inv, state)
				change(t, id)
				r.useless(t, id, inv)
			})
		}
	}
	if ids, err := r.UnsoundApprovals(t.Context()); err != nil || len(ids) == 0 {
		t.Errorf("%v, %v", ids, err)
	}
}

// Rows that are exchanged, copied or put back as they were are no better.
func TestRowsAreNotExchanged(t *testing.T) {
	r := openRows(t)
	const copyRow = "INSERT INTO approvals SELECT ?, kind, key, state, credential, runtime, session, agent, ends_ns, body FROM approvals WHERE id = ?"
	t.Run("bodies", func(t *testing.T) {
		harmless, forced := r.question(), r.question()
		a, b := r.file(t, harmless, approvals.Pending), r.file(t, forced, approvals.Pending)
		docA, docB := r.body(t, a), r.body(t, b)
		r.setBody(t, a, docB)
		r.setBody(t, b, docA)
		r.useless(t, a, harmless)
		r.useless(t, b, forced)
	})
	t.Run("what is shown", func(t *testing.T) {
		harmless, forced := r.question(), r.question()
		a, b := r.file(t, harmless, approvals.Pending), r.file(t, forced, approvals.Pending)
		docA, docB := r.body(t, a), r.body(t, b)
		r.setBody(t, a, with(docA, "/action", docB["action"]).(map[string]any))
		r.setBody(t, b, with(docB, "/action", docA["action"]).(map[string]any))
		r.useless(t, a, harmless)
		r.useless(t, b, forced)
	})
	t.Run("keys", func(t *testing.T) {
		harmless, forced := r.question(), r.question()
		a, b := r.file(t, harmless, approvals.Approved), r.file(t, forced, approvals.Pending)
		docA, docB := r.body(t, a), r.body(t, b)
		r.exec(t, "UPDATE approvals SET key = 'x' WHERE id = ?", b)
		r.setBody(t, a, with(docA, "/key", docB["key"]).(map[string]any))
		r.exec(t, "UPDATE approvals SET key = ? WHERE id = ?", docB["key"].(string), a)
		r.useless(t, a, forced)
	})
	t.Run("a copy", func(t *testing.T) {
		inv := r.question()
		id := r.file(t, inv, approvals.Approved)
		const twin = "ffffffff-ac96-774b-bcce-b302099a8057"
		r.exec(t, copyRow, twin, id)
		r.useless(t, twin, inv)
		r.setBody(t, twin, with(r.body(t, twin), "/id", twin).(map[string]any))
		r.useless(t, twin, inv)
	})
	t.Run("put back", func(t *testing.T) {
		for _, s := range []approvals.State{approvals.Approved, approvals.Denied} {
			inv := r.question()
			id := r.file(t, inv, approvals.Pending)
			before := r.body(t, id)
			verdict := approvals.Approve
			if s == approvals.Denied {
				verdict = approvals.Deny
			}
			if err := r.decide(t, id, verdict, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			decided := r.body(t, id)
			if s == approvals.Approved {
				if v := r.invoke(t, inv); v.Decision != phases.Allow {
					t.Fatalf("%s %s", v.Decision, v.Reason)
				}
				r.setBody(t, id, decided)
				r.exec(t, "UPDATE approvals SET state = 'approved', ends_ns = ? WHERE id = ?", r.clock.Now().Add(approvals.DefaultTimeout).UnixNano(), id)
				r.useless(t, id, inv)
			}
			r.setBody(t, id, before)
			r.exec(t, "UPDATE approvals SET state = 'pending', ends_ns = ? WHERE id = ?", r.clock.Now().Add(approvals.DefaultTimeout).UnixNano(), id)
			r.useless(t, id, inv)
		}
	})
}
