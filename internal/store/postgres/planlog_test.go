package postgres

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// bounded are the tables whose size is that of the organisation, and not of what it does. Every other one grows: a new
// table cannot be forgotten.
func bounded() []string {
	return []string{"kernels", "settings", "shared", "keys", versionsTable}
}

// whole are the statements that read all rows of a table on purpose: they compare all that restricts, or read all that
// is denied.
func whole() []string {
	return []string{allLatches, allApprovals, allLeases, allRuns, allValues, latchesInOrder, allDenials}
}

// planNode is a node of a plan, as the server writes it.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Filter   string     `json:"Filter"`
	Cond     string     `json:"Index Cond"`
	Plans    []planNode `json:"Plans"`
}

type loggedPlan struct {
	Query string   `json:"Query Text"`
	Plan  planNode `json:"Plan"`
}

// reads returns the tables that grow, of which a plan reads rows that it does not ask for: all of them, those of a
// whole index, or events to look at their numbers. limited: it stops when it has enough of them.
func (n *planNode) reads(limited bool) (out []string) {
	byNumber := strings.HasPrefix(n.Relation, "events_") &&
		(strings.Contains(n.Filter, "(seq ") || strings.Contains(n.Filter, "(id = "))
	byIndex := (n.Type == "Index Scan" || n.Type == "Index Only Scan") && n.Cond == "" && (!limited || n.Filter != "")
	if (n.Type == "Seq Scan" || byNumber || byIndex) && !slices.Contains(bounded(), n.Relation) &&
		!strings.HasPrefix(n.Relation, "pg_") {
		out = append(out, n.Relation)
	}
	limited = limited && n.Type != "Sort" && n.Type != "Aggregate" || n.Type == "Limit"
	for i := range n.Plans {
		out = append(out, n.Plans[i].reads(limited)...)
	}
	return out
}

// plansOf calls f with the plan of each statement that a belay has run, from a log of the server: a line for each, and
// its plan on lines that begin with a tab.
func plansOf(t *testing.T, log io.Reader, f func(*loggedPlan)) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	var text strings.Builder
	end := func() {
		if text.Len() == 0 {
			return
		}
		var p loggedPlan
		if err := json.Unmarshal([]byte(text.String()), &p); err != nil {
			t.Errorf("a plan: %v\n%.500s", err, text.String())
		}
		f(&p)
		text.Reset()
	}
	ours := false
	for lines.Scan() {
		line := lines.Text()
		if more, ok := strings.CutPrefix(line, "\t"); ok {
			if ours {
				text.WriteString(more + "\n")
			}
			continue
		}
		end()
		ours = strings.HasPrefix(line, "belay ") && strings.HasSuffix(line, " plan:")
	}
	end()
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// No statement that any test has run, from a program or inside of a function of the schema, reads a table that grows
// from the first row to the last. The server has written each plan into its log; see scripts/test-postgres.
func TestPlansInTheLog(t *testing.T) {
	path := os.Getenv("BELAY_TEST_POSTGRES_LOG")
	if path == "" {
		t.Skip("it looks at the log of a server after all other tests: run `make test-postgres`")
	}
	log, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	seen := map[string]bool{}
	plansOf(t, log, func(p *loggedPlan) {
		if strings.HasPrefix(p.Query, "EXPLAIN ") {
			return // another test has asked for a plan
		}
		found := p.Plan.reads(false)
		if len(found) > 0 && !slices.Contains(whole(), p.Query) && !seen[p.Query] {
			t.Errorf("reads all of %v: %s", found, p.Query)
		}
		seen[p.Query] = true
	})
	for _, sql := range []string{leavesOfKernel, changesAfter, vouching, eventsUp, allLeases} {
		if !seen[sql] {
			t.Errorf("the log has no plan of %s", sql)
		}
	}
	t.Logf("%d different statements", len(seen))
}

// What reads a whole table is noticed in a log, and what others have run is left out.
func TestPlansAreRead(t *testing.T) {
	const plan = " LOG:  duration: 0.1 ms  plan:\n\t{\n\t  \"Query Text\": \"Q\",\n\t  \"Plan\": {\"Node Type\": \"Limit\", " +
		"\"Plans\": [{\"Node Type\": \"TYPE\", \"Relation Name\": \"TABLE\", \"Filter\": \"FILTER\"}]}\n\t}\n"
	for _, c := range []struct {
		line, node, table, filter string
		want                      int
	}{
		{"belay k|", "Seq Scan", "leases", "", 1}, {"belay k|", "Index Only Scan", "leases", "", 0},
		{"belay k|", "Index Scan", "events_1_0", "(seq > 7)", 1}, {"belay k|", "Index Scan", "events_1_0", "(id = 'x')", 1},
		{"belay k|", "Seq Scan", "kernels", "", 0}, {"psql|", "Seq Scan", "leases", "", 0},
		{"belay k|", "Seq Scan", "a_new_table", "", 1}, {"belay k|", "Index Scan", "leases", "(state = 'x')", 1},
	} {
		text := strings.NewReplacer(
			"TYPE",
			c.node,
			"TABLE",
			c.table,
			"FILTER",
			c.filter,
		).Replace(
			c.line + plan + "belay k| LOG: x\n",
		)
		got := 0
		plansOf(t, strings.NewReader(text), func(p *loggedPlan) { got += len(p.Plan.reads(false)) })
		if got != c.want {
			t.Errorf("%s: %d, want %d", text, got, c.want)
		}
	}
}
