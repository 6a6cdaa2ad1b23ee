package shell

import (
	"slices"
	"strings"
)

// fill marks the text that a program replaces by its inputs, which are not known: a command
// whose name has it is any command.
func (c ctx) fill(hole string) ctx {
	if hole != "" {
		c.holes = append(slices.Clip(c.holes), hole)
	}
	return c
}

// filled reports a name that an input is put into.
func (c ctx) filled(name string) bool {
	return slices.ContainsFunc(c.holes, func(hole string) bool { return strings.Contains(name, hole) })
}

// replaced returns what GNU parallel replaces by an input: everything in braces, and what
// its options before the command say. sure is false where these cannot be read.
func replaced(options []Word) (holes []string, sure bool) {
	holes, sure = []string{"{", "}"}, true
	for k, o := range options {
		sure = sure && o.Known
		opt, value, _ := strings.Cut(o.Text, "=")
		switch {
		case strings.HasPrefix(o.Text, "-I"), strings.HasPrefix(o.Text, "-U"), strings.HasPrefix(o.Text, "-i"):
			value = o.Text[2:]
		case opt != "--rpl" && opt != "--replace":
			continue
		}
		if value == "" && k+1 < len(options) && opt != "-i" && opt != "--replace" {
			value = options[k+1].Text
		}
		hole, _, _ := strings.Cut(value, " ") // behind it, --rpl has code
		holes = append(holes, hole)
	}
	return holes, sure
}
