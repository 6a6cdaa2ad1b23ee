package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/retention"
	"github.com/belay-hooks/belay/phases"
)

// recordRetained makes one recording of stored events and their retained originals.
func (a *App) recordRetained(ctx context.Context, options recordOptions) error {
	options.filter.typ = string(phases.EventVerdict)
	query, err := options.filter.query(time.Now())
	if err != nil {
		return err
	}
	dir, err := a.retainedDir(options.recordings)
	if err != nil {
		return err
	}
	state, err := a.stateDir()
	if err != nil {
		return err
	}
	digests, err := retention.OpenDigests(state)
	if err != nil {
		return failureBy(err, "Without it belay cannot tell whether an original belongs to an event.")
	}
	src, err := a.lookAtRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	join := retention.NewJoiner(digests, func(ctx context.Context, invocation string) ([]phases.Event, error) {
		var out []phases.Event
		err := eachEvent(ctx, src, wire.Query{Invocation: invocation, Type: phases.EventHook}, func(e *phases.Event) error {
			out = append(out, *e)
			return nil
		})
		return out, err
	})
	err = eachEvent(ctx, src, query, func(e *phases.Event) error {
		join.Want(e)
		return nil
	})
	if err != nil {
		return recordsFailure(err)
	}
	if join.Wanted() == 0 {
		return failure("no event matches", "`belay events query` shows the events of the log.")
	}
	file, err := a.createRecording(options.out, options.seal, localHeader(recording.SourceKept))
	if err != nil {
		return err
	}
	reader := &retainedReader{app: a, identities: options.identities, join: join, out: file}
	if err := reader.readAll(ctx, dir); err != nil {
		file.abandon()
		return recordsFailure(err)
	}
	if file.Runs() == 0 {
		file.abandon()
		return reader.nothing()
	}
	reader.summary()
	if err := a.recorded(file, options.json); err != nil {
		return err
	}
	if reader.foreign > 0 {
		return exitWith(ExitDifferences)
	}
	return nil
}

// retainedDir returns the directory of retained originals: dir, else the one in belay.yaml.
func (a *App) retainedDir(dir string) (string, error) {
	if dir == "" {
		_, f, err := a.readConfigFile()
		if err != nil {
			return "", err
		}
		if f.Recordings == nil {
			return "", failure("belay.yaml keeps no full inputs",
				"--recordings DIR names a directory of recordings; `recordings:` in belay.yaml keeps them from now on; --from events makes a redacted recording.")
		}
		dir = f.Recordings.Dir
	}
	if fi, err := os.Stat(dir); err != nil {
		return "", failureBy(err, "")
	} else if !fi.IsDir() {
		return "", failure(safe(dir)+" is no directory", "")
	}
	return dir, nil
}

// retainedReader goes through a directory of recordings.
type retainedReader struct {
	app        *App
	identities []string
	join       *retention.Joiner
	out        *recordFile
	sealed     int // files that could not be opened
	foreign    int // originals that do not belong to their event
}

// readAll reads every file. A file that is being written may be renamed
// meanwhile: then it reads that one under its new name.
func (k *retainedReader) readAll(ctx context.Context, dir string) error {
	seen := map[string]bool{}
	for again := true; again; {
		again = false
		files, err := retention.Files(dir)
		if err != nil {
			return err
		}
		for _, path := range files {
			if seen[path] {
				continue
			}
			seen[path] = true
			err := k.read(ctx, path)
			if errors.Is(err, fs.ErrNotExist) {
				again = true
				continue
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// read takes the wanted invocations of one file, as far as it can be read. It
// reports damage without an error: each invocation is proven by itself.
func (k *retainedReader) read(ctx context.Context, path string) error {
	f, err := files.Stream(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rd, err := k.begin(f, path)
	if rd == nil || err != nil {
		return err
	}
	for n := 0; ; n++ {
		run, chain, err := rd.Next()
		var damage *recording.Error
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &damage):
			if !strings.HasSuffix(path, ".part") || !errors.Is(err, recording.ErrTruncated) {
				k.say("%s; %s before that place could be read", safe(err.Error()), plural(n, "invocation"))
			}
			return nil
		case err != nil:
			return err
		}
		if err := k.take(ctx, path, run, chain); err != nil {
			return err
		}
	}
}

// begin opens a file; nil when it holds nothing for us.
func (k *retainedReader) begin(f *files.File, path string) (*recording.Reader, error) {
	in, err := k.app.unseal(f, path, k.identities)
	var bad *recording.Error
	if err == nil {
		var rd *recording.Reader
		if rd, err = recording.NewReader(in, path); err == nil {
			h := rd.Header()
			switch {
			case h.Redacted:
				return nil, nil
			case h.CostTable != loader.CostTable:
				k.say("%s is passed over: its fuel was counted by cost table %d, and this belay counts by %d", safe(path),
					h.CostTable, loader.CostTable)
				return nil, nil
			}
			return rd, nil
		}
	}
	switch {
	case !errors.As(err, &bad):
		return nil, err
	case errors.Is(err, recording.ErrSealed):
		k.sealed++
	case errors.Is(err, recording.ErrTruncated) && retention.Unfinished(path): // not even its first piece is there
	default:
		k.say("%s", safe(bad.Error()))
	}
	return nil, nil
}

func (k *retainedReader) take(ctx context.Context, path string, run *recording.Run, chain *recording.Chain) error {
	seq, err := k.join.Take(ctx, run, chain)
	var other *retention.MismatchError
	switch {
	case errors.As(err, &other):
		k.foreign++
		k.say("%s: %s: left out", safe(filepath.Base(path)), safe(other.Error()))
		return nil
	case err != nil || seq == 0:
		return err
	}
	if run.Chain, err = k.out.AddChain(chain); err != nil {
		return err
	}
	return k.out.AddRun(run)
}

func (k *retainedReader) say(format string, args ...any) {
	fmt.Fprintf(k.app.Err, "belay: "+format+"\n", args...)
}

// summary says which events have an original and which have none.
func (k *retainedReader) summary() {
	if k.sealed > 0 {
		k.say("%s could not be opened with the identities that were given", plural(k.sealed, "recording"))
	}
	missing := k.join.Missing()
	all := k.join.Wanted()
	k.say("%d of %s: the kept original is proven by the event's digests", all-len(missing), plural(all, "event"))
	if len(missing) > 0 {
		k.say("no kept original: %s %s", plural(len(missing), "event")+":", numbers(missing))
	}
}

// nothing says why no event has an original.
func (k *retainedReader) nothing() error {
	text := "none of " + plural(k.join.Wanted(), "event") + " has a kept original"
	hint := "What is being written counts once its file is ended: `belay reload` ends it. --from events makes a redacted recording."
	if k.sealed > 0 {
		hint = fmt.Sprintf("%d recordings could not be opened: give the key's file with --identity FILE.", k.sealed)
	}
	return failure(text, hint)
}

// maxNumbers is how many ranges of events are listed.
const maxNumbers = 20

// numbers lists sorted numbers, neighbours as ranges.
func numbers(list []int64) string {
	var out []string
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		if len(out) == maxNumbers {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(list)-i)
		}
		if end == i {
			out = append(out, fmt.Sprint(list[i]))
		} else {
			out = append(out, fmt.Sprintf("%d to %d", list[i], list[end]))
		}
		i = end + 1
	}
	return strings.Join(out, ", ")
}
