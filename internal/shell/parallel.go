package shell

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
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
	options = options[1:max(1, len(options)-len(args))]
	if lines, ok := eachInput(options, command, args[len(command):], open); ok {
		for _, line := range lines {
			w.code(e, line, "parallel", c, i, false, raw)
		}
		return
	}
	holes, sure := replaced(options)
	for _, hole := range holes {
		c = c.fill(hole)
	}
	all := joined(command, open)
	if all.Known && slices.ContainsFunc(command, forShell) {
		c.masked = "{"
		w.code(e, all, "parallel", c, i, false, raw)
		w.unknown("code", raw, i) // the inputs are missing in it
		if !strings.HasPrefix(strings.TrimSpace(all.Text), "{") {
			w.inPart()
		}
		return
	}
	w.argvOpen(e, "parallel", command, true, c, raw, i)
	if !sure || !all.Known || strings.Contains(command[0].Text, "{") {
		w.unknown("code", raw, i) // a shell reads once more what a word holds, or an input is the program
	}
}

// eachInput is the text of each command of a parallel whose inputs, and what they are put into, are known.
func eachInput(options, command, inputs []Word, open bool) (lines []Word, ok bool) {
	if open || len(inputs) < 2 || inputs[0].Text != ":::" || len(inputs) > maxUnroll || !allKnown(command) ||
		!allKnown(inputs) || !plainOptions(options) {
		return nil, false
	}
	text := joined(command, false).Text
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, false // an input is the program
	}
	for _, in := range inputs[1:] {
		line, ok := replacedBy(text, in.Text)
		if !ok || strings.HasPrefix(in.Text, ":::") {
			return nil, false
		}
		lines = append(lines, Word{Text: line, Known: true})
	}
	return lines, true
}

// replacedBy puts an input into the command of a parallel, or behind it.
func replacedBy(text, in string) (line string, ok bool) {
	if strings.Count(text, "{")*len(in) > MaxWordText {
		return "", false
	}
	base, ext := path.Base(in), path.Ext(in)
	line = text
	for _, part := range [][2]string{{"{}", in}, {"{.}", strings.TrimSuffix(in, ext)}, {"{/}", base}, {"{//}",
		path.Dir(in)},
		{"{/.}", strings.TrimSuffix(base, ext)}} {
		quoted, err := syntax.Quote(part[1], syntax.LangBash)
		if err != nil {
			return "", false
		}
		line = strings.ReplaceAll(line, part[0], quoted)
	}
	if line == text {
		quoted, err := syntax.Quote(in, syntax.LangBash)
		return text + " " + quoted, err == nil && !strings.Contains(text, "{")
	}
	return line, !strings.Contains(strings.ReplaceAll(line, in, ""), "{")
}

// plainOptions reports options of parallel that change nothing of its commands.
func plainOptions(options []Word) bool {
	for k := 0; k < len(options); k++ {
		switch o := options[k].Text; o {
		case "-k", "--keep-order", "--bar", "--eta", "--progress", "-t", "--verbose", "-v", "--will-cite",
			"--tag", "-u", "--group",
			"--lb", "--line-buffer", "--no-notice":
		case "-j", "--jobs", "-P", "--halt", "--joblog", "--retries", "--timeout", "--delay", "--load",
			"--memfree", "--nice":
			k++
		default:
			if !strings.HasPrefix(o, "-j") && !strings.HasPrefix(o, "-P") && !strings.HasPrefix(o, "--jobs=") {
				return false
			}
		}
	}
	return true
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

// masked is the words with those not known that an input is put into.
func masked(words []Word, hole string) []Word {
	words = slices.Clone(words)
	for k := range words {
		if strings.Contains(words[k].Text, hole) {
			words[k].Known = false
		}
	}
	return words
}
