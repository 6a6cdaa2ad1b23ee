package cli

import (
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/cmd/internal/export"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/reconcile"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// argumentValues says what completes the arguments of each command that takes some. A test
// compares it with the tree: free stands where only the caller knows the words.
func (a *App) argumentValues() map[string]cobra.CompletionFunc {
	free := cobra.NoFileCompletions
	module := orFiles("wasm", a.builtinHooks)
	item := once(a.approvalIDs(""))
	pending := once(a.approvalIDs(approvals.Pending))
	bound := once(a.boundHooks)
	event := once(a.eventNumbers)
	lease := once(a.leaseIDs)
	latched := places(a.latchedRuntimes, a.latchedSessions, free)
	return map[string]cobra.CompletionFunc{
		"approvals approve": pending, "approvals deny": pending, "approvals show": item, "approvals wait": pending,
		"completion":   once(values(shells()...)),
		"conform host": fileNames(), "conform sdk": once(fileNames("wasm")),
		"connect": once(values(connect.Runtimes()...)), "disconnect": once(values(connect.Runtimes()...)),
		"events prove": event, "events show": event,
		"fuzz":       once(module),
		"help":       commandNames,
		"hook build": once(directories), "hook new": places(free, fileNames("yaml", "yml"), free),
		"hook disable": bound, "hook enable": bound, "hook enforce": bound, "hook observe": bound, "hook remove": bound,
		"hook inspect": once(orFiles("wasm", both(a.builtinHooks, a.boundHooks))),
		"hook install": once(module), "hook propose": once(fileNames("wasm")), "hook pull": free,
		"hook push": places(fileNames("wasm"), free), "hook sign": once(fileNames("wasm")),
		"hook upgrade": places(a.boundHooks, module, free), "hook verify": once(fileNames("wasm")),
		"latch clear": latched, "reviewer sign latch clear": latched,
		"lease revoke": lease, "lease show": lease,
		"record": once(fileNames()), "record keygen": once(fileNames()),
		"replay":        fileNames(),
		"reviewer init": free, "reviewer sign draft": once(fileNames()),
		"config user": once(fileNames("yaml", "yml")),
		"rules build": once(fileNames("yaml", "yml")), "rules explain": once(fileNames("yaml", "yml")),
		"schema":         once(schemaNames()),
		"system connect": once(values(connect.Runtimes()...)), "system disconnect": once(values(connect.Runtimes()...)),
		"system import": once(directories), "system receive": free,
		"test":          directories,
		"trust add-key": fileNames("pub"), "trust generate-key": free,
	}
}

// flagValues says what completes each flag whose value is a text: by its name, or by a command and its name where it
// means another thing there. A number or a duration needs no entry.
func (a *App) flagValues() map[string]cobra.CompletionFunc {
	free := cobra.NoFileCompletions
	json, wasm := fileNames("json"), fileNames("wasm")
	phase := named(phases.Phases())
	capability := commaSeparated(hostcallNames)
	decision := values(string(phases.Allow), string(phases.Ask), string(phases.Block))
	runtime := values(append(hookcmd.RuntimeNames(), "custom")...)
	ago := cobra.FixedCompletions(
		[]cobra.Completion{"1h", "24h\tthe last day", "7d\tthe last week", "30d\tthe last month"},
		cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
	return map[string]cobra.CompletionFunc{
		"--accept":       commaSeparated(named(install.Weakenings())),
		"--against":      fileNames(),
		"--agent":        a.eventValues(func(e *phases.Event) string { return e.Agent }),
		"--allow":        capability,
		"--approval":     a.approvalIDs(approvals.Approved),
		"--args":         free,
		"--as":           a.reviewerNames,
		"--at":           free,
		"--auditor-role": free, "--kernel-role": free, "--reviewer-role": free,
		"--auth-file": json,
		"--before":    ago,
		"--blob-host": free,
		"--bundle":    json,
		"--by":        values(reportColumns()...),
		"--ca-file":   fileNames("pem", "crt", "cer"),

		"--capability":               capability,
		"lease check --capability":   leasePowers(),
		"lease mint --capability":    leasePowers(),
		"--checkpoint":               fileNames(),
		"--compare":                  values(string(replay.Exact), string(replay.Decision), string(replay.Budget)),
		"--config":                   fileNames("json", "yaml", "yml"),
		"--config-file":              fileNames("yaml", "yml"),
		"--connect":                  directories,
		"--content":                  free,
		"--cover-html":               fileNames("html"),
		"--coverprofile":             fileNames(),
		"--credential":               free,
		"--daemon":                   directories,
		"--decision":                 values(eventDecisions()...),
		"record --decision":          decision,
		"--digest":                   free,
		"--dir":                      directories,
		"--dsn-file":                 fileNames(),
		"--event":                    json,
		"--expect":                   commaSeparated(free),
		"--file":                     json,
		"trust deny --file":          wasm,
		"--for":                      a.runtimeEvents,
		"--forget-key":               free,
		"--format":                   named(export.Formats()),
		"--from":                     values(recordForms()...),
		"hook new --from":            values("rules"),
		"--fulcio-url":               free,
		"--gitleaks":                 fileNames("toml"),
		"--hook":                     a.boundHooks,
		"connect --hook":             fileNames(),
		"eval --hook":                wasm,
		"record --hook":              wasm,
		"replay --hook":              orFiles("wasm", a.builtinHooks),
		"trust add-identity --hook":  commaSeparated(free),
		"trust add-key --hook":       commaSeparated(free),
		"--host":                     free,
		"--programs":                 directories,
		"system import --user":       free,
		"--html":                     fileNames("html"),
		"--id":                       free,
		"--identity":                 fileNames(),
		"trust deny --identity":      free,
		"--identity-token":           free,
		"--invocation":               a.eventValues(func(e *phases.Event) string { return e.Invocation }),
		"--issuer":                   free,
		"--junit":                    fileNames("xml"),
		"--key":                      fileNames(),
		"events verify --key":        free,
		"trust deny --key":           fileNames("pub"),
		"--keys":                     fileNames(),
		"--kind":                     named(phases.Kinds()),
		"approvals list --kind":      named(queue.Kinds()),
		"--lang":                     values(hookbuild.Languages()...),
		"--listen":                   values("127.0.0.1:", "[::1]:"),
		"--log":                      values("text", "json"),
		"--mask":                     free,
		"--memory":                   fileNames(),
		"--min-version":              free,
		"--module":                   wasm,
		"--name":                     free,
		"--not-after":                free,
		"--not-before":               free,
		"--out":                      fileNames(),
		"fuzz --out":                 directories,
		"record --out":               directories,
		"--output":                   fileNames(),
		"hook build --output":        wasm,
		"hook pull --output":         wasm,
		"rules build --output":       directories,
		"--parent":                   a.leaseIDs,
		"--path":                     fileNames(),
		"--phase":                    phase,
		"hook install --phase":       commaSeparated(phase),
		"hook propose --phase":       commaSeparated(phase),
		"trust add-identity --phase": commaSeparated(phase),
		"trust add-key --phase":      commaSeparated(phase),
		"--policy":                   fileNames("yaml", "yml"),
		"--prefix":                   a.leaseIDs,
		"--proof":                    fileNames(),
		"--reason":                   free,
		"--recipient":                fileNames(),
		"--record":                   directories,
		"--recordings":               fileNames(),
		"record --recordings":        directories,
		"--rekor-url":                free,
		"--remove":                   free,
		"--report":                   fileNames("html", "json", "xml"),
		"--root":                     directories,
		"--root-cert":                fileNames("pem", "crt"),
		"--rule":                     free,
		"--run":                      free,
		"--runtime":                  runtime,
		"eval --runtime":             values(hookcmd.RuntimeNames()...),
		"events reconcile --runtime": values(reconcile.Runtimes()...),
		"--schema":                   free,
		"--session":                  a.eventValues(func(e *phases.Event) string { return e.Session }),
		"--signature":                fileNames(),
		"trust deny --signature":     free,
		"--since":                    ago,
		"--source":                   directories,
		"approvals list --only":      named(queue.States()),
		"lease list --only":          named(leaseStates()),
		"--statement":                fileNames(),
		"--subject":                  free,
		"--subject-prefix":           free,
		"--subject-regex":            free,
		"--target":                   values(hookbuild.Targets()...),
		"--timestamp-url":            free,
		"--tls":                      values("verify-full", "verify-ca", "off"),
		"--to":                       directories,
		"--token":                    free,
		"--token-host":               free,
		"--tool":                     a.toolNames,
		"--tools":                    free,
		"--transcript":               fileNames("jsonl", "json"),
		"--trusted-root":             json,
		"--type":                     named(phases.EventTypes()),
		"--until":                    ago,
		"--why":                      free,
	}
}
