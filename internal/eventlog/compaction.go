package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// compactionOrigin is the first line of a statement.
const compactionOrigin = "belay event log compaction v1"

// ErrNothing: there is nothing to compact.
var ErrNothing = errors.New("there is nothing to compact")

// Statement says that the contents of the first Size events of a log were
// compacted, when their root was Root. Making one takes the key.
type Statement struct {
	Checkpoint
	By, Why string   // one line each
	Carried *Carried // what restricts; nil in statements from before it was recorded
}

// sign returns the statement as a signed note: the lines of a checkpoint, then who and
// why, and what restricts.
func (k *Key) sign(s Statement) ([]byte, error) {
	text := fmt.Sprintf("%s\n%d\n%s\ntime %s\nby %s\nwhy %s\n", compactionOrigin, s.Size, s.Root,
		s.Time.UTC().Format(time.RFC3339), line(s.By), line(s.Why))
	if s.Carried != nil {
		carried, err := s.Carried.line()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
		}
		text += carried + "\n"
	}
	signed, err := note.Sign(&note.Note{Text: text}, k.signer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return signed, nil
}

func line(s string) string { return phases.SafeLine(s, phases.MaxIDBytes) }

// OpenStatement checks the signature of a statement. The error is ErrCheckpoint.
func OpenStatement(signed []byte, verifier string) (Statement, error) {
	lines, err := open(signed, verifier, compactionOrigin, 6, 7)
	if err != nil {
		return Statement{}, err
	}
	by, ok := strings.CutPrefix(lines[4], "by ")
	why, ok2 := strings.CutPrefix(lines[5], "why ")
	if !ok || !ok2 {
		return Statement{}, fmt.Errorf("%w: not a statement of a compaction", ErrCheckpoint)
	}
	c, err := parseCheckpoint(lines)
	s := Statement{Checkpoint: c, By: by, Why: why}
	if err == nil && len(lines) == 7 {
		if s.Carried, err = parseCarried(lines[6]); err != nil {
			return Statement{}, fmt.Errorf("%w: %w", ErrCheckpoint, err)
		}
	}
	return s, err
}

// Announce makes the statement that the contents of events 1 to through are compacted.
// It does not look at the events. Verify the log first: an earlier change can never be
// found afterwards. The error is ErrNothing or ErrLog.
func Announce(ctx context.Context, log kernel.Log, key *Key, through int64, by, why string,
	now time.Time) ([]byte, error) {
	size, err := log.LogSize(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	done, err := log.LogCompacted(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	if through <= done.Through || through > size {
		return nil, fmt.Errorf("%w: %d of %d events are compacted", ErrNothing, done.Through, size)
	}
	root, err := tlog.TreeHash(through, hashes(ctx, log))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	carried, err := carriedOf(ctx, log)
	if err != nil {
		return nil, err
	}
	return key.sign(Statement{Checkpoint: Checkpoint{Size: through, Root: root, Time: now}, By: by, Why: why,
		Carried: carried})
}

// Remove removes announced contents that are still there, a few events in each
// transaction, so that no writer waits long; the next call finishes an
// interrupted one. It does so only if the announcement is in the log and
// signed. The error is ErrCheckpoint or ErrLog.
func Remove(ctx context.Context, log kernel.Log, verifier string) (removed int64, err error) {
	const step = 500
	done, err := log.LogCompacted(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLog, err)
	}
	if done.Left == 0 {
		return 0, nil
	}
	leaves, err := log.LogLeaves(ctx, done.Event-1, 1)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLog, err)
	}
	if len(leaves) == 0 || leaves[0].Seq != done.Event {
		return 0, fmt.Errorf("%w: the event %d that announces a compaction is missing", ErrCheckpoint, done.Event)
	}
	s, err := announced(leaves[0].Body, verifier)
	if err != nil {
		return 0, err
	}
	root, err := tlog.TreeHash(s.Size, hashes(ctx, log))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLog, err)
	}
	if s.Size != done.Through || s.Root != root {
		return 0, fmt.Errorf("%w: event %d announces another compaction", ErrCheckpoint, done.Event)
	}
	for left := done.Left; left > 0; {
		if err := ctx.Err(); err != nil {
			return removed, fmt.Errorf("%w: %w", ErrLog, err)
		}
		now, err := log.LogRemove(ctx, step)
		if err != nil {
			return removed, fmt.Errorf("%w: %w", ErrLog, err)
		}
		removed, left = removed+max(0, left-now), now
	}
	return removed, nil
}

// announced returns the statement in an event of a compaction.
func announced(body []byte, verifier string) (Statement, error) {
	var e phases.Event
	var c kernel.Compaction
	err := json.Unmarshal(body, &e)
	if err == nil && e.Type != phases.EventCompaction {
		err = errors.New("it is another event")
	}
	if err == nil {
		err = json.Unmarshal(e.Output, &c, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return Statement{}, fmt.Errorf("%w: the event does not announce a compaction: %w", ErrCheckpoint, err)
	}
	s, err := OpenStatement([]byte(c.Statement), verifier)
	if err == nil &&
		(s.Size != c.Through || s.Size < 1 || s.Size >= e.Seq || s.Carried != nil &&
			(s.Carried.Seq < s.Size || s.Carried.Seq >= e.Seq)) {
		err = fmt.Errorf("%w: the statement is about other events", ErrCheckpoint)
	}
	return s, err
}

// Superfluous returns the checkpoints among notes, oldest first, that can be
// dropped: all but the newest keep and the last of each day. A note that does
// not verify stays, for an operator to look at.
func Superfluous(notes [][]byte, verifier string, keep int) [][]byte {
	var out [][]byte
	days := map[string]bool{}
	for i, n := range slices.Backward(notes) {
		c, err := Open(n, verifier)
		if err != nil {
			continue
		}
		day := c.Time.UTC().Format(time.DateOnly)
		if days[day] && i < len(notes)-keep {
			out = append(out, n)
		}
		days[day] = true
	}
	return out
}

// parseCheckpoint reads size, root and time from the second to the fourth line.
func parseCheckpoint(lines []string) (c Checkpoint, err error) {
	bad := func(what string) (Checkpoint, error) { return Checkpoint{}, fmt.Errorf("%w: %s", ErrCheckpoint, what) }
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Size < 0 ||
		strconv.FormatInt(c.Size, 10) != lines[1] {
		return bad("no size")
	}
	if c.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return bad(err.Error())
	}
	at, ok := strings.CutPrefix(lines[3], "time ")
	if c.Time, err = time.Parse(time.RFC3339, at); err != nil || !ok {
		return bad("no time")
	}
	return c, nil
}

// open returns the lines of a note that begins with origin and that the key signed. It has
// one of the numbers of lines.
func open(signed []byte, verifier, origin string, want ...int) ([]string, error) {
	v, err := note.NewVerifier(verifier)
	if err != nil {
		return nil, fmt.Errorf("%w: verifier key: %w", ErrCheckpoint, err)
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	lines := strings.Split(strings.TrimSuffix(n.Text, "\n"), "\n")
	if !slices.Contains(want, len(lines)) || lines[0] != origin {
		return nil, fmt.Errorf("%w: it begins with another line than %q, or has other lines", ErrCheckpoint, origin)
	}
	return lines, nil
}
