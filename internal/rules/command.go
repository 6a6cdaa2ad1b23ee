package rules

import (
	"errors"
	"slices"
	"strings"
)

// command is a pattern for one command that would run.
type command struct {
	program string   // * is any
	sub     []string // words of the subcommand, each with alternatives split by |
	flags   []string // each has to be there; alternatives split by |
	args    []string // each has to match an argument; * is any text
	valued  []string // flags of the program that take the next word
}

// parseCommand reads PROGRAM [SUBCOMMAND…] [FLAG…] [-- ARGUMENT…]: "git push --force|-f",
// "rm -- */prod/*". Words before the first flag are the subcommand.
func parseCommand(s string) (*command, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return nil, errors.New("is empty: write PROGRAM [SUBCOMMAND…] [FLAG…] [-- ARGUMENT…]")
	}
	c := &command{program: words[0]}
	switch {
	case strings.HasPrefix(c.program, "-"):
		return nil, errors.New("begins with a flag; the program comes first, * for any")
	case strings.Contains(c.program, "/"):
		return nil, errors.New("names a directory; programs are compared by the last part of their path")
	case c.program != "*" && strings.ContainsAny(c.program, "*?[]{}$`'\"\\;&<>()"):
		return nil, errors.New("the program is a name, or * for any")
	case c.program != "*" && strings.Contains(c.program, "|"):
		return nil, errors.New("list several programs as several entries; | is for subcommands, flags and arguments")
	}
	rest, args := words[1:], false
	for _, w := range rest {
		switch {
		case args:
			if w != "|" && slices.Contains(strings.Split(w, "|"), "") {
				return nil, errors.New("an alternative is empty")
			}
			c.args = append(c.args, w)
		case w == "--":
			args = true
		case strings.HasPrefix(w, "-"):
			if err := checkFlag(w); err != nil {
				return nil, err
			}
			c.flags = append(c.flags, w)
		case len(c.flags) > 0:
			return nil, errors.New("a word stands behind a flag: write the subcommand first, and arguments behind --")
		case strings.ContainsAny(w, "*?"):
			return nil, errors.New("patterns of arguments stand behind --")
		default:
			if slices.Contains(strings.Split(w, "|"), "") {
				return nil, errors.New("an alternative is empty")
			}
			c.sub = append(c.sub, w)
		}
	}
	if args && len(c.args) == 0 {
		return nil, errors.New("nothing stands behind --")
	}
	if c.program == "*" && len(c.sub)+len(c.flags)+len(c.args) == 0 {
		return nil, errors.New("matches every command: match the tool exec instead")
	}
	c.valued = valuedFlags(c.program)
	return c, nil
}

func checkFlag(w string) error {
	for _, alternative := range strings.Split(w, "|") {
		switch {
		case !strings.HasPrefix(alternative, "-") || strings.Trim(alternative, "-") == "":
			return errors.New("each alternative of a flag begins with -")
		case strings.Contains(alternative, "="):
			return errors.New("a flag is compared without its value; put the value behind -- as a pattern")
		}
	}
	return nil
}

// valuedFlags are flags of well-known programs, before their subcommand, that take the
// next word. Without them that word would pass for the subcommand; see the engine for
// programs that are not here.
func valuedFlags(program string) []string {
	return map[string][]string{
		"git": {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env",
			"--attr-source"},
		"docker": {"-H", "--host", "-c", "--context", "-l", "--log-level", "--config", "--tlscacert", "--tlscert",
			"--tlskey"},
		"podman":         {"--connection", "-c", "--log-level", "--root", "--runroot", "--url", "--identity"},
		"docker-compose": {"-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory"},
		"kubectl": {"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server", "--token",
			"--as", "--as-group", "--request-timeout", "-v"},
		"helm":   {"-n", "--namespace", "--kube-context", "--kubeconfig", "--registry-config", "--repository-config"},
		"npm":    {"--prefix", "-C", "-w", "--workspace", "--registry", "--cache", "--userconfig", "--loglevel"},
		"pnpm":   {"-C", "--dir", "-F", "--filter", "--loglevel", "--reporter"},
		"yarn":   {"--cwd"},
		"pip":    {"--python", "--log", "--proxy", "--retries", "--timeout", "--cert", "--cache-dir"},
		"pip3":   {"--python", "--log", "--proxy", "--retries", "--timeout", "--cert", "--cache-dir"},
		"uv":     {"--directory", "--project", "--config-file", "--cache-dir", "--color", "--python"},
		"cargo":  {"-C", "--config", "--color", "-Z", "--manifest-path"},
		"aws":    {"--profile", "--region", "--output", "--endpoint-url", "--query", "--ca-bundle", "--color"},
		"gcloud": {"--project", "--account", "--configuration", "--format", "--verbosity"},
		"az":     {"--subscription", "-o", "--output", "--query"},
		"gh":     {"-R", "--repo", "--hostname"},
		"systemctl": {"-H", "--host", "-M", "--machine", "-t", "--type", "-p", "--property", "-n", "--lines", "-s",
			"--signal"},
		"apt":     {"-o", "--option", "-c", "--config-file", "-t", "--target-release"},
		"apt-get": {"-o", "--option", "-c", "--config-file", "-t", "--target-release"},
		"dnf":     {"-c", "--config", "--enablerepo", "--disablerepo", "--installroot", "--releasever", "-x"},
		"brew":    {},
		"make":    {"-C", "--directory", "-f", "--file", "-I", "-o", "-W"},
	}[program]
}
