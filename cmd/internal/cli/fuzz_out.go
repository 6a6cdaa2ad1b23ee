package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/recording"
)

// fuzzOutputs begins the reports and checks that findings can be written, so
// that a campaign fails at once and not after a minute.
func (a *App) fuzzOutputs(options fuzzOptions) (*outputs, error) {
	if options.out != "" {
		if err := canWriteIn(options.out); err != nil {
			return nil, failureBy(fmt.Errorf("--out %s: %w", options.out, err),
				"Name a directory that is yours to write to; it is made when there are findings.")
		}
		for _, r := range options.reports { // beside the findings, also when there are none
			if sameFile(filepath.Dir(r), options.out) {
				if err := os.MkdirAll(options.out, 0o700); err != nil {
					return nil, failureBy(err, "")
				}
			}
		}
	}
	return reports(options.reports)
}

// canWriteIn reports why no file can be written in a directory, or in the one that it
// would be made in.
func canWriteIn(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		fi, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		if err != nil {
			return causeOf(err)
		}
		if !fi.IsDir() {
			return fmt.Errorf("%s is not a directory", at)
		}
		f, err := os.CreateTemp(at, ".belay-*")
		if err != nil {
			return causeOf(err)
		}
		_ = f.Close() // nothing was written
		return os.Remove(f.Name())
	}
}

// fuzzed writes and prints what came out.
func (a *App) fuzzed(o fuzzOptions, res *fuzz.Result, module []byte, to recording.Recipients, files *outputs) error {
	if o.out != "" {
		if err := writeFindings(files, o.out, res, module, to); err != nil {
			return err
		}
	}
	err := a.conclude(res, files, o.json, func() { a.printFuzz(o, res) }, res.Found() > 0)
	if err == nil && res.Stopped {
		return failure("fuzz was stopped before it was through",
			"Nothing was found until then, which says little. --time and --runs bound it.")
	}
	return err
}

// writeFindings puts the recordings among the files, and beside them the module that
// they need. Sealed ones get the name that says so.
func writeFindings(files *outputs, dir string, res *fuzz.Result, module []byte, to recording.Recipients) error {
	if len(res.Findings) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failureBy(err, "")
	}
	name := strings.ReplaceAll(res.Hook, "/", "-") + "-" + strings.TrimPrefix(res.Digest, "sha256:")[:12] + ".wasm"
	if err := files.put(filepath.Join(dir, name), 0o600, module); err != nil {
		return err
	}
	for i := range res.Findings {
		f := &res.Findings[i]
		if f.File == "" {
			continue
		}
		b := f.Recording
		if to != nil {
			var err error
			if b, err = sealed(b, to); err != nil {
				return failureBy(err, "")
			}
			f.File += ".age"
		}
		if err := files.put(filepath.Join(dir, f.File), 0o600, b); err != nil {
			return err
		}
	}
	return nil
}

func sealed(b []byte, to recording.Recipients) ([]byte, error) {
	var out bytes.Buffer
	w, err := recording.Seal(&out, to)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// fuzzSeal returns the recipients of sealed findings, nil for plain text.
// Generated inputs hold no secrets, recorded ones do.
func (a *App) fuzzSeal(o fuzzOptions) (recording.Recipients, error) {
	if o.out == "" {
		return nil, nil
	}
	if err := a.outsideState(o.out); err != nil {
		return nil, err
	}
	if len(o.recordings) == 0 && !o.seal.set() {
		return nil, nil
	}
	return a.recipients(o.seal)
}
