package main

import "strings"

// marks are the characters that Markdown reads as more than themselves.
const marks = "\\*_{}[]()#+-.!|&<>~:"

// escaped returns a text that Markdown shows as it is.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "`", "'") {
		if strings.ContainsRune(marks, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// inline is escaped for a text in which commands and names of values stand in backquotes: these stay.
func inline(s string) string {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 {
		return escaped(s)
	}
	for i := range parts {
		if i%2 == 0 {
			parts[i] = escaped(parts[i])
		} else {
			parts[i] = "`" + parts[i] + "`"
		}
	}
	return strings.Join(parts, "")
}

// paragraphs is inline for the text of a help: its indented lines are commands and tables, and stay as they stand.
func paragraphs(long string) string {
	var out, prose []string
	end := func() {
		if prose != nil {
			out = append(out, inline(strings.Join(prose, "\n")))
		}
		prose = nil
	}
	literal := false
	for _, line := range strings.Split(long, "\n") {
		switch {
		case line == "":
			end()
			out = append(out, "")
			literal = false
		case strings.HasPrefix(line, "  "):
			end()
			if !literal {
				out = append(out, "")
			}
			out, literal = append(out, "    "+line), true
		default:
			if literal {
				out, literal = append(out, ""), false
			}
			prose = append(prose, line)
		}
	}
	end()
	return strings.Join(out, "\n")
}
