package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// A person's verbs (approvals.Verb) take an order that a reviewer signs, where one is
// registered: at a terminal the verb itself asks for the passphrase, for automation a
// file brings what `belay reviewer sign` wrote.

// terminalOrderLife is how long an order lasts that is made and used by one command.
const terminalOrderLife = 2 * time.Minute

// orderFlags say where the reviewer's signature comes from.
type orderFlags struct {
	statement, as, key string
}

func (o *orderFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&o.statement, "statement", "",
		"`FILE` that belay reviewer sign wrote for exactly this; no passphrase is asked")
	o.who(f)
}

func (o *orderFlags) who(f *pflag.FlagSet) {
	f.StringVar(&o.as, "as", "", "name of the reviewer who signs (default: the one whose key is here)")
	f.StringVar(&o.key, "key", "", "file of the reviewer's key (default keys/NAME.reviewer.key in the state directory)")
}

// examineVerbs says whether a person's verbs take a key that agents do not hold.
func examineVerbs(f *config.File) finding {
	verbs := "latch clear, events compact, record and recover"
	if len(f.Reviewers) > 0 {
		return finding{Check: "person's verbs", Status: "ok", Text: verbs + " take the key of a reviewer"}
	}
	return finding{Check: "person's verbs", Status: "warn", Red: true,
		Text:   "unprotected: an agent of this user can do what only a person should: " + verbs,
		Advice: "A person makes a key with `belay reviewer init`; then they take its signature."}
}

// wish is what an order is to say, and how it is shown to the person who signs it.
type wish struct {
	verb  approvals.Verb
	store string
	args  any
	text  string
}

// order returns the order for a verb, or nil where none is needed. It calls
// what only if a reviewer has to sign.
func (a *App) order(flags orderFlags, what func() (wish, error)) (*approvals.Order, error) {
	if flags.statement != "" {
		return a.readOrder(flags.statement)
	}
	if on, err := a.onMachine(); err != nil {
		return nil, err
	} else if on {
		return a.orderOfUser(flags, what)
	}
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	src, err := config.ReadFile(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // without a configuration there is no reviewer
	case err != nil:
		return nil, failureBy(err, "")
	}
	f, err := config.Parse(src)
	switch {
	case err != nil && config.MayRegister(src):
		return nil, failureBy(err, "It may register a reviewer: mend it first.")
	case err != nil || len(f.Reviewers) == 0:
		return nil, nil
	}
	w, err := what()
	if err != nil {
		return nil, err
	}
	return a.signOrder(dir, f, w, flags, terminalOrderLife)
}

// orderOfUser is order for a user of a machine in system mode. Only latches are cleared there by a reviewer's word. The
// daemon says who may do the rest.
func (a *App) orderOfUser(flags orderFlags, what func() (wish, error)) (*approvals.Order, error) {
	w, err := what()
	if err != nil || w.verb != queue.VerbLatchClear {
		return nil, err
	}
	dir, f, err := a.deciders()
	if err != nil {
		return nil, err
	}
	return a.signOrder(dir, f, w, flags, terminalOrderLife)
}

// readOrder reads a signed order from a file.
func (a *App) readOrder(file string) (*approvals.Order, error) {
	const hint = "`belay reviewer sign` writes one."
	src, err := readLimited(file, queue.MaxOrder)
	if err != nil {
		return nil, failureBy(err, hint)
	}
	o, err := queue.DecodeOrder(src)
	if err != nil {
		return nil, failureBy(err, hint)
	}
	if len(o.Signature) == 0 {
		return nil, failure(safe(file)+" is a draft that no reviewer has signed",
			"`belay reviewer sign draft FILE` signs it.")
	}
	return &o, nil
}

// signOrder shows the order and signs it with the reviewer's passphrase.
func (a *App) signOrder(dir string, f *config.File, w wish, o orderFlags,
	life time.Duration) (*approvals.Order, error) {
	if w.verb != queue.VerbRecover {
		if err := a.believable(); err != nil {
			return nil, err
		}
	}
	order, err := queue.NewOrder(w.verb, w.store, w.args, leases.At(leases.SystemClock{}), life)
	if err != nil {
		return nil, failureBy(err, "")
	}
	a.describeOrder(&order, w.text)
	name, key, err := a.reviewerKey(dir, f, o.as, o.key)
	if err != nil {
		return nil, err
	}
	if err := queue.SignOrder(&order, name, key); err != nil {
		return nil, failureBy(err, "Nothing was signed.")
	}
	return &order, nil
}

// describeOrder prints everything that the signature is for.
func (a *App) describeOrder(o *approvals.Order, text string) {
	if text != "" {
		fmt.Fprintln(a.Err, safe(text))
	}
	fmt.Fprintf(a.Err, "to sign:  belay %s\nfor:      state directory %s\nwith:     %s\nuntil:    %s\n", o.Verb,
		safe(o.Store), safe(string(o.Args)), o.Expires.Local().Format(time.DateTime))
}
