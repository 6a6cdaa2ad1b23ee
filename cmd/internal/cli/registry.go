package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/cmd/internal/oci"
	"github.com/belay-hooks/belay/tiers"
)

// registryOptions are the flags of every command that talks to a registry.
type registryOptions struct {
	plainHTTP  bool
	tls        bool
	authFile   string
	caFile     string
	tokenHosts []string
	blobHosts  []string
	timeout    time.Duration
}

func (o *registryOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.plainHTTP, "plain-http", false, "talk without TLS to a host that is not this machine")
	f.BoolVar(&o.tls, "tls", false, "talk TLS to this machine too (default there: plain HTTP)")
	f.StringVar(&o.authFile, "auth-file", "",
		"Docker configuration with credentials (default $DOCKER_CONFIG/config.json, then ~/.docker/config.json)")
	f.StringVar(&o.caFile, "ca-file", "", "PEM file with the certificates to trust instead of the system's")
	f.StringSliceVar(&o.tokenHosts, "token-host", nil,
		"host that may be sent the registry's credentials when the registry asks for a token from there")
	f.StringSliceVar(&o.blobHosts, "blob-host", nil,
		"host that the registry may redirect downloads to, beside those that are known for it; it is sent no credentials")
	f.DurationVar(&o.timeout, "timeout", oci.DefaultTimeout, "for the whole transfer")
}

// registry returns the client for the flags. Call done before printing anything.
func (a *App) registry(options registryOptions, quiet bool) (c *oci.Client, done func(), err error) {
	if options.plainHTTP && options.tls {
		return nil, nil, usageError("--plain-http and --tls exclude each other", "")
	}
	if options.timeout <= 0 {
		return nil, nil, usageError("--timeout has to be longer than nothing", "")
	}
	file := options.authFile
	if file == "" {
		if dir := a.Getenv("DOCKER_CONFIG"); dir != "" {
			file = filepath.Join(dir, "config.json")
		} else if home := a.Getenv("HOME"); home != "" {
			file = filepath.Join(home, ".docker", "config.json")
		}
	}
	if options.plainHTTP {
		fmt.Fprintln(a.Err,
			"belay: warning: without TLS, everybody on the way can read credentials and what is transferred; digests still hold")
	}
	opts := oci.Options{
		UnsafePlainHTTP: options.plainHTTP, ForceTLS: options.tls, AuthFile: file, CAFile: options.caFile,
		TokenHosts: options.tokenHosts, BlobHosts: options.blobHosts, Timeout: options.timeout,
	}
	done = func() {}
	if a.Terminal && !quiet {
		opts.Progress, done = a.transferLine()
	}
	return oci.New(opts), done, nil
}

// transferLine shows the progress of a transfer on one line, which it
// overwrites.
func (a *App) transferLine() (func(step string, n, total int64), func()) {
	shown := false
	show := func(step string, n, total int64) {
		shown = true
		text := step
		if step == "module" && total > 0 {
			text += fmt.Sprintf(" %s of %s", bytesText(n), bytesText(total))
		}
		fmt.Fprintf(a.Err, "\r\x1b[K%s …", text)
	}
	return show, func() {
		if shown {
			fmt.Fprint(a.Err, "\r\x1b[K")
		}
	}
}

func isRegistry(s string) bool { return strings.HasPrefix(s, oci.Scheme) }

func parseRegistry(s string) (oci.Reference, error) {
	ref, err := oci.ParseReference(s)
	if err != nil {
		hint := "A reference is oci://HOST/REPOSITORY:TAG or …@sha256:DIGEST, such as oci://ghcr.io/acme/hooks/guard:1.0."
		if !isRegistry(s) {
			if _, err := oci.ParseReference(oci.Scheme + s); err == nil {
				hint = "Did you mean " + oci.Scheme + safe(s) + "?"
			}
		}
		var fault *oci.Error
		text := err.Error()
		if errors.As(err, &fault) {
			text = fault.Text
		}
		named := strconv.Quote(safe(s))
		if host, _, _ := strings.Cut(strings.TrimPrefix(s, oci.Scheme), "/"); strings.Contains(host, "@") {
			named = "this" // a password may stand in it
		}
		return ref, usageError(named+" is no reference: "+safe(text), hint)
	}
	return ref, nil
}

// registryFailure says what an operator can do about an error of a registry.
func registryFailure(err error, ref oci.Reference) error {
	hint := ""
	for _, h := range []struct {
		class error
		hint  string
	}{
		{oci.ErrAuth, "Log in with `docker login " + ref.Host +
			"` (or any tool that writes a Docker configuration), or give one with --auth-file."},
		{oci.ErrTokenHost, "Nothing was sent there. If that host does belong to the registry, name it with --token-host."},
		{oci.ErrRedirect, "Nothing was sent there. If that host does belong to the registry, name it with --blob-host."},
		{oci.ErrPlainHTTP, "Use TLS, or insist with --plain-http."},
		{oci.ErrNotFound, "The digest in a reference is the manifest's, as `belay hook push` prints it, and not the file's."},
		{oci.ErrDigest, "What came is not what was asked for. Nothing was kept."},
		{oci.ErrSize, "What came is not what was announced. Nothing was kept."},
		{oci.ErrTooLarge, "Nothing was kept."},
		{oci.ErrLayout, "A hook has one layer, the module, as `belay hook push` stores it."},
		{oci.ErrEvidence, "Other clients may be attaching things to the same hook; push again."},
		{oci.ErrUnavailable,
			"Is the address right? Proxies come from $HTTPS_PROXY, $HTTP_PROXY and $NO_PROXY; a registry without TLS needs --plain-http."},
	} {
		if errors.Is(err, h.class) {
			hint = h.hint
			break
		}
	}
	return failureBy(err, hint)
}

// evidenceOf converts pulled evidence for verification. The manifest comes
// first: the statements that follow are about it.
func evidenceOf(p *oci.Pulled) []tiers.Evidence {
	var list []tiers.Evidence
	if len(p.Evidence) > 0 {
		list = append(list, tiers.Evidence{Kind: tiers.EvidenceManifest, Name: p.ManifestDigest, Data: p.Manifest})
	}
	for _, e := range p.Evidence {
		list = append(list, tiers.Evidence{Kind: tiers.EvidenceKind(e.Kind), Name: e.Referrer, Data: e.Bytes})
	}
	return list
}

func (a *App) tellSkipped(p *oci.Pulled) {
	for _, s := range p.Skipped {
		fmt.Fprintf(a.Err, "belay: note: %s is attached to it and was not taken: %s\n", s.Referrer, safe(s.Why))
	}
}
