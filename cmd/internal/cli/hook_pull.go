package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/oci"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

type hookPullOptions struct {
	registryOptions
	out   string
	force bool
	json  bool
}

func (a *App) hookPullCmd() *cobra.Command {
	var options hookPullOptions
	cmd := &cobra.Command{
		Use:   "pull oci://HOST/REPO:TAG|@sha256:…",
		Short: "Get a hook and its signatures out of an OCI registry",
		Long: `pull writes the module to a file and what vouches for it beside that file, where
verify, install and push find it. A tag is looked up once; what it stood for is printed
by digest. Every size is limited and every digest computed anew. Nothing is installed.`,
		Example: `  belay hook pull oci://ghcr.io/acme/hooks/guard:1.0
  belay hook pull oci://ghcr.io/acme/hooks/guard@sha256:… -o guard.wasm`,
		Args: oneArg("a reference that begins with oci://"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookPull(cmd.Context(), args[0], options) },
	}
	f := cmd.Flags()
	options.flags(f)
	f.StringVarP(&options.out, "output", "o", "", "file to write (default: the last part of the repository, with .wasm)")
	f.BoolVar(&options.force, "force", false, "replace another file of that name")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookPull(ctx context.Context, target string, options hookPullOptions) error {
	ref, err := parseRegistry(target)
	if err != nil {
		return err
	}
	if ref.Tag == "" && ref.Digest == "" {
		return usageError("which one? "+ref.String()+" has neither a tag nor a digest", "Add :TAG or @sha256:… to it.")
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	path := options.out
	if path == "" {
		path = ref.Name() + ".wasm"
	}
	client, done, err := a.registry(options.registryOptions, options.json)
	if err != nil {
		return err
	}
	pulled, err := client.Pull(ctx, ref)
	done()
	if err != nil {
		return registryFailure(err, ref)
	}
	pieces := evidenceOf(pulled)
	info, err := loader.InspectIn(ctx, trustDir(dir), pulled.Module, pieces, nil)
	if err != nil {
		return failureBy(fmt.Errorf("%s: %w", pulled.Ref, err), "Nothing was written.")
	}
	if info.Trust != nil && info.Trust.Code == tiers.Revoked {
		return failureBy(fmt.Errorf("%s: %w", pulled.Ref, info.Trust.Err()), "Nothing was written.")
	}
	if err := writePulled(path, pulled.Module, options.force); err != nil {
		return err
	}
	files, err := trust.WriteEvidence(path, pieces)
	if err != nil {
		return failureBy(err, "The module was written, its signatures were not.")
	}
	a.tellSkipped(pulled)
	if options.json {
		return a.printJSON(map[string]any{
			"ref": pulled.Ref.String(), "file": path, "digest": pulled.Digest, "manifest_digest": pulled.ManifestDigest,
			"size":     len(pulled.Module),
			"evidence": pulled.Evidence, "evidence_files": files, "skipped": pulled.Skipped, "tier": info.Tier, "why": info.Why,
		})
	}
	a.describePulled(path, pulled, files, info)
	return nil
}

func (a *App) describePulled(path string, p *oci.Pulled, files []string, info loader.Info) {
	pal := a.palette()
	fmt.Fprintf(a.Out, "%s  %s  %s\n", safe(path), bytesText(int64(len(p.Module))), p.Digest)
	fmt.Fprintf(a.Out, "  from %s\n", p.Ref)
	for _, f := range files {
		fmt.Fprintf(a.Out, "  %s\n", safe(filepath.Join(filepath.Dir(path), f)))
	}
	if len(files) == 0 {
		fmt.Fprintln(a.Out, "  no signature is attached to it")
	}
	tier := string(info.Tier)
	if info.Tier == phases.Trusted {
		tier = pal.green(tier)
	}
	fmt.Fprintf(a.Out, "  %s: %s\n", tier, safe(info.Why))
	if len(info.Problems) > 0 {
		fmt.Fprintf(a.Out, "  %s %s\n", pal.yellow("would be refused by install:"), safe(strings.Join(info.Problems, "; ")))
	}
}

// writePulled writes the file as a whole, and never over another one unasked.
func writePulled(path string, module []byte, force bool) error {
	have, err := readModule(path)
	switch {
	case err == nil && bytes.Equal(have, module):
		return nil
	case err == nil && !force:
		return failure(safe(path)+" is there and is another file",
			"Nothing was written. -o names another place, --force replaces it.")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return failureBy(err, "Nothing was written.")
	}
	put := statedir.Replace
	if err != nil {
		put = statedir.Create // what another process puts there meanwhile stays
	}
	if err := put(path, module, 0o644); err != nil {
		return failureBy(err, "")
	}
	return nil
}

// fetchToInstall fetches the hook that command, such as `belay hook install`, is given as oci://…. It
// takes only a digest: a tag can move, unnoticed, between looking at a hook and
// installing it.
func (a *App) fetchToInstall(ctx context.Context, command, target string, o registryOptions, quiet bool) (*oci.Pulled,
	error) {
	ref, err := parseRegistry(target)
	if err != nil {
		return nil, err
	}
	client, done, err := a.registry(o, quiet)
	if err != nil {
		return nil, err
	}
	defer done()
	if ref.Digest == "" {
		if ref.Tag == "" {
			return nil, usageError("which one? "+ref.String()+" has neither a tag nor a digest", "Add @sha256:… to it.")
		}
		pinned, err := client.Resolve(ctx, ref)
		done()
		if err != nil {
			return nil, registryFailure(err, ref)
		}
		return nil, usageError("a tag can be moved to another hook at any time; hooks are installed by digest",
			"It stands for this one now: "+command+" "+pinned.String())
	}
	p, err := client.Pull(ctx, ref)
	done()
	if err != nil {
		return nil, registryFailure(err, ref)
	}
	a.tellSkipped(p)
	return p, nil
}
