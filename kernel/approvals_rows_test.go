package kernel_test

import (
	"crypto/sha256"
	"errors"
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

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// rows is a host on a database, and a forger with access to the table of approvals.
type rows struct {
	*host
	db    *sqlite3.Conn
	store kernel.Store
	n     int

	lease *script // a hook that asks for leases, when it is told to
}

func openRows(t *testing.T) *rows {
	t.Helper()
	path := filepath.Join(t.TempDir(), "belay.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{Unproven: true}) // what the kernel finds by itself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	hooks := []hook{{name: "asker", caps: []string{"request_approval"}, run: effects(ask("why"))},
		{name: "writes", caps: []string{"rewrite:/args"}, mutates: preTool, run: effects(rewrite("/args/safe", "true"))}}
	lease := &script{}
	hooks = append(hooks,
		hook{name: "borrows", phases: []phases.Phase{phases.PreSend}, imports: []string{"request_lease"},
			caps: []string{"request_lease"}, run: lease.run})
	r := &rows{lease: lease, store: store, host: newHost(t, hooks, reviewed, func(c *kernel.Config, o *kernel.Options) {
		o.Store = store
		c.Approvals.Quota = queue.MaxQuota
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
	r.settle(t, id, s)
	return id
}

// settle has the reviewer decide so that a pending item is in the state.
func (r *rows) settle(t *testing.T, id string, s approvals.State) {
	t.Helper()
	verdict := map[approvals.State]approvals.Verdict{approvals.Approved: approvals.Approve,
		approvals.Denied: approvals.Deny}[s]
	if verdict != "" {
		if err := r.decide(t, id, verdict, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
	}
}

// useless checks that a row that was changed is neither shown nor decided, and
// that nothing passes by it.
func (r *rows) useless(t *testing.T, id string, inv phases.Invocation) {
	t.Helper()
	r.unusable(t, id)
	r.stops(t, id, inv)
}

// stops checks that an action does not pass by a row that was changed.
func (r *rows) stops(t *testing.T, id string, inv phases.Invocation) {
	t.Helper()
	if v, _ := r.Invoke(t.Context(), inv); v.Decision == phases.Allow || v.Approval != nil && v.Approval.ID == id {
		t.Errorf("%s, %+v", v.Decision, v.Approval)
	}
}

// unusable checks that a row that was changed is neither shown, decided nor used
// up, for every kind of item.
func (r *rows) unusable(t *testing.T, id string) {
	t.Helper()
	if it, err := r.Approval(t.Context(), id); err == nil {
		t.Errorf("it is shown: %+v", it)
	}
	list, err := r.Approvals(t.Context(), approvals.Query{Limit: approvals.MaxLimit})
	if err != nil || slices.ContainsFunc(list, func(it approvals.Item) bool { return it.ID == id }) {
		t.Errorf("it is listed, or nothing is: %v", err)
	}
	d := r.signed(t, id)
	if _, err := r.DecideApproval(t.Context(), id, d); err == nil {
		t.Error("it is decided")
	}
	if _, err := r.AcceptApproval(t.Context(), id, d); err == nil {
		t.Error("it is accepted")
	}
	if _, err := r.CheckApproval(t.Context(), id); err == nil {
		t.Error("it counts")
	}
	if err := r.FinishApproval(t.Context(), id, ""); err == nil {
		t.Error("it is used up")
	}
	if err := r.FinishAccepted(t.Context(), id, ""); err == nil {
		t.Error("it is used up as accepted")
	}
	if v, err := r.MintApproved(t.Context(), id); err == nil {
		t.Errorf("it mints %+v", v)
	}
}

// signed is a decision that a reviewer has signed for a row as it is stored.
func (r *rows) signed(t *testing.T, id string) approvals.Decision {
	t.Helper()
	it, err := r.store.Approval(t.Context(), id)
	if err != nil || it == nil {
		t.Fatalf("%+v, %v", it, err)
	}
	d, err := approvals.Draft(it, approvals.Approve, "dev", "because", r.clock.Now(), queue.DefaultTimeout)
	if err == nil {
		err = approvals.Sign(it, &d, reviewerKey(1))
	}
	if err != nil {
		return approvals.Decision{Verdict: approvals.Approve, By: "dev"} // it has no canonical form
	}
	return d
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
// is not shown, not decided, and lets nothing pass; of every kind, in every state.
func TestEveryColumnAndMemberCounts(t *testing.T) {
	for name, s := range map[string]struct {
		file func(*rows, *testing.T, approvals.State) (id string, try func(t *testing.T, id string))
		with []string // members that the kind must have, so that none is left out
	}{
		"ask": {(*rows).asks, []string{"/action/args/command", "/scopes/fs_read/0", "/hooks/0/hook", "/reason"}},
		"lease": {(*rows).leaseByHook,
			[]string{"/details/capability", "/details/scope/paths/0", "/details/ttl_s", "/hooks/0/digest", "/reason"}},
		"lease by hand": {(*rows).leaseByHand,
			[]string{"/details/capability", "/details/holder/session", "/details/scope/paths/0", "/details/ttl_s", "/reason"}},
		"proposed hook": {(*rows).proposes,
			[]string{"/details/digest", "/details/binding/capabilities/0", "/details/binding/module", "/details/source/0/text",
				"/hooks/0/hook", "/reason"}},
	} {
		for _, state := range []approvals.State{approvals.Pending, approvals.Approved, approvals.Denied} {
			r := openRows(t)
			it, _ := s.file(r, t, state)
			cases := r.changes(t, it, state)
			for _, ptr := range s.with {
				if cases["member "+ptr] == nil {
					t.Fatalf("no member %s: %v", ptr, slices.Sorted(maps.Keys(cases)))
				}
			}
			if len(cases) < 40 {
				t.Fatalf("only %d cases: %v", len(cases), slices.Sorted(maps.Keys(cases)))
			}
			tries := map[string]func(t *testing.T, id string){}
			ids := map[string]string{}
			for change, f := range cases {
				ids[change], tries[change] = s.file(r, t, state)
				f(t, ids[change])
			}
			if unsound, err := r.UnsoundApprovals(t.Context()); err != nil || len(unsound) != len(cases) {
				t.Errorf("%d of %d are reported: %v", len(unsound), len(cases), err)
			}
			for change, try := range tries {
				t.Run(name+"/"+string(state)+"/"+change, func(t *testing.T) {
					r.unusable(t, ids[change])
					try(t, ids[change])
				})
			}
		}
	}
}

// asks files what a hook asks about; it passes by an action.
func (r *rows) asks(t *testing.T, s approvals.State) (string, func(*testing.T, string)) {
	inv := r.question()
	return r.file(t, inv, s), func(t *testing.T, id string) { r.stops(t, id, inv) }
}

// leaseByHook files a lease that a hook wants; it passes by asking for it again.
func (r *rows) leaseByHook(t *testing.T, s approvals.State) (string, func(*testing.T, string)) {
	r.n++
	inv := invocation(phases.PreSend)
	r.lease.say(
		fmt.Sprintf(`request {"reason":"why","capability":"tool:write","scope":{"paths":["/srv/%d/**"]},"ttl_s":60}`, r.n))
	defer r.lease.say()
	r.allowed(t, inv)
	var wait struct {
		Approval string `json:"approval"`
	}
	_, reply, _ := strings.Cut(r.lease.last(), " ")
	if json.Unmarshal([]byte(reply), &wait) != nil || wait.Approval == "" {
		t.Fatalf("it does not wait: %s", r.lease.last())
	}
	r.settle(t, wait.Approval, s)
	calls := fmt.Sprintf(`request {"reason":"why","capability":"tool:write","scope":{"paths":["/srv/%d/**"]},"ttl_s":60}`,
		r.n)
	return wait.Approval, func(t *testing.T, id string) {
		r.lease.say(calls)
		defer r.lease.say()
		_, _ = r.Invoke(t.Context(), inv)
		if got := r.lease.last(); strings.Contains(got, `"token"`) || strings.Contains(got, id) {
			t.Errorf("asked again: %s", got)
		}
		r.mintsNothing(t)
	}
}

// leaseByHand files a lease that a person wants; it passes by wanting it again.
func (r *rows) leaseByHand(t *testing.T, s approvals.State) (string, func(*testing.T, string)) {
	r.n++
	want := leases.Request{Capability: "tool:write",
		Scope: &leases.Scope{Paths: phases.Scope{fmt.Sprintf("/srv/%d/**", r.n)}}, TTLS: 60}
	ask := func() (string, error) {
		v, err := r.MintLease(t.Context(), want, ours, "dev")
		if v != nil {
			t.Errorf("minted: %+v", v)
		}
		var wait *kernel.LeasePending
		if errors.As(err, &wait) {
			return wait.Approval.ID, nil
		}
		return "", err
	}
	id, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	r.settle(t, id, s)
	return id, func(t *testing.T, id string) {
		if again, err := ask(); err == nil && again == id {
			t.Error("it is what is wanted")
		}
		r.mintsNothing(t)
	}
}

func (r *rows) mintsNothing(t *testing.T) {
	t.Helper()
	if list, err := r.Leases(t.Context(), leases.Query{}); err != nil || len(list) > 0 {
		t.Errorf("minted: %+v, %v", list, err)
	}
}

// proposes files a proposed hook; it passes by being used up, which binds it, or by the
// same proposal.
func (r *rows) proposes(t *testing.T, s approvals.State) (string, func(*testing.T, string)) {
	r.n++
	want := proposal(fmt.Sprint("guard-", r.n))
	it, err := r.RequestApproval(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	r.settle(t, it.ID, s)
	return it.ID, func(t *testing.T, id string) {
		if again, err := r.RequestApproval(t.Context(), want); err == nil && again.ID == id {
			t.Error("it is what is proposed")
		}
	}
}

// proposal is a proposed hook of its own digest as the host files it.
func proposal(name string) approvals.Item { return proposalOf(name, "the source") }

func proposalOf(name, source string) approvals.Item {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(name)))
	d := queue.ProposalDetails{Digest: digest, Source: []approvals.SourceFile{{Path: "hook.go", Text: source}},
		Binding: jsontext.Value(fmt.Sprintf(`{"name":%q,"module":%q,"phases":["pre_tool"],"capabilities":["block"]}`, name,
			digest))}
	it := approvals.Item{Kind: approvals.KindProposal,
		By:     approvals.Requester{Credential: "uid 1", Runtime: "custom", Session: "s-1", Agent: "coder"},
		Reason: "keeps deploys out", Hooks: []approvals.Asking{{Hook: name, Digest: digest}}}
	var err error
	if it.Key, err = d.Key(); err == nil {
		it.Details, err = json.Marshal(&d, json.Deterministic(true))
	}
	if err != nil {
		panic(err) // texts, and a binding that is JSON
	}
	return it
}

// changes are the ways to change the row of an item in a state, by one UPDATE each.
func (r *rows) changes(t *testing.T, it string, state approvals.State) map[string]func(t *testing.T, id string) {
	cases := map[string]func(t *testing.T, id string){}
	for _, c := range []string{"kind", "key", "state", "credential", "runtime", "session", "agent"} {
		cases["column "+c] = func(t *testing.T, id string) {
			r.exec(t, "UPDATE approvals SET "+c+" = "+c+" || 'x' WHERE id = ?", id)
		}
	}
	cases["column ends_ns"] = func(t *testing.T, id string) {
		r.exec(t, "UPDATE approvals SET ends_ns = ends_ns + 1 WHERE id = ?", id)
	}
	for _, to := range queue.States() {
		if to != state {
			cases["column and member state "+string(to)] = func(t *testing.T, id string) {
				r.setBody(t, id, with(r.body(t, id), "/state", string(to)).(map[string]any))
				r.exec(t, "UPDATE approvals SET state = ? WHERE id = ?", string(to), id)
			}
		}
	}
	for member, column := range map[string]string{"/kind": "kind", "/key": "key", "/by/credential": "credential",
		"/by/runtime": "runtime", "/by/session": "session", "/by/agent": "agent"} {
		cases["column and member "+column] = func(t *testing.T, id string) {
			r.setBody(t, id, with(r.body(t, id), member, "another").(map[string]any))
			r.exec(t, "UPDATE approvals SET "+column+" = 'another' WHERE id = ?", id)
		}
	}
	cases["column and member ends"] = func(t *testing.T, id string) {
		doc := r.body(t, id)
		at := map[approvals.State]string{approvals.Pending: "/expires", approvals.Approved: "/decision/until",
			approvals.Denied: "/closed"}[state]
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
				doc[name] = map[string]any{"decision": map[string]any{"verdict": "approved", "by": "dev", "content": "",
					"at": "2026-03-01T12:00:00Z", "until": "2036-03-01T12:00:00Z"},
					"closed": "2026-03-01T12:00:00Z", "notes": []string{"safe"}, "details": map[string]any{"x": 1}, "more": 1}[name]
			}
			r.setBody(t, id, doc)
		}
	}
	cases["no document"] = func(t *testing.T, id string) {
		r.exec(t, "UPDATE approvals SET body = CAST('{' AS BLOB) WHERE id = ?", id)
	}
	return cases
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
				r.exec(t, "UPDATE approvals SET state = 'approved', ends_ns = ? WHERE id = ?",
					r.clock.Now().Add(queue.DefaultTimeout).UnixNano(), id)
				r.useless(t, id, inv)
			}
			r.setBody(t, id, before)
			r.exec(t, "UPDATE approvals SET state = 'pending', ends_ns = ? WHERE id = ?",
				r.clock.Now().Add(queue.DefaultTimeout).UnixNano(), id)
			r.useless(t, id, inv)
		}
	})
}
