package prose

import (
	"regexp"
	"strings"
)

// Block is one fenced block of a page.
type Block struct {
	Line     int    // of its fence
	Language string // what stands behind the fence
	Text     string
	Needs    string // what the machine must have that a test has not: `<!-- needs: a registry -->` above the fence
	By       string // the test that checks the block, with its folder: `<!-- by: guard.TestReadme -->`
	Exit     string // the status of the last command, where it is not 0: `<!-- exit: 3 -->`
	File     string // the name under which the page's commands find the block: `<!-- file: rules.yaml -->`
	Shows    string // what the commands print, a regular expression: `<!-- shows: decision -->`
}

var (
	fence = regexp.MustCompile("(?ms)^```.*?^```[ \t]*$")
	// A mark stands in a comment of its own; several marks stand in several lines above a fence.
	block = regexp.MustCompile("(?ms)((?:^<!-- [a-z]+: [^\n]* -->\n)*)^```([^\n]*)\n(.*?)^```[ \t]*$")
	mark  = regexp.MustCompile(`(?m)^<!-- ([a-z]+): (.*) -->$`)
)

// Blocks returns the blocks of a page, in their order, with the marks above them.
func Blocks(page string) (out []Block) {
	for _, at := range block.FindAllStringSubmatchIndex(page, -1) {
		part := func(n int) string { return page[at[2*n]:at[2*n+1]] }
		b := Block{Line: 1 + strings.Count(page[:at[4]], "\n"), Language: part(2), Text: part(3)}
		for _, m := range mark.FindAllStringSubmatch(part(1), -1) {
			switch m[1] {
			case "needs":
				b.Needs = m[2]
			case "by":
				b.By = m[2]
			case "exit":
				b.Exit = m[2]
			case "file":
				b.File = m[2]
			case "shows":
				b.Shows = m[2]
			}
		}
		out = append(out, b)
	}
	return out
}
