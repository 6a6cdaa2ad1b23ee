package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

const soakLeast, soakMost = 200, 200_000 // bytes of an action

// soakActions are what is asked about, in turn. %s is the quoted text that brings an action to its size.
var soakActions = []struct {
	phase  phases.Phase
	action string
	want   phases.Decision
}{
	{phases.PrePlan, `{"kind":"message","text":%s}`, phases.Allow},
	{phases.PreSend, `{"provider":"p","model":"m","messages":[{"role":"user","content":%s}],"params":{}}`, phases.Allow},
	{phases.PostReceive, `{"kind":"final","text":%s}`, phases.Allow},
	{phases.PreTool, `{"tool":"exec","args":{"command":"go test ./leases | tail","description":%s}}`, phases.Allow},
	{phases.PreTool, `{"tool":"write","args":{"file_path":"/home/dev/acme/notes.txt","content":%s}}`, phases.Allow},
	{phases.PreTool, `{"tool":"exec","args":{"command":"cd /tmp; rm -rf /","description":%s}}`, phases.Block},
	{phases.PostTool, `{"tool":"exec","args":{"command":"make test"},"result":%s}`, phases.Allow},
	{phases.StateTransition, `{"machine":"stage","from":"plan","to":"act","data":{"plan":%s}}`, phases.Allow},
	{phases.Spawn, `{"child":{"agent":"helper","prompt":%s},"depth":1}`, phases.Allow},
	{phases.Audit, `{"kind":"notification","data":{"text":%s}}`, phases.Allow},
}

// events are one caller's, the same in each run.
type events struct {
	random  *rand.Rand
	text    string // of which each event has a part
	session string
	n       int
}

func newEvents(caller uint64, text string) *events {
	return &events{random: rand.New(rand.NewPCG(16, caller)), text: text, session: fmt.Sprintf("s-%d", caller),
		n: int(caller)}
}

// next returns an event and what the hooks decide about it. Sizes of every order between least and most are as
// frequent as each other.
func (e *events) next() (phases.Invocation, phases.Decision) {
	a := soakActions[e.n%len(soakActions)]
	e.n++
	size := max(int(soakLeast*math.Pow(float64(soakMost)/soakLeast, e.random.Float64()))-len(a.action), 0)
	from := e.random.IntN(len(e.text) - size)
	quoted, err := jsontext.AppendQuote(nil, e.text[from:from+size])
	if err != nil {
		panic(err) // prose is UTF-8
	}
	return phases.Invocation{Phase: a.phase, Runtime: "custom", CWD: "/home/dev/acme", Session: e.session,
		Run: fmt.Sprintf("r-%d", e.n/40), Action: jsontext.Value(fmt.Sprintf(a.action, quoted))}, a.want
}

// proseWords are what the output of builds and tests, and what people write of it, is made of.
var proseWords = strings.Fields(`the queue of each worker holds requests that wait for a lease and returns ok when it
	ends building package service with checks run test passed failed in seconds warning unused variable declared at line
	func return error context cancelled while reading from connection closed by peer retry after backoff limit reached
	index table column row update select from where order by created migration applied version schema`)

// prose is n bytes of lines that look like the output of tools: words and numbers.
func prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		if r.IntN(6) == 0 {
			fmt.Fprintf(&b, "%d", r.IntN(100_000))
		} else {
			b.WriteString(proseWords[r.IntN(len(proseWords))])
		}
		b.WriteString([]string{" ", " ", " ", " ", " ", " ", ": ", "\n"}[r.IntN(8)])
	}
	return b.String()[:n]
}
