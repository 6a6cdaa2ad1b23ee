package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/cmd/internal/signing"
	"github.com/belay-hooks/belay/tiers"
)

type keylessOptions struct {
	token                      string
	fulcio, rekor, stamp, root string
	noLog                      bool
}

func (o *keylessOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.token, "identity-token", "",
		"sign keyless with this token: @FILE, - for standard input, or the token itself (default $SIGSTORE_ID_TOKEN)")
	f.StringVar(&o.fulcio, "fulcio-url", "", "certificate authority (Fulcio)")
	f.StringVar(&o.rekor, "rekor-url", "", "transparency log (Rekor, API v1)")
	f.StringVar(&o.stamp, "timestamp-url", "", "timestamp authority (RFC 3161), whole address")
	f.StringVar(&o.root, "trusted-root", "", "also check the signature against this trusted root")
	f.BoolVar(&o.noLog, "no-log", false,
		"do without a transparency log; needs --timestamp-url, and a policy with unsafeWithout: [log]")
}

func (o *keylessOptions) given() bool {
	return *o != keylessOptions{}
}

// keylessWanted reads how to sign from the flags: nil means with a key. The token is
// read last, so that a mistake elsewhere does not take it from standard input.
func (a *App) keylessWanted(o hookSignOptions) (*signing.Keyless, error) {
	options := o.keyless
	env := a.Getenv("SIGSTORE_ID_TOKEN")
	switch {
	case o.key != "" && options.given():
		return nil, usageError("--key and keyless signing exclude each other",
			"Leave out --key, or the flags --identity-token, --fulcio-url, --rekor-url, --timestamp-url, --trusted-root and --no-log.")
	case o.key != "":
		return nil, nil
	case !options.given() && env == "":
		return nil, usageError("hook sign needs a key or an identity token",
			"Give a key with --key (`belay trust generate-key NAME` makes one), or a token with --identity-token.")
	case options.token == "" && env == "":
		return nil, usageError("keyless signing needs an identity token",
			"Give one with --identity-token @FILE, or in $SIGSTORE_ID_TOKEN.")
	case options.fulcio == "":
		return nil, usageError("keyless signing needs a certificate authority",
			"Name it with --fulcio-url; belay has no addresses of its own.")
	case options.rekor == "" && !options.noLog:
		return nil, usageError("keyless signing needs a transparency log",
			"Name it with --rekor-url; or do without by --no-log, which most policies do not accept.")
	case options.rekor != "" && options.noLog:
		return nil, usageError("--rekor-url and --no-log exclude each other", "")
	case options.noLog && options.stamp == "":
		return nil, usageError("without a log, a timestamp authority has to prove the time", "Name it with --timestamp-url.")
	}
	out := &signing.Keyless{FulcioURL: options.fulcio, RekorURL: options.rekor, TimestampURL: options.stamp}
	var err error
	if options.root != "" {
		if out.Root, err = readLimited(options.root, tiers.MaxRoot); err != nil {
			return nil, failureBy(err, "--trusted-root takes the file that verifiers name in trust.yaml.")
		}
	}
	if out.Token, err = a.identityToken(options.token, env); err != nil {
		return nil, err
	}
	return out, nil
}

// identityToken finds the token. No message quotes it.
func (a *App) identityToken(flag, env string) (*signing.IdentityToken, error) {
	src := []byte(flag)
	name, isFile := strings.CutPrefix(flag, "@")
	switch {
	case flag == "":
		src = []byte(env)
	case flag == "-":
		b, err := io.ReadAll(io.LimitReader(a.In, signing.MaxToken+1))
		if err != nil {
			return nil, failureBy(err, "The token was expected on standard input.")
		}
		src = b
	case isFile:
		b, err := readLimited(name, signing.MaxToken)
		if err != nil {
			// Without its name: it may be the token itself, with an @ by mistake.
			why := "it is too large"
			var pe *fs.PathError
			if errors.As(err, &pe) {
				why = pe.Err.Error()
			}
			return nil, failure("the file of --identity-token cannot be read: "+why,
				"--identity-token @FILE takes a file with the token and nothing else.")
		}
		src = b
	}
	t, err := signing.ParseIdentityToken(bytes.TrimSpace(src), time.Now())
	if err != nil {
		return nil, failureBy(err,
			"Ask your identity provider for a new token for the audience sigstore. Nothing was written.")
	}
	return t, nil
}

func (a *App) signKeyless(ctx context.Context, path string, file []byte, digest string, k signing.Keyless,
	options hookSignOptions) error {
	signed, err := signing.SignKeyless(ctx, file, k)
	switch {
	case errors.Is(err, signing.ErrEndpoint):
		return failureBy(err, "Nothing was sent, nothing was written.")
	case errors.Is(err, tiers.RootMissing):
		return failureBy(err,
			"--trusted-root takes the file that verifiers name in trust.yaml. Nothing was sent, nothing was written.")
	case err != nil:
		return failureBy(err, "Nothing was written. Look at that service, and try again with a new token.")
	}
	out, replaced, err := writeSigned(path, options.output, signed.Bundle)
	if err != nil {
		return failureBy(err, "")
	}
	if options.json {
		j := map[string]any{"bundle": out, "digest": digest, "identity": signed.Identity,
			"signed": signed.Signed.UTC().Format(time.RFC3339), "replaced": replaced}
		if signed.LogIndex >= 0 {
			j["log_index"] = signed.LogIndex
		}
		return a.printJSON(j)
	}
	fmt.Fprintf(a.Out, "%s\n  signs   %s\n  as      %s\n  says    %s\n  at      %s\n", safe(out), digest,
		safe(signed.Identity.Subject), safe(signed.Identity.Issuer), signed.Signed.UTC().Format(time.RFC3339))
	if signed.LogIndex >= 0 {
		fmt.Fprintf(a.Out, "  logged  entry %d\n", signed.LogIndex)
	}
	if replaced {
		fmt.Fprintln(a.Out, "  instead of what this identity had signed before")
	}
	return nil
}
