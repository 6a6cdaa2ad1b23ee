package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/signing"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/tiers"
)

func (a *App) trustCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Decide whose signatures make a hook trusted",
		Long: `trust edits trust.yaml in the state directory: rules that say whose signatures make a
hook trusted, and deny lists that take it away. A belay that runs takes a change into
use within a second, and verifies every hook again.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.trustInitCmd(), a.trustGenerateCmd(), a.trustAddKeyCmd(), a.trustAddIdentityCmd(), a.trustDenyCmd(),
		a.trustListCmd(), a.trustCheckCmd())
	return cmd
}

func (a *App) trustInitCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first trust.yaml, which trusts no signer",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.stateDir()
			if err != nil {
				return err
			}
			path := filepath.Join(dir, tiers.PolicyFile)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return failureBy(err, "")
			}
			if err := statedir.Create(path, []byte(config.EmptyTrust), 0o600); errors.Is(err, fs.ErrExist) {
				return failure(safe(path)+" exists already", "Edit it, or use `belay trust add-key`, `add-identity` and `deny`.")
			} else if err != nil {
				return failureBy(err, "")
			}
			return a.tell(*asJSON, map[string]any{"file": path}, a.Out,
				"%s trusts no signer yet. Next:\n  belay trust generate-key NAME\n  belay trust add-key NAME.pub\n",
				safe(path))
		},
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

func (a *App) trustGenerateCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "generate-key NAME",
		Short: "Make a key pair: NAME.key, encrypted with a password, and NAME.pub",
		Long: `generate-key makes an ECDSA P-256 key pair in the files and forms of cosign, which can
use it as well. Keep NAME.key away from machines on which agents run: who holds it can
make any hook trusted.`,
		Args: oneArg("the name of the new key"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.trustGenerate(args[0], *asJSON) },
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

func (a *App) trustGenerate(name string, asJSON bool) error {
	for _, f := range []string{name + ".key", name + ".pub"} {
		if _, err := os.Lstat(f); err == nil {
			return failure(safe(f)+" exists already", "Nothing was written. Give another name.")
		}
	}
	password, err := a.keyPassword("the new key", true)()
	if err != nil {
		return failureBy(err, "Nothing was written.")
	}
	private, public, key, err := signing.GenerateKey(password)
	if err != nil {
		return failureBy(err, "")
	}
	if err := writeNew(name+".key", private, 0o600); err != nil {
		return failureBy(err, "")
	}
	if err := writeNew(name+".pub", public, 0o644); err != nil {
		return failureBy(err, "")
	}
	if len(password) == 0 {
		fmt.Fprintln(a.Err, "belay: note: the password is empty: the file alone is the key")
	}
	return a.tell(asJSON, map[string]any{"private": name + ".key", "public": name + ".pub", "key_id": key.ID}, a.Out,
		"%s.key  private, mode 0600\n%s.pub  %s\n", safe(name), safe(name), key.ID)
}

// editTrust changes trust.yaml and says that it did.
func (a *App) editTrust(edit func([]byte) ([]byte, error)) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	if err := trust.Edit(dir, edit); err != nil {
		return failureBy(err, "Nothing was changed.")
	}
	return nil
}

// ruleFor makes a rule of slots: all of them, or a threshold.
func ruleFor(name string, seats []tiers.Slot, minimum int, l limitFlags) (tiers.Rule, error) {
	r := tiers.Rule{Name: name, Limits: l.limits()}
	switch {
	case minimum == 0 || minimum == len(seats):
		r.AllOf = seats
	case minimum < 0 || minimum > len(seats):
		return r, usageError(fmt.Sprintf("--minimum %d must be between 1 and %d, the number of signers that are given",
			minimum, len(seats)),
			"Name every signer of the rule in one command, or give a smaller number.")
	default:
		r.AnyOf = &tiers.AnyOf{MinimumMatches: minimum, Signers: seats}
	}
	return r, nil
}

// ruleNameFrom makes a rule's name of a file's.
func ruleNameFrom(path string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	var b strings.Builder
	for _, r := range base {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || b.Len() > 0 && strings.ContainsRune("._-", r) {
			b.WriteRune(r)
		} else if b.Len() > 0 {
			b.WriteByte('-')
		}
	}
	if b.Len() == 0 {
		return "rule"
	}
	return b.String()[:min(b.Len(), 64)]
}
