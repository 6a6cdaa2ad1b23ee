package shell

import "strings"

// escapes walks what a text of another language gives to a shell in a place made for that, such as \! in psql: where
// the place can be found without knowing the language. What a program calls is not looked for.
func (w *walker) escapes(e *env, language string, text Word, h handed) {
	switch language {
	case "sql", "vim", "ed", "gdb", "lldb", "crontab", "lftp", "ftp", "sftp", "dc", "ranger", "tex", "puppet":
	default:
		return
	}
	for line := range strings.Lines(text.Text) {
		if !w.step() {
			return
		}
		line = strings.TrimRight(line, "\n")
		var code string
		var ok bool
		switch language {
		case "sql":
			code, ok = sqlEscape(line)
		case "vim", "ed":
			code, ok = viEscape(line)
		case "crontab":
			code, ok = crontabLine(line)
		case "lftp":
			code, ok = lftpEscape(line)
		case "ftp", "sftp":
			code, ok = bangEscape(line)
		case "dc":
			code, ok = dcEscape(line)
		case "ranger":
			code, ok = rangerEscape(line)
		case "tex":
			code, ok = texEscape(line)
		case "puppet":
			code, ok = puppetEscape(line)
		default:
			code, ok = debuggerEscape(line)
		}
		if ok {
			w.code(e, w.word(code, text.Known, false, false), h.name, h.c, h.i, false, h.raw)
		}
	}
}

// after cuts the text behind one of the words, which a blank follows.
func after(s string, words ...string) (string, bool) {
	for _, word := range words {
		if rest, ok := strings.CutPrefix(s, word); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// sqlEscape finds the command of a shell in a line for a client of a database.
func sqlEscape(line string) (string, bool) {
	if _, code, ok := strings.Cut(line, `\!`); ok { // psql, mysql
		return strings.TrimSpace(code), true
	}
	t := strings.TrimSpace(line)
	if code, ok := after(t, "system", ".shell", ".system", ".sh", "shell", "!"); ok { // mysql, sqlite3, duckdb
		return strings.TrimSuffix(code, ";"), true
	}
	for _, into := range []string{`\o`, `\g`, `\gx`, `\w`, ".once", ".output", "pager", `\P`, "tee"} {
		rest, ok := after(t, into)
		if code, pipe := strings.CutPrefix(strings.TrimPrefix(rest, "-e "), "|"); ok && pipe {
			return strings.TrimSpace(code), true
		}
		if ok && (into == "pager" || into == `\P`) && rest != "" {
			return rest, true
		}
	}
	low := strings.ToLower(line)
	if at := strings.Index(low, "program"); at >= 0 && strings.Contains(low[:at], "copy") && len(low) == len(line) {
		rest := strings.TrimLeft(line[at+len("program"):], " \t")
		if strings.HasPrefix(rest, "'") {
			code, end := "", false
			for rest = rest[1:]; rest != "" && !end; { // '' is a quote
				part, more, _ := strings.Cut(rest, "'")
				code += part
				if end = !strings.HasPrefix(more, "'"); !end {
					code, more = code+"'", more[1:]
				}
				rest = more
			}
			return code, true
		}
	}
	return "", false
}

// viEscape finds the command of a shell in a line for ed, ex or vim.
func viEscape(line string) (string, bool) {
	t := strings.TrimLeft(line, ": \t")
	for {
		rest, ok := after(t, "sil", "silent", "silent!", "sil!", "exe", "keepalt", "noautocmd")
		if !ok {
			break
		}
		t = strings.TrimLeft(rest, ": \t")
	}
	t = strings.TrimLeft(t, "%0123456789,.$;+- \t")
	if code, ok := strings.CutPrefix(t, "!"); ok {
		return strings.TrimLeft(code, "! "), true
	}
	for _, verb := range []string{"r", "re", "read", "w", "write", "te", "ter", "term", "terminal"} {
		rest, ok := strings.CutPrefix(t, verb)
		if !ok {
			continue
		}
		if code, bang := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "!"); bang {
			return strings.TrimSpace(code), true
		}
		if code, terminal := after(rest, ""); verb[0] == 't' && terminal && code != "" {
			return code, true
		}
	}
	return "", false
}

// debuggerEscape finds the command of a shell in a line for gdb or lldb.
func debuggerEscape(line string) (string, bool) {
	t := strings.TrimSpace(line)
	if code, ok := strings.CutPrefix(t, "!"); ok {
		return code, true
	}
	if code, ok := after(t, "platform shell", "shell"); ok {
		return code, true
	}
	if rest, ok := after(t, "pipe"); ok {
		_, code, ok := strings.Cut(rest, "|")
		return strings.TrimSpace(code), ok
	}
	return "", false
}

// crontabLine finds the command in a line of a crontab.
func crontabLine(line string) (string, bool) {
	t := strings.TrimSpace(line)
	if t == "" || t[0] == '#' {
		return "", false
	}
	fields := 5
	if t[0] == '@' {
		fields = 1
	} else if name, _, ok := strings.Cut(t, "="); ok && !strings.ContainsAny(strings.TrimSpace(name), " \t*/") {
		return "", false // a setting
	}
	for range fields {
		at := strings.IndexAny(t, " \t")
		if at < 0 {
			return "", false
		}
		t = strings.TrimLeft(t[at:], " \t")
	}
	code, _, _ := strings.Cut(strings.ReplaceAll(t, `\%`, "\x00"), "%") // the rest is its input
	return strings.ReplaceAll(code, "\x00", "%"), code != ""
}

// sedScript walks the commands that sed runs: e COMMAND. What s///e and a bare e run is not known.
func (w *walker) sedScript(e *env, text Word, h handed) {
	s := text.Text
	for s != "" && w.step() {
		s = strings.TrimLeft(s, " \t\n;{}!,0123456789$~+")
		if s == "" {
			return
		}
		c := s[0]
		s = s[1:]
		switch c {
		case '/', '\\': // an address
			if c == '\\' && s != "" {
				c, s = s[0], s[1:]
			}
			_, s = delimited(s, c)
			s = strings.TrimLeft(s, "IM")
		case 's', 'y':
			if s == "" {
				return
			}
			d := s[0]
			_, s = delimited(s[1:], d)
			_, s = delimited(s, d)
			flags := len(s) - len(strings.TrimLeft(s, "gpiIeEmM0123456789"))
			if c == 's' && strings.Contains(s[:flags], "e") {
				w.unknown("code", h.raw, h.i)
			}
			s = s[flags:]
			if strings.HasPrefix(s, "w") {
				_, s, _ = strings.Cut(s, "\n")
			}
		case 'e':
			var code string
			code, s, _ = strings.Cut(s, "\n")
			if code = strings.TrimSpace(code); code == "" {
				w.unknown("code", h.raw, h.i)
			} else {
				w.code(e, w.word(code, text.Known, false, false), h.name, h.c, h.i, false, h.raw)
			}
		case 'a', 'i', 'c', 'r', 'R', 'w', 'W', ':', '#':
			for {
				var line string
				line, s, _ = strings.Cut(s, "\n")
				if s == "" || !strings.HasSuffix(line, `\`) {
					break
				}
			}
		}
	}
}

// maxSet is how far a set in brackets reaches, in bytes.
const maxSet = 256

// delimited cuts the text before the next delimiter that no backslash or bracket hides.
func delimited(s string, d byte) (before, rest string) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == d:
			return s[:i], s[i+1:]
		case s[i] == '[':
			end := strings.IndexByte(s[min(i+2, len(s)):min(i+maxSet, len(s))], ']')
			if end > 0 && !strings.Contains(s[i:i+2+end], "\n") {
				i += 2 + end
			}
		}
	}
	return s, ""
}
