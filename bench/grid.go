package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// grid is a table, the same in a terminal and on a page. Columns with a header hold figures, those without hold text.
type grid struct {
	header []string
	rows   [][]string
}

func (g *grid) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(g.header, "\t"))
	for _, cells := range g.rows {
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush()
}

func (g *grid) page(w io.Writer) {
	fmt.Fprintf(w, "| %s |\n|", strings.Join(g.header, " | "))
	for _, name := range g.header {
		if name == "" {
			fmt.Fprint(w, "---|")
		} else {
			fmt.Fprint(w, "---:|")
		}
	}
	fmt.Fprintln(w)
	for _, cells := range g.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}
