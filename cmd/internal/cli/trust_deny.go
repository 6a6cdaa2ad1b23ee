package cli

import (
	"context"
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
	why                              string
	fleet                            bool
	json                             bool
}

func (a *App) trustDenyCmd() *cobra.Command {
	var options denyOptions
	cmd := &cobra.Command{
		Use:   "deny",
		Short: "Revoke files, keys, identities or signatures",
		Long: `deny appends to the deny lists of trust.yaml, which win over every rule. A denied file does
not run in any tier. What only a denied key or identity signed is not trusted any more, and does
not run either. To take it back, edit trust.yaml.

With --fleet it holds on all kernels that share a PostgreSQL, within two seconds. It is recorded in
the log of this kernel, and kept in denials.json of each state directory. No command takes it back.`,
		Example: `  belay trust deny --digest sha256:…
  belay trust deny --key release.pub
  belay trust deny --identity mallory@acme.example --issuer https://accounts.example
  belay trust deny --fleet --file bad.wasm --why 'it sends files away'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.trustDeny(cmd.Context(), options) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&options.files, "file", nil, "a module file")
	f.StringArrayVar(&options.digests, "digest", nil, "sha256:… of a module file")
	f.StringArrayVar(&options.keys, "key", nil, "a key's id, or the file of its public half")
	f.StringArrayVar(&options.signatures, "signature", nil, "id of one signature, as hook verify --json prints it")
	f.BoolVar(&options.json, "json", false, "print JSON")
	f.StringVar(&options.subject, "identity", "", "a certificate's subject")
	f.StringVar(&options.issuer, "issuer", "", "only of this identity provider (default: of any)")
	f.BoolVar(&options.fleet, "fleet", false, "on all kernels that share the store of belay.yaml")
	f.StringVar(&options.why, "why", "", "with --fleet: the reason, for the people of the other kernels")
	return cmd
}

func (a *App) trustDeny(ctx context.Context, options denyOptions) error {
	if options.why != "" && !options.fleet {
		return usageError("--why goes with --fleet", "A comment in trust.yaml can say why.")
	}
	deny := tiers.Deny{Digests: options.digests, Signatures: options.signatures}
	for _, d := range options.digests {
		if hex, ok := strings.CutPrefix(d, "sha256:"); !ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
			return failure(fmt.Sprintf("--digest %s: a digest is sha256: and 64 hexadecimal digits in lower case", safe(d)),
				"`belay hook verify FILE` prints it; --file FILE takes that of a file. Nothing was changed.")
		}
	}
	for _, f := range options.files {
		b, err := readModule(f)
		if err != nil {
			return failureBy(err, "")
		}
		deny.Digests = append(deny.Digests, phases.ByteDigest(b))
	}
	for _, k := range options.keys {
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
		deny.Keys = append(deny.Keys, k)
	}
	if options.subject != "" {
		deny.Identities = []tiers.DeniedIdentity{{Issuer: options.issuer, Subject: tiers.Subject{Equal: options.subject}}}
	}
	var said []string
	said = append(append(append(said, deny.Digests...), deny.Keys...), deny.Signatures...)
	if options.subject != "" {
		said = append(said, options.subject)
	}
	if len(said) == 0 {
		return usageError("deny what?", "Give --file, --digest, --key, --identity or --signature.")
	}
	if options.fleet {
		return a.denyForAll(ctx, deny, said, &options)
	}
	if err := a.editTrust(func(src []byte) ([]byte, error) { return config.AddDeny(src, deny) }); err != nil {
		return err
	}
	return a.tell(options.json, map[string]any{"revoked": said}, a.Out,
		"Revoked:\n  %s\nA belay that runs takes it into use within a second.\n", safe(strings.Join(said, "\n  ")))
}
