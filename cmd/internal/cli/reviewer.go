package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/signing"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/tiers"
)

// minPassphrase is the least length of a reviewer's passphrase, in characters: the
// file can be read, and tried, by every process of the user.
const minPassphrase = 12

func (a *App) reviewerCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reviewer",
		Short: "Keys that sign decisions about approvals",
		Long: `A reviewer's key signs what a person decides about asks, proposed hooks and leases. belay
asks for its passphrase on the terminal each time and nowhere else. So an agent that runs as the
same user cannot decide in the person's place.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.reviewerInitCmd(), a.reviewerListCmd(), a.reviewerSignCmd())
	return cmd
}

func (a *App) reviewerInitCmd() *cobra.Command {
	var out string
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "init [NAME]",
		Short: "Make a reviewer's key and register it",
		Long: `init makes an Ed25519 key, encrypted with a passphrase that it asks for twice on the
terminal, and registers the public half in belay.yaml. Decisions count only with its
signature from then on. A second reviewer is not registered by this command: it
prints the entry, and a person who may change belay.yaml puts it there.

On a machine in system mode the key is written to ~/.config/belay of the reviewer. Root registers
it: init prints what root adds to /etc/belay/belay.yaml and /etc/belay/system.yaml.`,
		Example: `  belay reviewer init
  belay reviewer init anna --out /media/stick/anna.key`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("reviewer init takes one name", "")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "reviewer"
			if len(args) == 1 {
				name = args[0]
			}
			return a.reviewerInit(cmd.Context(), name, out, *asJSON)
		},
	}
	asJSON = jsonFlag(cmd)
	cmd.Flags().StringVar(&out, "out", "",
		"file for the private key (default keys/NAME.reviewer.key in the state directory; in system mode in ~/.config/belay)")
	return cmd
}

func (a *App) reviewerInit(ctx context.Context, name, out string, asJSON bool) error {
	machine, err := a.onMachine()
	if err != nil {
		return err
	}
	read := a.readConfigFile
	if machine {
		read = a.organisationFile
	}
	dir, f, err := read()
	if err != nil {
		return err
	}
	for _, r := range f.Reviewers {
		if r.Name == name {
			return failure("there is a reviewer "+safe(name)+" already", "`belay reviewer list` shows them. Give another name.")
		}
	}
	if _, err := config.AddReviewer([]byte(config.Empty),
		config.Reviewer{Name: name,
			Key: queue.FormatReviewerKey(make(ed25519.PublicKey, ed25519.PublicKeySize))}); err != nil {
		return failureBy(err, "A name is lower-case letters, digits, - . _")
	}
	if out == "" {
		if out = a.reviewerKeyFile(dir, name); out == "" {
			return failure("there is no home to write the key to", "Give a file with --out.")
		}
	}
	if _, err := os.Lstat(out); err == nil {
		return failure(safe(out)+" exists already", "Give another file with --out, or move it away.")
	}
	pass, err := a.passphrase("Passphrase for the reviewer "+name+" (at least "+fmt.Sprint(minPassphrase)+" characters): ",
		true)
	if err != nil {
		return failureBy(err, "A person at a terminal makes this key; nothing was changed.")
	}
	return a.makeReviewer(ctx, name, out, pass, machine, asJSON)
}

// makeReviewer writes the key of a reviewer, and registers it where this user's configuration is.
func (a *App) makeReviewer(ctx context.Context, name, out string, pass []byte, machine, asJSON bool) error {
	private, public, err := signing.GenerateEd25519(pass)
	if err != nil {
		return failureBy(err, "Nothing was changed.")
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		return failureBy(err, "")
	}
	if err := writeNew(out, private, 0o600); err != nil {
		return failureBy(err, "Nothing was changed.")
	}
	entry := config.Reviewer{Name: name, Key: queue.FormatReviewerKey(public)}
	if !asJSON {
		fmt.Fprintf(a.Out, "%s\n  holds the key %s of %s; without the passphrase it is of no use\n", safe(out),
			approvals.KeyID(public), name)
	}
	made := map[string]any{"name": name, "key": entry.Key, "key_id": approvals.KeyID(public), "file": out}
	if machine {
		made["registered"] = false
		return a.tell(asJSON, made, a.Out, "\nThis machine is in system mode: root registers it. Root adds to reviewers in %s:\n"+
			"  - name: %s\n    key: %s\nand says in %s whose questions it decides, such as all of them:\n"+
			"  reviewers: {\"*\": [%s]}\n", filepath.Join(a.places().Config, config.FileName), entry.Name, entry.Key,
			filepath.Join(a.places().Config, system.File), entry.Name)
	}
	registered := false
	err = a.editConfig(func(src []byte) ([]byte, error) {
		f, err := config.Parse(src)
		if registered = err == nil && len(f.Reviewers) == 0; !registered {
			return src, err
		}
		return config.AddReviewer(src, entry)
	})
	if err != nil {
		return err
	}
	if !registered {
		made["registered"] = false
		return a.tell(asJSON, made, a.Out,
			"\nThere is a reviewer already. To let this one decide, too, add to reviewers in belay.yaml:\n  - name: %s\n    key: %s\n", entry.Name, entry.Key)
	}
	if err := a.tellDaemon(ctx); err != nil {
		return err
	}
	made["registered"] = true
	return a.tell(asJSON, made, a.Out,
		"  registered in belay.yaml: only what it signs is decided from now on\n\nNext:\n  belay approvals list\n")
}

func (a *App) readConfigFile() (string, *config.File, error) {
	dir, err := a.stateDir()
	if err != nil {
		return "", nil, err
	}
	src, err := config.ReadFile(dir)
	if err != nil {
		return dir, nil, failureBy(err, "`belay init` writes a first configuration.")
	}
	f, err := config.Parse(src)
	if err != nil {
		return dir, nil, failureBy(err, "")
	}
	return dir, f, nil
}

// passphrase asks a person. There is no other way in: an environment variable or a
// file is what an agent of the same user could read or set.
func (a *App) passphrase(prompt string, fresh bool) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.New("there is no terminal to ask for the passphrase")
	}
	defer tty.Close()
	first, err := askOn(tty, prompt)
	if err != nil || !fresh {
		return first, err
	}
	if n := utf8.RuneCount(first); n < minPassphrase {
		return nil, fmt.Errorf("the passphrase has %d characters, and at least %d are wanted", n, minPassphrase)
	}
	second, err := askOn(tty, "The same again: ")
	if err != nil {
		return nil, err
	}
	if string(first) != string(second) {
		return nil, errors.New("the two differ")
	}
	return first, nil
}

// reviewerKey opens the key of a registered reviewer: the one named, or the one
// whose file is here.
func (a *App) reviewerKey(dir string, f *config.File, as, file string) (string, ed25519.PrivateKey, error) {
	if len(f.Reviewers) == 0 {
		return "", nil,
			failure("no reviewer can decide yet: none has a key", "A person makes one with `belay reviewer init`.")
	}
	name := as
	for _, r := range f.Reviewers {
		if as != "" || file != "" {
			break
		}
		if _, err := os.Stat(a.reviewerKeyFile(dir, r.Name)); err == nil {
			name = r.Name
			break
		}
	}
	if file == "" {
		if name == "" {
			return "", nil, failure("the key of no reviewer is here", "Give the file with --key.")
		}
		file = a.reviewerKeyFile(dir, name)
	}
	src, err := readLimited(file, tiers.MaxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, failureBy(err, "Give the file of the reviewer's key with --key.")
	} else if err != nil {
		return "", nil, failureBy(err, "")
	}
	key, err := signing.OpenEd25519(src, func() ([]byte, error) {
		return a.passphrase("Passphrase of the reviewer: ", false)
	})
	if err != nil {
		return "", nil, failureBy(err, "The passphrase is asked for on the terminal. Nothing was decided.")
	}
	public := queue.FormatReviewerKey(key.Public().(ed25519.PublicKey))
	for _, r := range f.Reviewers {
		if r.Key == public && (as == "" || as == r.Name) {
			return r.Name, key, nil
		}
	}
	return "", nil, failure("this key is not registered in belay.yaml", "`belay reviewer list` shows the ones that are.")
}

func (a *App) reviewerListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List whose decisions count",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.reviewerList(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) reviewerList(asJSON bool) error {
	dir, f, err := a.deciders()
	if err != nil {
		return err
	}
	type row struct {
		Name  string `json:"name"`
		Key   string `json:"key"`
		KeyID string `json:"key_id"`
		File  string `json:"file,omitzero"` // where the private key lies, when it is here
	}
	rows := []row{}
	for _, r := range f.Authorities() {
		file := a.reviewerKeyFile(dir, r.Name)
		if _, err := os.Stat(file); err != nil {
			file = ""
		}
		rows = append(rows, row{r.Name, queue.FormatReviewerKey(r.Key), approvals.KeyID(r.Key), file})
	}
	if asJSON {
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.Err, "No reviewer has a key: only what hooks ask is decided, at a terminal. `belay reviewer init` makes one.")
		return nil
	}
	t := newTable("NAME", "KEY", "FILE")
	for _, r := range rows {
		t.row(safe(r.Name), r.KeyID, safe(r.File))
	}
	t.print(a.Out, a.palette())
	return nil
}
