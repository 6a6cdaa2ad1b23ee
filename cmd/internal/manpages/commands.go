package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/cmd/internal/cli"
)

// write writes all pages.
func write(dir, version string, date time.Time) error {
	pages := map[string][]byte{}
	root := cli.Commands()
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	if err := commandPages(root, version, date, pages); err != nil {
		return err
	}
	if err := filePages(version, date, pages); err != nil {
		return err
	}
	for name, page := range pages {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, ascii(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ascii writes other characters by their code points: not every formatter is told the encoding of its input. Lines are
// not stretched: names and paths are long, and a line may have only two words.
func ascii(page []byte) []byte {
	var b bytes.Buffer
	for _, r := range strings.Replace(string(page), ".nh\n", ".nh\n.ad l\n", 1) {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.Bytes()
}

// commandPages makes the page of a command and those of the commands below it.
func commandPages(c *cobra.Command, version string, date time.Time, pages map[string][]byte) error {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := commandPages(sub, version, date, pages); err != nil {
				return err
			}
		}
	}
	asMarkdown(c)
	var page bytes.Buffer
	err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Date: &date, Source: sourceOf(version), Manual: "belay"}, &page)
	pages[filepath.Join("man1", strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")] = tidied(page.String(), date)
	return err
}

// tidied is a page of cobra's in the form that every formatter knows: its date by year, month and day, each option
// with its text set in below it.
func tidied(page string, date time.Time) []byte {
	quoted := func(form string) string { return fmt.Sprintf("%q", date.Format(form)) }
	page = strings.Replace(page, quoted("Jan 2006"), quoted(time.DateOnly), 1)
	option := regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*)\n\t(.*)$`)
	page = option.ReplaceAllString(page, ".TP\n$1\n$2")
	// Of a word that is longer than a line, the parts may stand in lines of their own.
	long := regexp.MustCompile(`\S{50,}`)
	return []byte(long.ReplaceAllStringFunc(page, strings.NewReplacer("[", `\:[`, "|", `|\:`).Replace))
}

func sourceOf(version string) string {
	if version == "" {
		return "belay"
	}
	return "belay " + version
}

// asMarkdown turns the texts of a command into what cobra takes them for.
func asMarkdown(c *cobra.Command) {
	c.InitDefaultHelpFlag()
	name, rest, _ := strings.Cut(c.Use, " ")
	c.Use = strings.TrimSpace(name + " " + escaped(rest))
	if c.Long == "" {
		c.Long = c.Short + "."
	}
	c.Short, c.Long = inline(c.Short), paragraphs(c.Long)
	if !c.HasParent() {
		c.Long += ofAll()
	}
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		f.Usage = inline(f.Usage)
		if strings.HasPrefix(f.DefValue, "[") { // of a list: it is empty
			f.DefValue = ""
		}
	})
}

// ofAll is what holds for every command, on the page of belay itself.
func ofAll() string {
	var b strings.Builder
	b.WriteString("\n\n# EXIT STATUS\n")
	for status, means := range []string{"The command did what it says; for `eval`, the action is allowed.", "An error.",
		"Wrong usage.", "The action is blocked.", "The action waits for a person.", "Differences were found."} {
		fmt.Fprintf(&b, "%d\n:   %s\n\n", status, inline(means))
	}
	fmt.Fprintf(&b, "# ENVIRONMENT\n%s\n:   %s\n\n# FILES\n", escaped("BELAY_HOME"),
		inline("The state directory, where --state names none."))
	var names []string
	for _, f := range filePageNames() {
		names = append(names, "**"+escaped(f)+"**(5)")
	}
	return b.String() + strings.Join(names, ", ") + " describe the files that belay reads.\n"
}
