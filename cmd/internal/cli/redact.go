package cli

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/gitleaks"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/redaction"
)

// maxRedactInput is the size of the largest text, or line of JSON, that is
// read.
const maxRedactInput = redact.MaxText

type redactFlags struct {
	json, report, check bool
	masks, removals     []string
	strict              bool
	gitleaks            string
}

func (a *App) redactCmd() *cobra.Command {
	var flags redactFlags
	cmd := &cobra.Command{
		Use:   "redact",
		Short: "Cover the secrets in a text or in lines of JSON",
		Long: `redact reads standard input and prints it with every secret covered, by the detector
that covers events. A placeholder such as [redacted:github-token:3f9a52c1] says what
was there, and is the same for the same secret.

Without --state, a key made for this call makes the placeholders. With --state, that
directory's key, masks, patterns and profile are used, so that they agree with its events.

  kubectl logs pod | belay redact
  belay redact --json < invocations.jsonl      one JSON document a line, covered value by value
  belay redact --report < notes.txt            what was found and where, never the secret
  belay redact --check < notes.txt             print nothing; exit 5 when there is a secret
  belay redact --gitleaks rules.toml < log     also what these rules of gitleaks find

With --json, a line that cannot be decoded ends the command with exit 1, and nothing of it
is printed.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.redact(flags) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&flags.json, "json", false, "the input is one JSON document a line; with --report, print JSON")
	fl.BoolVar(&flags.report, "report", false, "print kinds and places instead of the text")
	fl.BoolVar(&flags.check, "check", false, "print nothing; exit 5 when there is a secret")
	fl.StringArrayVar(&flags.masks, "mask", nil,
		"also cover what this JSON Pointer names (* for any element); not with --state")
	fl.StringArrayVar(&flags.removals, "remove", nil,
		"take out what this JSON Pointer names (an element becomes null); not with --state")
	fl.BoolVar(&flags.strict, "strict", false, "hash every string of the documents; not with --state")
	fl.StringVar(&flags.gitleaks, "gitleaks", "",
		"also cover what the rules in this file of gitleaks (TOML) find; not with --state")
	return cmd
}

func (a *App) redact(flags redactFlags) error {
	if a.state != "" && (flags.strict || flags.gitleaks != "" || len(flags.masks)+len(flags.removals) > 0) {
		return usageError("--mask, --remove, --gitleaks and --strict come from belay.yaml with --state",
			"Leave them away, or leave --state away.")
	}
	if flags.report && flags.check {
		return usageError("--report and --check exclude each other", "")
	}
	r, err := a.redactor(flags)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(a.Out)
	found, err := filter{r: r, f: flags, w: w}.run(a.In)
	if flushErr := w.Flush(); err == nil && flushErr != nil {
		err = failureBy(flushErr, "")
	}
	if err == nil && flags.check && found > 0 {
		return exitWith(ExitDifferences)
	}
	return err
}

func (a *App) redactor(flags redactFlags) (*redact.Redactor, error) {
	if a.state != "" {
		dir, err := a.stateDir()
		if err != nil {
			return nil, err
		}
		r, err := redaction.Of(dir)
		if err != nil {
			return nil, failureBy(err, "`belay init` sets up a state directory; without --state none is needed.")
		}
		return r, nil
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails: the runtime ends the process instead
	config := redact.Config{Key: key, Masks: flags.masks, Removals: flags.removals}
	if flags.strict {
		config.Profile = redact.Strict
	}
	if flags.gitleaks != "" {
		raw, err := readLimited(flags.gitleaks, gitleaks.MaxBytes)
		if err != nil {
			return nil, failureBy(err, "")
		}
		if config.Patterns, err = gitleaks.Parse(raw); err != nil {
			return nil, failure(safe(err.Error()), "Nothing was read from standard input.")
		}
	}
	r, err := redact.New(config)
	if err != nil {
		return nil, usageError(safe(err.Error()), "")
	}
	return r, nil
}

// filter runs one input through a redactor.
type filter struct {
	r *redact.Redactor
	f redactFlags
	w *bufio.Writer
}

func (f filter) run(in io.Reader) (int, error) {
	if f.f.json {
		return f.lines(in)
	}
	// The whole text at once: a private key or a wrapped token has several lines.
	raw, err := io.ReadAll(io.LimitReader(in, maxRedactInput+1))
	if err != nil {
		return 0, failureBy(err, "")
	}
	if len(raw) > maxRedactInput {
		return 0, failure(fmt.Sprintf("the text is longer than %d MiB", maxRedactInput>>20),
			"Split it at empty lines; nothing was printed.")
	}
	if !utf8.Valid(raw) {
		return 0, failure("the text is not UTF-8", "Nothing was printed.")
	}
	out, places := f.r.Text(string(raw))
	switch {
	case f.f.check:
	case f.f.report:
		for _, p := range places {
			line := 1 + bytes.Count(raw[:p.Start], []byte("\n"))
			column := p.Start - bytes.LastIndexByte(raw[:p.Start], '\n')
			fmt.Fprintf(f.w, "%d:%d: %s, %d bytes\n", line, column, p.Kind, p.End-p.Start)
		}
	default:
		_, _ = f.w.WriteString(out) // Flush says it
	}
	return len(places), nil
}

// redactReport is one line of --json --report.
type redactReport struct {
	Line   int      `json:"line"`
	Masked []string `json:"masked"` // JSON Pointers of the redacted values
}

func (f filter) lines(in io.Reader) (int, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxRedactInput)
	found := 0
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		out, masked, err := f.r.JSON(slices.Clone(jsontext.Value(line)))
		if err != nil {
			return found,
				failure(fmt.Sprintf("line %d: %s", n, err), "It was not printed. Text that is not JSON is covered without --json.")
		}
		found += len(masked)
		switch {
		case f.f.check:
		case f.f.report:
			if len(masked) == 0 {
				continue
			}
			b, err := encodeJSON(redactReport{n, masked}, false)
			if err != nil {
				return found, err
			}
			_, _ = f.w.Write(append(b, '\n')) // Flush says it
		default:
			_, _ = f.w.Write(append(out, '\n'))
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return found, failure(fmt.Sprintf("a line is longer than %d MiB", maxRedactInput>>20), "It was not printed.")
	} else if err != nil {
		return found, failureBy(err, "")
	}
	return found, nil
}
