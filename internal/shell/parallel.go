package shell

import (
	"slices"
	"strings"
	"unicode"
)

// parallel walks the command of GNU parallel, which joins the words, puts its inputs into them or behind them, and
// gives each of these texts to a shell. Without a command each input is one. Inputs begin behind :::, and
// behind :::: in files, which are not read here.
func (w *walker) parallel(e *env, args []Word, open bool, c ctx, raw string, i int) {
	isInput := func(a Word) bool { return strings.HasPrefix(a.Text, ":::") }
	command := args
	if at := slices.IndexFunc(args, isInput); at >= 0 {
		command = args[:at]
	}
	if len(command) == 0 {
		w.inputs(e, args, open, c, raw, i)
		return
	}
	options := w.reply.Commands[i].Words
	holes, sure := replaced(options[1:max(1, len(options)-len(args))])
	for _, hole := range holes {
		c = c.fill(hole)
	}
	all := joined(command, open)
	if all.Known && slices.ContainsFunc(command, forShell) {
		w.code(e, all, "parallel", c, i, false, raw)
		w.unknown("code", raw, i) // the inputs are missing in it
		return
	}
	w.argvOpen(e, "parallel", command, true, c, raw, i)
	if !sure || !all.Known || strings.Contains(command[0].Text, "{") {
		w.unknown("code", raw, i) // a shell reads once more what a word holds, or an input is the program
	}
}

// inputs walks each input of a parallel without a command. Those of files, of standard input and of several sources,
// which are combined, are not known.
func (w *walker) inputs(e *env, args []Word, open bool, c ctx, raw string, i int) {
	isInput := func(a Word) bool { return strings.HasPrefix(a.Text, ":::") }
	if len(args) == 0 || open || args[0].Text != ":::" || slices.ContainsFunc(args[1:], isInput) {
		w.unknown("code", raw, i)
		return
	}
	for _, a := range args[1:] {
		w.code(e, a, "parallel", c, i, false, raw)
	}
}

// forShell reports a word that a shell may not read as that one word.
func forShell(a Word) bool {
	return strings.ContainsFunc(a.Text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-+./:,@%={}", r)
	})
}
