package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// limitFlags are the flags that every command has which adds a rule.
type limitFlags struct {
	rule, notBefore, notAfter string
	hooks, caps, phases       []string
	minVersion                string
	json                      bool
}

func (l *limitFlags) add(f *pflag.FlagSet) {
	f.StringVar(&l.rule, "rule", "", "name of the rule (default: made from the key's or the identity's)")
	f.StringSliceVar(&l.hooks, "hook", nil, "vouch only for hooks of these names; acme/* and acme/** are patterns")
	f.StringSliceVar(&l.caps, "capability", nil, "vouch only for hooks that ask for no more than these capabilities")
	f.StringSliceVar(&l.phases, "phase", nil, "vouch only for hooks that serve no more than these phases")
	f.StringVar(&l.minVersion, "min-version", "",
		"vouch only for this version and later ones: no way back to an older file")
	f.StringVar(&l.notBefore, "not-before", "", "not before this time, RFC 3339")
	f.BoolVar(&l.json, "json", false, "print JSON")
	f.StringVar(&l.notAfter, "not-after", "", "not from this time on, RFC 3339")
}

func (l *limitFlags) limits() tiers.Limits {
	out := tiers.Limits{Hooks: l.hooks, Capabilities: l.caps, MinimumVersion: l.minVersion}
	for _, p := range l.phases {
		out.Phases = append(out.Phases, phases.Phase(p))
	}
	return out
}

func (l *limitFlags) window(s *tiers.Slot) error {
	for _, w := range []struct {
		flag, value string
		to          *time.Time
	}{{"--not-before", l.notBefore, &s.NotBefore}, {"--not-after", l.notAfter, &s.NotAfter}} {
		if w.value == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, w.value)
		if err != nil {
			return usageError(w.flag+" takes a time such as 2027-01-01T00:00:00Z", "")
		}
		*w.to = t
	}
	return nil
}

func (a *App) trustAddKeyCmd() *cobra.Command {
	var flags limitFlags
	var minimum int
	cmd := &cobra.Command{
		Use:   "add-key KEY.pub…",
		Short: "Trust hooks that these keys sign: one rule, and all of them have to sign",
		Example: `  belay trust add-key release.pub --hook 'acme/*'
  belay trust add-key alice.pub bob.pub carol.pub --rule two-of-three --minimum 2`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("trust add-key takes public keys", "`belay trust generate-key NAME` makes a pair.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.trustAddKey(args, minimum, flags) },
	}
	flags.add(cmd.Flags())
	cmd.Flags().IntVar(&minimum, "minimum", 0, "how many of the keys have to sign (default: all)")
	return cmd
}

func (a *App) trustAddKey(files []string, minimum int, flags limitFlags) error {
	var seats []tiers.Slot
	var ids, keys []string
	for _, f := range files {
		src, err := readLimited(f, tiers.MaxKeyFile)
		if err != nil {
			return failureBy(err, "")
		}
		k, err := tiers.ParseKey(src)
		if err != nil {
			return failureBy(fmt.Errorf("%s: %w", f, err), "add-key takes the public half, such as release.pub.")
		}
		// The policy holds the key itself: a process that can write elsewhere
		// could replace a file there.
		s := tiers.Slot{Name: strings.TrimSuffix(filepath.Base(f), filepath.Ext(f)),
			PublicKey: &tiers.PublicKey{PEM: string(src)}}
		if err := flags.window(&s); err != nil {
			return err
		}
		keys = append(keys, k.ID)
		seats, ids = append(seats, s), append(ids, fmt.Sprintf("  %s  %s (%s)", k.ID, s.Name, k.Kind))
	}
	if flags.rule == "" {
		flags.rule = ruleNameFrom(files[0])
	}
	r, err := ruleFor(flags.rule, seats, minimum, flags)
	if err != nil {
		return err
	}
	if err := a.editTrust(func(src []byte) ([]byte, error) { return config.AddTrustRule(src, r) }); err != nil {
		return err
	}
	return a.tell(flags.json, map[string]any{"rule": r.Name, "keys": keys}, a.Out,
		"Rule %s trusts hooks signed by:\n%s\n", safe(r.Name), safe(strings.Join(ids, "\n")))
}

type addIdentityOptions struct {
	limitFlags
	issuer, subject, prefix, regex, root string
}

func (a *App) trustAddIdentityCmd() *cobra.Command {
	var options addIdentityOptions
	cmd := &cobra.Command{
		Use:   "add-identity --issuer URL --subject ID|--subject-prefix URL|--subject-regex RE2",
		Short: "Trust hooks that this identity signs with a short-lived certificate (keyless)",
		Example: `  belay trust add-identity --trusted-root trusted_root.json --issuer https://token.actions.githubusercontent.com \
      --subject-prefix https://github.com/acme/hooks/.github/workflows/`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.trustAddIdentity(options) },
	}
	f := cmd.Flags()
	f.StringVar(&options.issuer, "issuer", "", "URL of the identity provider, exactly")
	f.StringVar(&options.subject, "subject", "", "the subject, exactly")
	f.StringVar(&options.prefix, "subject-prefix", "", "URL that the subject is or lies below")
	f.StringVar(&options.regex, "subject-regex", "", "RE2 pattern for the whole subject")
	f.StringVar(&options.root, "trusted-root", "", "file of the trusted root, as it is to stand in trust.yaml")
	options.add(f)
	return cmd
}

func (a *App) trustAddIdentity(options addIdentityOptions) error {
	keyless := &tiers.Keyless{Issuer: options.issuer,
		Subject: tiers.Subject{Equal: options.subject, URLPrefix: options.prefix, Regex: options.regex}}
	s := tiers.Slot{Keyless: keyless}
	if err := options.window(&s); err != nil {
		return err
	}
	if options.rule == "" {
		options.rule = ruleNameFrom(strings.TrimPrefix(options.subject+options.prefix+options.regex, "https://"))
	}
	rule, err := ruleFor(options.rule, []tiers.Slot{s}, 0, options.limitFlags)
	if err != nil {
		return err
	}
	root := options.root
	if root != "" && !filepath.IsAbs(root) {
		wd, err := a.Getwd()
		if err != nil {
			return failureBy(err, "")
		}
		root = filepath.Join(wd, root)
	}
	err = a.editTrust(func(src []byte) ([]byte, error) {
		if root != "" {
			var err error
			if src, err = config.SetTrustedRoot(src, root); err != nil {
				return nil, err
			}
		}
		return config.AddTrustRule(src, rule)
	})
	if err != nil {
		return err
	}
	return a.tell(options.json, map[string]any{"rule": rule.Name, "subject": keyless.Subject.String(),
		"issuer": options.issuer}, a.Out, "Rule %s trusts hooks signed by %s of %s.\n", safe(rule.Name),
		safe(keyless.Subject.String()), safe(options.issuer))
}
