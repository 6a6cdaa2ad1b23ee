package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/signing"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/tiers"
)

type hookSignOptions struct {
	key     string
	keyless keylessOptions
	output  string
	json    bool
}

func (a *App) hookSignCmd() *cobra.Command {
	var options hookSignOptions
	cmd := &cobra.Command{
		Use:   "sign --key FILE|KMS | --identity-token TOKEN --fulcio-url URL --rekor-url URL  FILE.wasm",
		Short: "Sign a hook: write a Sigstore bundle beside it",
		Long: `sign writes a Sigstore bundle (v0.3) beside the module: FILE.wasm.sigstore.json, or the
next free FILE.wasm.<n>.sigstore.json when another signer's is there already. A bundle that the
same key has made before, of this module or of an older build, is replaced. The key is a file
(cosign's encrypted keys, PKCS #8, PKCS #1, SEC 1) or a key in a key management service. The
latter is NAME://…, through the program sigstore-kms-NAME on the PATH. The password is asked for
on the terminal, or taken from $BELAY_KEY_PASSWORD or $COSIGN_PASSWORD.

Keyless, an identity token (OpenID Connect, for the audience sigstore) takes the place
of the key. A certificate authority (Fulcio) names its owner for a key that exists for
this one signature. A transparency log (Rekor) and, if you name one, a timestamp
authority prove when. belay has no addresses of its own for these: you say whom the
token is shown to. All are https, or on this machine. belay follows no redirects, and
all of it takes 30 s at most. It compares their answers with what was signed before it
writes anything. Give the token as @FILE, on standard input (-), or in
$SIGSTORE_ID_TOKEN: other programs can see a command line.

cosign accepts what it writes:
  cosign verify-blob --key KEY.pub --bundle FILE.wasm.sigstore.json --insecure-ignore-tlog FILE.wasm`,
		Example: `  belay trust generate-key release
  belay hook sign --key release.key guard.wasm
  belay hook sign --identity-token @token.jwt --fulcio-url https://fulcio.acme.example --rekor-url https://rekor.acme.example \
      --timestamp-url https://tsa.acme.example/api/v1/timestamp --trusted-root trusted_root.json guard.wasm`,
		Args: oneArg("one module file"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookSign(cmd.Context(), args[0], options) },
	}
	f := cmd.Flags()
	f.StringVar(&options.key, "key", "", "private key: a file, or NAME://… in a key management service")
	options.keyless.add(f)
	f.StringVarP(&options.output, "output", "o", "", "bundle to write (default beside the module)")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookSign(ctx context.Context, path string, options hookSignOptions) error {
	keyless, err := a.keylessWanted(options)
	if err != nil {
		return err
	}
	file, err := readFresh(path)
	if err != nil {
		return err
	}
	// A signature vouches for a module: refuse to sign one that belay would not
	// load.
	info, err := loader.Inspect(ctx, file, nil)
	if err != nil {
		return failureBy(fmt.Errorf("%s: %w", path, err), "Nothing was signed.")
	}
	if keyless != nil {
		return a.signKeyless(ctx, path, file, info.Digest, *keyless, options)
	}
	signer, err := a.openSigner(ctx, options.key)
	if err != nil {
		return err
	}
	bundle, err := signer.SignFile(file)
	if err != nil {
		return failureBy(err, "Nothing was written.")
	}
	out, replaced, err := writeSigned(path, options.output, bundle)
	if err != nil {
		return failureBy(err, "")
	}
	if options.json {
		return a.printJSON(map[string]any{"bundle": out, "digest": info.Digest, "key": signer.Key().ID,
			"kind": signer.Key().Kind, "replaced": replaced})
	}
	fmt.Fprintf(a.Out, "%s\n  signs   %s\n  key     %s (%s)\n", safe(out), info.Digest, signer.Key().ID, signer.Key().Kind)
	if replaced {
		fmt.Fprintln(a.Out, "  instead of what this key had signed before")
	}
	return nil
}

func (a *App) openSigner(ctx context.Context, ref string) (*signing.Signer, error) {
	if signing.IsKMS(ref) {
		s, err := signing.OpenKMS(ctx, ref)
		if err != nil {
			return nil, failureBy(err, "A key management service is reached through the program sigstore-kms-NAME on the PATH.")
		}
		return s, nil
	}
	src, err := readLimited(ref, tiers.MaxKeyFile)
	if err != nil {
		return nil, failureBy(err, "")
	}
	s, err := signing.OpenKey(src, a.keyPassword(ref, false))
	switch {
	case errors.Is(err, signing.ErrPassword):
		return nil, failureBy(fmt.Errorf("%s: %w", ref, err),
			"The password is asked for on the terminal, or taken from $BELAY_KEY_PASSWORD or $COSIGN_PASSWORD.")
	case err != nil:
		return nil, failureBy(fmt.Errorf("%s: %w", ref, err), "--key takes the private half, such as release.key.")
	}
	return s, nil
}

// writeSigned replaces the bundle that the same key or identity made before, of this file or of what it was before;
// without one it is writeBundle.
func writeSigned(module, output string, bundle []byte) (name string, replaced bool, err error) {
	if output != "" {
		name, err = writeBundle(module, output, bundle)
		return name, false, err
	}
	have, err := trust.ReadEvidence(module)
	if err != nil {
		return "", false, err
	}
	signer := signing.SignerOf(bundle)
	for _, e := range have {
		if e.Kind == tiers.EvidenceBundle && signer != "" && signing.SignerOf(e.Data) == signer {
			name = filepath.Join(filepath.Dir(module), e.Name)
			return name, true, statedir.Replace(name, bundle, 0o644)
		}
	}
	name, err = writeBundle(module, output, bundle)
	return name, false, err
}

// writeBundle writes to a name that is free: another signature is never lost.
func writeBundle(module, output string, bundle []byte) (string, error) {
	if output != "" {
		return output, writeNew(output, bundle, 0o644)
	}
	name := module + ".sigstore.json"
	for n := 1; ; n++ {
		err := writeNew(name, bundle, 0o644)
		if !errors.Is(err, fs.ErrExist) || n > tiers.MaxEvidenceList {
			return name, err
		}
		name = fmt.Sprintf("%s.%d.sigstore.json", module, n)
	}
}

// writeNew writes a file that must not exist yet, whole or not at all.
func writeNew(path string, b []byte, mode fs.FileMode) error {
	return statedir.Create(path, b, mode)
}
