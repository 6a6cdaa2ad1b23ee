package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/belay-hooks/belay/kernel/approvals"
)

// tamper acts as an agent with a shell and a database tool: `tamper ID STATE`
// sets the state of an approval past belay, with a plausible decision. `tamper
// ID STATE keep` leaves the present decision, `tamper ID edit keep` changes the
// item's subject.
func tamper() {
	id, state := os.Args[1], os.Args[2]
	if state == "undo" { // the row as it was before
		untamper(id)
		return
	}
	c, err := sqlite3.Open("file:" + filepath.Join(os.Getenv("BELAY_HOME"), "belay.db"))
	must(err)
	defer c.Close()
	must(c.BusyTimeout(5 * time.Second))
	st, _, err := c.Prepare("SELECT body FROM approvals WHERE id = ?")
	must(err)
	must(st.BindText(1, id))
	if !st.Step() {
		must(fmt.Errorf("no approval %s", id))
	}
	var it approvals.Item
	must(json.Unmarshal(st.ColumnBlob(0, nil), &it))
	must(st.Close())
	saveRow(c, id)
	if state == "edit" { // another action under the same approval
		it.Action = []byte(strings.ReplaceAll(string(it.Action), "main", "evil"))
		state = string(it.State)
	}
	it.State = approvals.State(state)
	if len(os.Args) < 4 {
		d, err := approvals.Draft(&it, approvals.Approve, "dev", "", time.Now(), time.Hour)
		must(err)
		d.Key, d.Signature = "AAAA", make([]byte, 64)
		it.Decision = &d
	}
	ends := it.Expires
	switch it.State {
	case approvals.Pending: // as it was
		it.Decision = nil
	case approvals.Approved:
		it.Closed, ends = time.Time{}, it.Decision.Until
	default:
		ends = it.Closed
	}
	body, err := json.Marshal(&it)
	must(err)
	st, _, err = c.Prepare("UPDATE approvals SET state = ?, ends_ns = ?, body = ? WHERE id = ?")
	must(err)
	must(st.BindText(1, state))
	must(st.BindInt64(2, ends.UnixNano()))
	must(st.BindBlob(3, body))
	must(st.BindText(4, id))
	must(st.Exec())
	must(st.Close())
}

// before is the file with the row of an approval as belay wrote it.
func before(id string) string { return "before-" + id }

func saveRow(c *sqlite3.Conn, id string) {
	st, _, err := c.Prepare(
		"SELECT state || char(10) || ends_ns || char(10) || CAST(body AS TEXT) FROM approvals WHERE id = ?")
	must(err)
	must(st.BindText(1, id))
	st.Step()
	must(os.WriteFile(before(id), st.ColumnBlob(0, nil), 0o600))
	must(st.Close())
}

func untamper(id string) {
	row, err := os.ReadFile(before(id))
	must(err)
	parts := strings.SplitN(string(row), "\n", 3)
	ends, err := strconv.ParseInt(parts[1], 10, 64)
	must(err)
	c, err := sqlite3.Open("file:" + filepath.Join(os.Getenv("BELAY_HOME"), "belay.db"))
	must(err)
	defer c.Close()
	must(c.BusyTimeout(5 * time.Second))
	st, _, err := c.Prepare("UPDATE approvals SET state = ?, ends_ns = ?, body = CAST(? AS BLOB) WHERE id = ?")
	must(err)
	must(errors.Join(st.BindText(1, parts[0]), st.BindInt64(2, ends), st.BindText(3, parts[2]), st.BindText(4, id)))
	must(st.Exec())
	must(st.Close())
}

// daemonHTTP is what an agent with a shell says to the socket:
// `daemon-http METHOD PATH [BODY-FILE [TOKEN-FILE]]`.
func daemonHTTP() {
	var body io.Reader
	if len(os.Args) > 3 && os.Args[3] != "-" {
		b, err := os.ReadFile(os.Args[3])
		must(err)
		body = strings.NewReader(string(b))
	}
	req, err := http.NewRequest(os.Args[1], "http://belay"+os.Args[2], body)
	must(err)
	req.Header.Set("Content-Type", "application/json")
	if len(os.Args) > 4 {
		token, err := os.ReadFile(os.Args[4])
		must(err)
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	hc := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(os.Getenv("BELAY_HOME"), "belay.sock"))
	}}}
	resp, err := hc.Do(req)
	must(err)
	b, err := io.ReadAll(resp.Body)
	must(errors.Join(err, resp.Body.Close()))
	fmt.Printf("%d %s\n", resp.StatusCode, b)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// What docs/APPROVALS.md recommends is what the script runs, to the letter.
func TestRecommendedGuardIsTheTestedOne(t *testing.T) {
	script, err := os.ReadFile("testdata/script/approvals_guard.txtar")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/APPROVALS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, config, _ := strings.Cut(string(script), "-- belay.yaml --\n")
	config, _, found := strings.Cut(config, "-- refused.jsonl --")
	if !found || !strings.Contains(string(page), "```yaml\n"+config+"```") {
		t.Error("the configuration in docs/APPROVALS.md and the one that is tested differ")
	}
}
