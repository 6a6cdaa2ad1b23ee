package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/statedir"
)

// sealFlags say who can open a recording.
type sealFlags struct {
	recipients []string
	passphrase bool
	plaintext  bool
}

func (o *sealFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.recipients, "recipient", nil, "seal the recording for this age key (age1…, or a file of them)")
	f.BoolVar(&o.passphrase, "passphrase", false,
		"seal the recording with a passphrase: $BELAY_RECORDING_PASSPHRASE, or asked for on the terminal")
	f.BoolVar(&o.plaintext, "unsafe-plaintext", false,
		"UNSAFE: write originals, secrets included, that every reader of the file sees")
}

func (o *sealFlags) set() bool { return len(o.recipients) > 0 || o.passphrase || o.plaintext }

// beganAs begins the name of a recording that is not whole yet.
const beganAs = ".recording-"

// recordFile is a recording that is being written: under a name of its own until it is whole.
type recordFile struct {
	*recording.Writer
	dir   string // where it is
	shown string // what the person called that
	tmp   *os.File
	seal  io.WriteCloser // nil: plain
	dst   io.Writer
}

// createRecording begins a recording in a directory that is not the state directory.
func (a *App) createRecording(out string, o sealFlags, header recording.Header) (*recordFile, error) {
	place, err := a.recordingDir(out)
	if err != nil {
		return nil, err
	}
	to, err := a.recipients(o)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(place, 0o700); err != nil {
		return nil, failureBy(err, "")
	}
	file := &recordFile{dir: place, shown: out}
	if file.tmp, err = os.CreateTemp(place, beganAs+"*"); err != nil { // mode 0600
		return nil, failureBy(err, "")
	}
	file.dst = file.tmp
	if to != nil {
		if file.seal, err = recording.Seal(file.tmp, to); err != nil {
			file.abandon()
			return nil, failureBy(err, "")
		}
		file.dst = file.seal
	}
	if file.Writer, err = recording.NewWriter(file.dst, header); err != nil {
		file.abandon()
		return nil, failureBy(err, "")
	}
	return file, nil
}

// recipients returns the recipients of the recording, nil for plain text.
func (a *App) recipients(flags sealFlags) (recording.Recipients, error) {
	ways := 0
	for _, b := range []bool{len(flags.recipients) > 0, flags.passphrase, flags.plaintext} {
		if b {
			ways++
		}
	}
	if ways != 1 {
		return nil, usageError("a recording holds originals, secrets included: say who can open it",
			"Give one of --recipient age1…, --passphrase, or --unsafe-plaintext. `belay record keygen FILE` makes a key.")
	}
	switch {
	case flags.plaintext:
		fmt.Fprintln(a.Err, "belay: UNSAFE: the recording is not encrypted and holds originals")
		return nil, nil
	case flags.passphrase:
		p, err := a.recordingPassphrase(true)
		if err != nil {
			return nil, err
		}
		to, err := recording.PassphraseRecipients(p)
		if err != nil {
			return nil, failureBy(err, "")
		}
		return to, nil
	}
	var texts []string
	for _, r := range flags.recipients {
		if !strings.HasPrefix(r, "age1") {
			b, err := readLimited(r, maxIdentity)
			if err != nil {
				return nil, failureBy(err, "--recipient takes a key that begins with age1, or a file of such keys.")
			}
			r = string(b)
		}
		texts = append(texts, r)
	}
	to, err := recording.ParseRecipients(texts...)
	if err != nil {
		return nil, failureBy(err, "")
	}
	return to, nil
}

func (a *App) recordingPassphrase(fresh bool) (string, error) {
	if p := a.Getenv("BELAY_RECORDING_PASSPHRASE"); p != "" {
		return p, nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil || !term.IsTerminal(int(tty.Fd())) {
		return "", failure("there is no terminal to ask for the passphrase", "Set $BELAY_RECORDING_PASSPHRASE.")
	}
	defer tty.Close()
	first, err := askOn(tty, "Passphrase of the recording: ")
	if err != nil || !fresh {
		return string(first), err
	}
	second, err := askOn(tty, "The same again: ")
	switch {
	case err != nil:
		return "", err
	case string(first) != string(second):
		return "", failure("the two passphrases differ", "")
	case len(first) == 0:
		return "", failure("the passphrase is empty", "")
	}
	return string(first), nil
}

// finish makes the file whole and gives it its name, which is its digest's.
func (f *recordFile) finish() (string, error) {
	err := f.Close()
	if f.seal != nil {
		err = errors.Join(err, f.seal.Close())
	}
	if err == nil {
		err = f.tmp.Sync()
	}
	if err != nil {
		f.abandon()
		return "", failureBy(err, "The recording was not kept.")
	}
	name := "belay-" + strings.TrimPrefix(f.Digest(), "sha256:")[:16] + ".rec"
	if f.seal != nil {
		name += ".age"
	}
	err = errors.Join(f.tmp.Close(), os.Rename(f.tmp.Name(), filepath.Join(f.dir, name)), statedir.SyncDir(f.dir))
	if err != nil {
		_ = os.Remove(f.tmp.Name())
		return "", failureBy(err, "The recording was not kept.")
	}
	// Join would take `..` back by a name
	return strings.TrimRight(f.shown, string(filepath.Separator)) + string(filepath.Separator) + name, nil
}

// abandon removes the unfinished file.
func (f *recordFile) abandon() {
	_ = f.tmp.Close()
	_ = os.Remove(f.tmp.Name())
}

// localHeader is the header of what this process records.
func localHeader(source string) recording.Header {
	return recording.Header{Source: source, CostTable: loader.CostTable}
}

// recorded says where a recording went.
func (a *App) recorded(f *recordFile, asJSON bool) error {
	path, err := f.finish()
	if err != nil {
		return err
	}
	return a.tell(asJSON, map[string]any{"file": path, "invocations": f.Runs()}, a.Err, "belay: recorded %s in %s\n",
		plural(f.Runs(), "invocation"), safe(path))
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(int64(n)) + " " + one + "s"
}
