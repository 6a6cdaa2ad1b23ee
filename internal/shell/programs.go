package shell

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"
)

// Program is a program of another language than the shell's that a command runs: an interpreter gets it as an
// argument, on its standard input or in a file. What it does is not told.
//
// It is no entry in Unknown, so that a guard decides by itself what it makes of `python3 -c 'print(1)'`: it judges the
// text if it can, or asks, or lets it pass. What a program runs in a place made for it (\! in psql, :! in vim) is
// walked, and listed in Commands.
type Program struct {
	What string `json:"what"` // program
	// awk, sed, python, javascript, sql, powershell, cmd, make, crontab …; "native" for a library that is loaded
	Language string `json:"language"`
	// the program, where it is at hand; ≤ 8 KiB
	Text string `json:"text,omitzero"`
	// parts of text are not known and stand as their source text, such as "$X"
	Partial bool `json:"partial,omitzero"`
	// the file that holds it, as the command names it; parts that are not known stand as their source text
	File    string `json:"file,omitzero"`
	Raw     string `json:"raw"`     // source text, cut at 512 bytes
	Command int    `json:"command"` // index in commands
}

// handsProgram adds a program to the reply, within the limits.
func (w *walker) handsProgram(p Program, h handed) {
	p.Text, p.File = w.plainText(p.Text), w.plainText(p.File)
	p.What, p.Raw, p.Command = "program", cutRaw(h.raw), h.i
	size := inReply(p.Text) + inReply(p.File) + inReply(p.Raw) + 64
	if len(w.reply.UnknownPrograms) >= MaxUnknown || w.told+size > maxTold {
		w.reply.Truncated = true
		return
	}
	w.told += size
	w.reply.UnknownPrograms = append(w.reply.UnknownPrograms, p)
}

// handsText tells a program text, and walks what it hands to a shell in a place made for it.
func (w *walker) handsText(e *env, language string, text Word, h handed) {
	if text.Text == "" && text.Known {
		return
	}
	if language == "powershell64" {
		language = "powershell"
		decoded, ok := utf16Text(text.Text)
		text.Known = text.Known && ok
		if text.Known {
			text.Text = decoded
		}
	}
	w.handsProgram(Program{Language: language, Text: text.Text, Partial: !text.Known}, h)
	w.escapes(e, language, text, h)
}

// utf16Text decodes what powershell -EncodedCommand takes.
func utf16Text(s string) (string, bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	return string(utf16.Decode(units)), true
}

// handsFile tells a program in a file; - is standard input.
func (w *walker) handsFile(e *env, language string, file Word, h handed) {
	switch file.Text {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		w.handsStdin(e, language, h)
		return
	}
	if text, ok := w.prints[file.Text]; ok && !file.Known {
		w.handsText(e, language, w.word(text, true, false, false), h)
		return
	}
	if text, ok := w.content(e, file); ok {
		w.handsText(e, language, text, h)
		return
	}
	w.handsProgram(Program{Language: language, File: file.Text}, h)
}

// handsStdin tells the program that an interpreter reads from its standard input, where that is no terminal.
func (w *walker) handsStdin(e *env, language string, h handed) {
	c := &h.c
	if c.stdin != nil {
		w.handsText(e, language, *c.stdin, h)
		return
	}
	for k := len(c.redirs) - 1; k >= 0; k-- {
		r := &c.redirs[k]
		if r.FD != 0 || !strings.HasPrefix(r.Op, "<") {
			continue
		}
		if r.Op == "<" || r.Op == "<>" {
			if text, ok := w.prints[r.Target.Text]; ok && !r.Target.Known {
				w.handsText(e, language, w.word(text, true, false, false), h)
			} else {
				w.handsProgram(Program{Language: language, File: r.Target.Text}, h)
			}
			return
		}
		w.handsProgram(Program{Language: language}, h)
		return
	}
	if c.stdinFrom >= 0 || c.fed {
		w.handsProgram(Program{Language: language}, h)
		if language == "crontab" {
			w.fedLines(e, h)
		}
	}
}
