package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Charts are drawn in units of about one pixel of a page, and scaled to its width. Their colours are those of the
// style sheet; what a colour says, a place or a shape says, too. A table beside each has its numbers.
const (
	chartWidth = 960
	chartLeft  = 190 // of the drawing: names stand before it
	chartRight = 90  // behind the drawing: the largest number stands there
	laneHeight = 46
	laneGap    = 18
	rowHeight  = 30
	maxTicks   = 8
	maxName    = 26 // characters of a name beside a drawing
)

// Lane is one row of bars over time, with a scale of its own: a few blocks are seen beside many allows.
type Lane struct {
	Name, Class string
	Values      []int // as many as there are spans
}

// Lanes draws numbers over time, one lane for each kind. spans are the names of the spans; every is what a span is,
// such as "hour".
func Lanes(id, title string, spans []string, every string, lanes []Lane) template.HTML {
	height := len(lanes)*(laneHeight+laneGap) + 30
	c := begin(id, title, height)
	width := float64(chartWidth-chartLeft-chartRight) / float64(max(1, len(spans)))
	place := func(i int) int { return chartLeft + round(float64(i)*width) }
	for n, lane := range lanes {
		base := (n+1)*(laneHeight+laneGap) - 4
		top := 0
		for _, v := range lane.Values {
			top = max(top, v)
		}
		c.text(chartLeft-12, base-16, "name", "end", lane.Name)
		c.line("axis", chartLeft, base, chartWidth-chartRight, base)
		c.text(chartWidth-chartRight+8, base-16, "", "start", Count(top))
		c.text(chartWidth-chartRight+8, base-2, "", "start", "most a "+every)
		for i, v := range lane.Values {
			if v <= 0 {
				continue
			}
			h := max(2, round(float64(v)/float64(top)*laneHeight))
			gap := 0
			if width >= 4 {
				gap = 1 + min(3, int(width)/16)
			}
			c.bar(lane.Class, place(i), base-h, max(1, place(i+1)-place(i)-gap), h, spans[i]+": "+Count(v))
		}
	}
	step := (len(spans) + maxTicks - 1) / maxTicks
	for i := 0; i < len(spans); i += max(1, step) {
		c.text(place(i), height-8, "", "start", spans[i])
	}
	return c.end()
}

// Range is one row of a chart of ranges: half of the numbers are at most P50, and so on.
type Range struct {
	Name               string
	P50, P90, P99, Max int64
}

// Ranges draws how numbers lie, on a scale on which each step is ten times the one before: a circle at P50, a stroke
// at P90, a square at P99, and a line to the largest.
func Ranges(id, title string, rows []Range, unit func(int64) string) template.HTML {
	low, high := decades(rows)
	height := len(rows)*rowHeight + 34
	c := begin(id, title, height)
	width := float64(chartWidth - chartLeft - chartRight)
	place := func(v int64) int {
		return chartLeft + round((math.Log10(float64(max(1, v)))-float64(low))/float64(high-low)*width)
	}
	for d := low; d <= high; d++ {
		v := int64(math.Pow10(d))
		c.line("grid", place(v), 4, place(v), height-30)
		c.text(place(v), height-12, "", "middle", unit(v))
	}
	for n, row := range rows {
		y := n*rowHeight + 18
		c.text(chartLeft-12, y+4, "name", "end", clip(Visible(row.Name)))
		c.line("reach", place(row.P50), y, place(row.Max), y)
		c.line("core", place(row.P50), y, place(row.P99), y)
		c.line("p90", place(row.P90), y-7, place(row.P90), y+7)
		fmt.Fprintf(&c.b, `<rect class="p99" x="%d" y="%d" width="8" height="8"/>`, place(row.P99)-4, y-4)
		fmt.Fprintf(&c.b, `<circle class="p50" cx="%d" cy="%d" r="5"/>`, place(row.P50), y)
		c.text(chartWidth-chartRight+8, y+4, "", "start", unit(row.Max))
	}
	return c.end()
}

// decades are the powers of ten that hold all rows.
func decades(rows []Range) (low, high int) {
	least, most := int64(math.MaxInt64), int64(1)
	for _, r := range rows {
		least, most = min(least, max(1, r.P50)), max(most, r.Max)
	}
	if least > most {
		least = most
	}
	for v := least; v >= 10; v /= 10 {
		low++
	}
	for v := most - 1; v > 0; v /= 10 {
		high++
	}
	return low, max(low+1, high)
}

func clip(name string) string {
	r := []rune(strings.Join(strings.Fields(name), " "))
	if len(r) <= maxName {
		return string(r)
	}
	return string(r[:maxName-1]) + "…"
}

func round(f float64) int { return int(math.Round(f)) }

// chart is a picture that is being drawn. Texts are escaped; classes come from this package's callers.
type chart struct{ b strings.Builder }

func begin(id, title string, height int) *chart {
	c := new(chart)
	id = template.HTMLEscapeString(id)
	fmt.Fprintf(&c.b, `<svg class="chart" viewBox="0 0 %d %d" role="img" aria-labelledby="%s"><title id="%s">%s</title>`,
		chartWidth, height, id, id, template.HTMLEscapeString(title))
	return c
}

func (c *chart) end() template.HTML { return template.HTML(c.b.String() + "</svg>") }

func (c *chart) text(x, y int, class, anchor, text string) {
	fmt.Fprintf(&c.b, `<text x="%d" y="%d" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor,
		template.HTMLEscapeString(text))
}

func (c *chart) line(class string, x1, y1, x2, y2 int) {
	fmt.Fprintf(&c.b, `<line class="%s" x1="%d" y1="%d" x2="%d" y2="%d"/>`, class, x1, y1, x2, y2)
}

// bar draws a bar whose number shows when a pointer rests on it.
func (c *chart) bar(class string, x, y, width, height int, about string) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"><title>%s</title></rect>`, class, x, y, width,
		height, template.HTMLEscapeString(about))
}
