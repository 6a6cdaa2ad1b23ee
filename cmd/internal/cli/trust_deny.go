package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

type denyOptions struct {
	files, digests, keys, signatures []string
	subject, issuer                  string
}

func (a *App) trustDenyCmd() *cobra.Command {
	var o denyOptions
	cmd := &cobra.Command{
		Use:   "deny",
		Short: "Revoke files, keys, identities or signatures",
		Long: `deny appends to the deny lists of trust.yaml, which win over every rule. A file that is
denied does not run in any tier; what only a denied key or identity signed is not
trusted any more, and does not run either. To take it back, edit trust.yaml.`,
		Example: `  belay trust deny --digest sha256:…
  belay trust deny --key release.pub
  belay trust deny --identity mallory@acme.example --issuer https://accounts.example`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.trustDeny(o) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.files, "file", nil, "a module file")
	f.StringArrayVar(&o.digests, "digest", nil, "sha256:… of a module file")
	f.StringArrayVar(&o.keys, "key", nil, "a key's id, or the file of its public half")
	f.StringArrayVar(&o.signatures, "signature", nil, "id of one signature, as hook verify --json prints it")
	f.StringVar(&o.subject, "identity", "", "a certificate's subject")
	f.StringVar(&o.issuer, "issuer", "", "only of this identity provider (default: of any)")
	return cmd
}

func (a *App) trustDeny(o denyOptions) error {
	d := tiers.Deny{Digests: o.digests, Signatures: o.signatures}
	for _, f := range o.files {
		b, err := readModule(f)
		if err != nil {
			return failureBy(err, "")
		}
		d.Digests = append(d.Digests, phases.ByteDigest(b))
	}
	for _, k := range o.keys {
		if _, err := os.Stat(k); err == nil {
			src, err := readLimited(k, tiers.MaxKeyFile)
			if err != nil {
				return failureBy(err, "")
			}
			key, err := tiers.ParseKey(src)
			if err != nil {
				return failureBy(fmt.Errorf("%s: %w", k, err), "Nothing was changed.")
			}
			k = key.ID
		}
		d.Keys = append(d.Keys, k)
	}
	if o.subject != "" {
		d.Identities = []tiers.DeniedIdentity{{Issuer: o.issuer, Subject: tiers.Subject{Equal: o.subject}}}
	}
	var said []string
	said = append(append(append(said, d.Digests...), d.Keys...), d.Signatures...)
	if o.subject != "" {
		said = append(said, o.subject)
	}
	if len(said) == 0 {
		return usageError("deny what?", "Give --file, --digest, --key, --identity or --signature.")
	}
	if err := a.editTrust(func(src []byte) ([]byte, error) { return config.AddDeny(src, d) }); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "Revoked:\n  %s\nA belay that runs takes it into use within a second.\n",
		safe(strings.Join(said, "\n  ")))
	return nil
}
