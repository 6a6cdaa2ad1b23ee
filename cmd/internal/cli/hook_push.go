package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/oci"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/tiers"
)

type hookPushOptions struct {
	registryOptions
	noEvidence bool
	json       bool
}

func (a *App) hookPushCmd() *cobra.Command {
	var options hookPushOptions
	cmd := &cobra.Command{
		Use:   "push FILE.wasm oci://HOST/REPO[:TAG]",
		Short: "Put a hook and its signatures into an OCI registry",
		Long: `push uploads a module as an OCI artifact and attaches the signatures that lie beside
the file (FILE.sigstore.json, FILE.1.sigstore.json, FILE.sig). The manifest depends on
the file alone: the same file has the same digest in every registry. The digest that is
printed is what others install by; a tag is only a name that can move.`,
		Example: `  belay hook push guard.wasm oci://ghcr.io/acme/hooks/guard:1.0
  cosign sign --key k.key ghcr.io/acme/hooks/guard@sha256:…`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("hook push takes a module file and a reference", "`belay hook push --help` shows how it is used.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.hookPush(cmd.Context(), args[0], args[1], options)
		},
	}
	f := cmd.Flags()
	options.flags(f)
	f.BoolVar(&options.noEvidence, "no-evidence", false, "leave the signatures beside the file out")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookPush(ctx context.Context, path, target string, options hookPushOptions) error {
	ref, err := parseRegistry(target)
	if err != nil {
		return err
	}
	if ref.Digest != "" {
		return usageError("what is pushed gets its digest from its bytes",
			"Leave the @sha256:… out; give a tag instead, or none.")
	}
	file, err := readFresh(path)
	if err != nil {
		return err
	}
	// Refuse to push a module that could not be installed.
	info, err := loader.Inspect(ctx, file, nil)
	if err == nil && len(info.Problems) > 0 {
		err = fmt.Errorf("%s", strings.Join(info.Problems, "; "))
	}
	if err != nil {
		return failureBy(fmt.Errorf("%s: %w", path, err), "Nothing was pushed.")
	}
	manifest, _, err := oci.Pack(file)
	if err != nil {
		return failureBy(err, "")
	}
	var evidence []oci.Evidence
	if !options.noEvidence {
		if evidence, err = a.evidenceToPush(path, file, &manifest); err != nil {
			return err
		}
	}
	client, done, err := a.registry(options.registryOptions, options.json)
	if err != nil {
		return err
	}
	pushed, err := client.PushAs(ctx, ref, manifest, file, evidence)
	done()
	if err != nil {
		return registryFailure(err, ref)
	}
	if options.json {
		return a.printJSON(map[string]any{
			"ref": pushed.Ref.String(), "tag": pushed.Tag, "digest": pushed.Digest, "manifest_digest": pushed.Ref.Digest,
			"size": len(file), "evidence": pushed.Evidence,
		})
	}
	p := a.palette()
	fmt.Fprintf(a.Out, "%s %s is in the registry as\n  %s\n", safe(info.Manifest.Name), safe(info.Manifest.Version),
		p.bold(pushed.Ref.String()))
	if pushed.Tag != "" {
		fmt.Fprintf(a.Out, "  tagged %s\n", pushed.Tag)
	}
	fmt.Fprintf(a.Out, "  file %s, %s\n", pushed.Digest, bytesText(int64(len(file))))
	switch n := len(pushed.Evidence); n {
	case 0:
		fmt.Fprintf(a.Out, "  no signature is attached; `cosign sign %s` attaches one\n", pushed.Ref.Plain())
	case 1:
		fmt.Fprintf(a.Out, "  with 1 signature\n")
	default:
		fmt.Fprintf(a.Out, "  with %d signatures\n", n)
	}
	return nil
}

// evidenceToPush reads what lies beside the file. Statements about a manifest that an
// earlier belay made of it keep their worth: manifest becomes that one. Statements about
// the manifest of another packaging are worth nothing once pushed, and that is said.
func (a *App) evidenceToPush(path string, file []byte, manifest *[]byte) ([]oci.Evidence, error) {
	beside, err := trust.ReadEvidence(path)
	if err != nil {
		return nil, failureBy(err, "Nothing was pushed. --no-evidence leaves the signatures out.")
	}
	var out []oci.Evidence
	for _, e := range beside {
		switch e.Kind {
		case tiers.EvidenceManifest:
			_, ours, err := oci.PackAs(file, e.Data)
			if err != nil {
				return nil, failureBy(err, "")
			}
			if ours {
				*manifest = e.Data
			} else {
				fmt.Fprintf(a.Err,
					"belay: note: %s is not the manifest that belay makes of this file; signatures over it will not count there. Copy the artifact with a registry tool to keep them.\n", safe(e.Name))
			}
		case tiers.EvidenceBundle:
			out = append(out, oci.Evidence{Kind: oci.KindBundle, Bytes: e.Data})
		case tiers.EvidenceSignature:
			out = append(out, oci.Evidence{Kind: oci.KindSignature, Bytes: e.Data})
		}
	}
	return out, nil
}
