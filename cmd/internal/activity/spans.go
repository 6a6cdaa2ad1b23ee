package activity

import (
	"fmt"
	"sort"
	"time"
)

// Steps of a report.
const (
	Hour = "hour"
	Day  = "day"
	Week = "week"
)

// stepFor is the step that makes a picture of some dozens of spans.
func stepFor(since, until time.Time) string {
	switch d := until.Sub(since); {
	case d <= 49*time.Hour:
		return Hour
	case d <= 93*24*time.Hour:
		return Day
	}
	return Week
}

// spans are the hours, days or weeks of the calendar of loc from since to until, the first and the last cut.
func spans(since, until time.Time, step string, loc *time.Location) []Span {
	out := []Span{{From: since}}
	for at := next(since.In(loc), step); at.Before(until); at = next(at, step) {
		out = append(out, Span{From: at})
	}
	return out
}

// next is the beginning of the next hour, day or week (Monday). Days are those of the calendar, so that one may have
// 23 hours.
func next(t time.Time, step string) time.Time {
	y, m, d := t.Date()
	switch step {
	case Hour:
		_, offset := t.Zone()
		shift := time.Duration(offset) * time.Second
		return t.Add(shift).Truncate(time.Hour).Add(time.Hour - shift)
	case Day:
		return time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
	}
	toMonday := (8 - int(t.Weekday())) % 7
	if toMonday == 0 {
		toMonday = 7
	}
	return time.Date(y, m, d+toMonday, 0, 0, 0, 0, t.Location())
}

// spanAt returns the span that a time lies in. A time before the first is in the first.
func spanAt(list []Span, at time.Time) *Span {
	i := sort.Search(len(list), func(i int) bool { return list[i].From.After(at) })
	return &list[max(0, i-1)]
}

// zoneText says which zone times are told in.
func zoneText(t time.Time) string {
	name, _ := t.Zone()
	if offset := t.Format("-07:00"); name != "UTC" && name != offset {
		return fmt.Sprintf("%s, UTC%s", name, offset)
	} else if name != "UTC" {
		return "UTC" + offset
	}
	return name
}
