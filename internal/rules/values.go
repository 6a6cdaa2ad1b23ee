package rules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

const (
	minutesADay = 24 * 60
	allDays     = 1<<7 - 1
	longestText = 32 << 10 // bytes of a text that one question to the host holds
	textSteps   = 8 << 20  // steps of one question, by which the host bounds the longest text
)

// timeWindow is a Time as the engine reads it.
type timeWindow struct {
	days     uint32 // Sunday is the lowest bit
	from, to uint32 // minutes of the day
	east     int32  // minutes
}

var (
	clock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A([01][0-9]|2[0-4]):([0-5][0-9])\z`) })
	zone  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A([+-])(0[0-9]|1[0-4]):([0-5][0-9])\z`) })
)

func (t *Time) parse() (timeWindow, error) {
	w := timeWindow{days: allDays, to: minutesADay}
	if t.Days == nil && t.From == "" && t.To == "" {
		return w, errors.New("says no time: name days, or from and to")
	}
	if t.Days != nil {
		w.days = 0
		if len(t.Days) == 0 {
			return w, errors.New("days is empty and never holds")
		}
	}
	for _, d := range t.Days {
		i := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, d)
		switch {
		case i < 0:
			return w, fmt.Errorf("%q is no day: mon, tue, wed, thu, fri, sat or sun", d)
		case w.days>>i&1 == 1:
			return w, fmt.Errorf("%s is listed twice", d)
		}
		w.days |= 1 << i
	}
	var err error
	if t.From != "" {
		if w.from, err = minuteOf(t.From); err != nil {
			return w, err
		}
	}
	if t.To != "" {
		if w.to, err = minuteOf(t.To); err != nil {
			return w, err
		}
	}
	if w.from == w.to {
		return w, errors.New("never holds: from is to; leave both out for the whole day")
	}
	if w.from == minutesADay {
		return w, errors.New("never holds: from is the end of the day")
	}
	if t.Zone != "" && t.Zone != "UTC" {
		m := zone().FindStringSubmatch(t.Zone)
		if m == nil {
			return w, fmt.Errorf("%q is no zone: UTC, or what is added to it, such as +01:00", t.Zone)
		}
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		w.east = int32(hours*60 + minutes)
		if m[1] == "-" {
			w.east = -w.east
		}
	}
	return w, nil
}

func (t *Time) same(u *Time) bool {
	a, err := t.parse()
	b, err2 := u.parse()
	return err == nil && err2 == nil && a == b
}

func minuteOf(s string) (uint32, error) {
	m := clock().FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no time of the day: write 09:00, in quotes", s)
	}
	hours, _ := strconv.Atoi(m[1])
	minutes, _ := strconv.Atoi(m[2])
	if hours*60+minutes > minutesADay {
		return 0, fmt.Errorf("%q is no time of the day", s)
	}
	return uint32(hours*60 + minutes), nil
}

// counter is a Limit as the engine reads it.
type counter struct {
	count, window, by uint32 // window in seconds
}

var period = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A([1-9][0-9]{0,6})(s|m|h|d)\z`) })

func (l *Limit) parse() (counter, error) {
	var c counter
	switch {
	case l.Count == nil:
		return c, errors.New("count is missing: how many calls may pass")
	case *l.Count < 0 || *l.Count > maxCount:
		return c, fmt.Errorf("count must be between 0 and %d", maxCount)
	}
	m := period().FindStringSubmatch(l.Per)
	if m == nil {
		return c, fmt.Errorf("per is a number and s, m, h or d, such as 10m, not %q", l.Per)
	}
	n, _ := strconv.Atoi(m[1])
	n *= map[string]int{"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}[m[2]]
	if n > maxWindow {
		return c, errors.New("per is longer than 30d")
	}
	by := slices.Index(limitedBy(), l.By)
	if by < 0 && l.By != "" {
		return c, errors.New("by must be session, agent or user")
	}
	c.count, c.window, c.by = uint32(*l.Count), uint32(n), uint32(max(0, by))
	return c, nil
}

// limitedBy are whose calls a limit can count, as the engine numbers them.
func limitedBy() []string { return []string{"session", "agent", "user"} }

// places are where a phase has its texts.
func places(p phases.Phase) Texts {
	switch p {
	case phases.PrePlan:
		return Texts{"/text"}
	case phases.PreSend:
		return Texts{"/system", "/messages"}
	case phases.PostReceive:
		return Texts{"/text", "/messages"}
	case phases.PreTool:
		return Texts{"/args"}
	case phases.PostTool:
		return Texts{"/result"}
	case phases.StateTransition:
		return Texts{"/data"}
	case phases.Spawn:
		return Texts{"/child/prompt"}
	}
	return nil
}

// textsAt are the pointers at which the rule looks for texts.
func (r *Rule) textsAt() (all Texts) {
	for _, p := range r.phases {
		if r.When != nil && r.When.Text != nil {
			all = append(all, r.When.Text.where(p)...)
		}
		if r.Redact != nil {
			all = append(all, r.Redact.where(p)...)
		}
	}
	return all
}

func (t *Text) where(p phases.Phase) Texts {
	if t.At != nil {
		return t.At
	}
	return places(p)
}

func (r *Redact) where(p phases.Phase) Texts {
	if r.At != nil {
		return r.At
	}
	return places(p)
}

// patternCost returns the longest text in bytes that an RE2 pattern is tried on at once, and the steps that
// each byte costs, at least 1.
func patternCost(pattern string) (longest, steps int, err error) {
	longest, err = hostcalls.CheckPattern("re2", pattern)
	if err != nil {
		return 0, 0, err
	}
	return min(longest, longestText), textSteps / (longest + 1), nil
}

// pathPattern is a pattern for paths: lower case, since rules are compared with keys, and
// where it counts from.
type pathPattern struct {
	glob string
	base uint32 // 0 nothing, 1 home, 2 the working directory
}

func parsePath(s string) pathPattern {
	s = strings.ToLower(s)
	rest, home := strings.CutPrefix(s, "~/")
	switch {
	case home:
		return pathPattern{glob: rest, base: 1}
	case strings.HasPrefix(s, "/"), strings.HasPrefix(s, "**/"):
		return pathPattern{glob: s}
	case !strings.Contains(s, "/"):
		return pathPattern{glob: "**/" + s}
	}
	return pathPattern{glob: strings.TrimPrefix(s, "./"), base: 2}
}

func checkPath(s string) error {
	if strings.HasSuffix(s, "/") {
		return errors.New("never matches: names of directories end without /, and with /** for all below")
	}
	clean := strings.TrimPrefix(s, "./")
	for _, element := range strings.Split(clean, "/") {
		if element == "." || element == ".." {
			return errors.New("never matches: paths are compared without the elements . and .. in them")
		}
	}
	_, err := hostcalls.CheckPattern("glob", parsePath(s).glob)
	return err
}
