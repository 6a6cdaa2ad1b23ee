package redact

import "strings"

// findFiles finds secrets that have their place in a file or message of a known form, where no name stands right before
// them.
func findFiles(s string, c *census, add func(kind string, from, to int)) {
	if c.literals&literalForm != 0 {
		formFields(s, add)
	}
	if c.literals&literalWifi != 0 {
		wifiCode(s, add)
	}
	if c.literals&literalDrivers != 0 {
		driverNames(s, add)
	}
	if c.literals&literalPasswordFor != 0 {
		passwordFor(s, add)
	}
	if c.literals&literalAccounts != 0 {
		accountLines(s, add)
	}
	if c.literals&literalCookies != 0 || c.chap() && starred(s) {
		at := 0
		for line := range strings.SplitSeq(s, "\n") {
			if strings.IndexByte(line, '\t') >= 0 {
				cookieLine(line, at, add)
			}
			if strings.HasSuffix(line, "*") {
				chapLine(line, at, add)
			}
			at += len(line) + 1
		}
	}
}

// Read only.
var (
	literalForm        = literalOf(`form-data; name="`)
	literalWifi        = literalOf("WIFI:")
	literalDrivers     = literalOf("@tcp(") | literalOf("@unix(")
	literalPasswordFor = literalOf("PASSWORD FOR ")
	literalAccounts    = literalOf("chpasswd")
	literalCookies     = literalOf("TRUE\t") | literalOf("FALSE\t")
	literalFiles       = literalForm | literalWifi | literalDrivers | literalPasswordFor | literalAccounts | literalCookies
)

// chap reports whether there are the bytes of a line of PPP.
func (c *census) chap() bool { return c.all(`*" `) }

// starred reports whether a * stands one or two blanks behind a quote.
func starred(s string) bool {
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], '*')
		if i < 0 {
			return false
		}
		if at += i; strings.HasSuffix(s[:at], `" `) || strings.HasSuffix(s[:at], `"  `) {
			return true
		}
	}
}

// formFields finds the fields of a form of several parts whose names are telling.
func formFields(s string, add func(kind string, from, to int)) {
	const head = `form-data; name="`
	for at := 0; ; {
		i := strings.Index(s[at:], head)
		if i < 0 {
			return
		}
		at += i + len(head)
		name, _, ok := strings.Cut(s[at:min(len(s), at+80)], `"`)
		kind, str := nameKind(name)
		if !ok || str == none {
			continue
		}
		from := at + len(name) + 1
		for _, blank := range [...]string{"\r\n\r\n", "\n\n"} {
			if strings.HasPrefix(s[from:], blank) {
				from += len(blank)
				v, _, _ := strings.Cut(s[from:], "\n")
				if v = strings.TrimRight(v, "\r"); credible(v, str, true) && !openAs(kind, v) {
					add(kind, from, from+len(v))
				}
				break
			}
		}
	}
}

// driverNames finds the password in the name of a data source of Go's drivers: USER:PASSWORD@tcp(HOST:PORT)/NAME.
func driverNames(s string, add func(kind string, from, to int)) {
	for _, net := range [...]string{"@tcp(", "@unix("} {
		for at := 0; ; {
			i := strings.Index(s[at:], net)
			if i < 0 {
				break
			}
			to := at + i
			at = to + len(net)
			from := max(0, to-128)
			from += strings.LastIndexAny(s[from:to], " \t\r\n\"'`") + 1
			user, pass, ok := strings.Cut(s[from:to], ":")
			if ok && user != "" && user != pass && credible(pass, strong, true) {
				add("url-password", from+len(user)+1, to)
			}
		}
	}
}

// passwordFor finds SET PASSWORD FOR USER = 'PASSWORD' of SQL.
func passwordFor(s string, add func(kind string, from, to int)) {
	const head = "PASSWORD FOR "
	for at := 0; ; {
		i := strings.Index(s[at:], head)
		if i < 0 {
			return
		}
		at += i + len(head)
		n := strings.Index(s[at:min(len(s), at+80)], "= '")
		if n < 0 || strings.IndexByte(s[at:at+n], '\n') >= 0 {
			continue
		}
		from := at + n + len("= '")
		if to := quotedEnd(s, from-1); credible(s[from:to], strong, true) {
			add("password", from, to)
		}
	}
}

// wifiCode finds the password in the text of a code that a telephone reads: WIFI:S:NAME;T:WPA;P:PASSWORD;;
func wifiCode(s string, add func(kind string, from, to int)) {
	for at := 0; ; {
		i := strings.Index(s[at:], "WIFI:")
		if i < 0 {
			return
		}
		at += i + len("WIFI:")
		from := at
		for field := range strings.SplitSeq(s[at:min(len(s), at+256)], ";") {
			if v, ok := strings.CutPrefix(field, "P:"); ok && credible(v, strong, true) {
				add("password", from+len("P:"), from+len(field))
			}
			if from += len(field) + 1; field == "" || strings.IndexByte(field, '\n') >= 0 {
				break
			}
		}
	}
}

// accountLines finds the lines NAME:PASSWORD that chpasswd reads, in a list of cloud-init or a here-document.
func accountLines(s string, add func(kind string, from, to int)) {
	i := strings.Index(s, "chpasswd")
	if i < 0 {
		return
	}
	at := i + strings.IndexByte(s[i:], '\n') + 1
	if at <= i {
		return
	}
	for line := range strings.SplitSeq(s[at:min(len(s), at+4096)], "\n") {
		body := strings.TrimLeft(line, " -")
		name, v, ok := strings.Cut(strings.TrimRight(body, "\r"), ":")
		if ok && name != "" && onlyNames(name) && v != "" && v[0] != ' ' && strings.IndexByte(v, ' ') < 0 &&
			credible(v, strong, true) {
			from := at + len(line) - len(body) + len(name) + 1
			add("password", from, from+len(v))
		}
		at += len(line) + 1
	}
}

// cookieLine finds the value of a cookie in the file of a client: host, TRUE or FALSE, path, TRUE or FALSE, time, name,
// value.
func cookieLine(line string, at int, add func(kind string, from, to int)) {
	f := strings.Split(strings.TrimRight(line, "\r"), "\t")
	if len(f) != 7 || f[1] != "TRUE" && f[1] != "FALSE" || f[3] != "TRUE" && f[3] != "FALSE" {
		return
	}
	if v := f[6]; len(v) >= 16 && credible(v, weak, true) {
		from := at + len(strings.TrimRight(line, "\r")) - len(v)
		add("cookie", from, from+len(v))
	}
}

// chapLine finds the secret of a line of PPP: NAME * "SECRET" *.
func chapLine(line string, at int, add func(kind string, from, to int)) {
	f := strings.Fields(line)
	if len(f) != 4 || f[1] != "*" || f[3] != "*" || len(f[2]) < 8 || f[2][0] != '"' || !strings.HasSuffix(f[2], `"`) {
		return
	}
	v := f[2][1 : len(f[2])-1]
	if strings.ContainsAny(v, "0123456789!#%&") && credible(v, strong, true) {
		from := at + strings.Index(line, f[2]) + 1
		add("password", from, from+len(v))
	}
}

// plistKey returns the key that stands before the string of a property list that begins at s[at:].
func plistKey(s string, at int) string {
	head := s[max(0, at-160):at]
	i := strings.LastIndex(head, "</key>")
	if i < 0 || strings.Trim(head[i+len("</key>"):], " \t\r\n<") != "" {
		return "-"
	}
	return head[strings.LastIndexByte(head[:i], '>')+1 : i]
}
