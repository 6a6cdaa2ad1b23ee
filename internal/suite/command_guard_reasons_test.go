package suite_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// What a reason says before the part of the command that it quotes: the program that acts, or what stands for it.
var (
	reasonForm  = regexp.MustCompile(`^[A-Za-z0-9_./+\[\\~$"'{-][^\n]* \([a-z-]+\)$`)
	twice       = regexp.MustCompile(`\b(a|an|and|be|by|cannot|does|for|in|is|it|of|or|that|the|to|what|which|would)\s+(\S+)\b`)
	bare        = strings.NewReplacer("'", "", `"`, "", `\`, "") // leaves the words that a shell reads
	reasonParts = regexp.MustCompile(` \([a-z-]+\); `)
)

// Each reason names who acts, in one sentence that is not long; it says no word twice and nothing of how the guard
// works by itself: a program in Python that reads a file is no "cat", and one that empties it is no ":".
func TestReasonsOfCommandGuard(t *testing.T) {
	judge := openJudge(t, "command-guard")
	files, err := filepath.Glob("testdata/command-guard/*_tuned.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	files = append(files, "testdata/command-guard/winter.jsonl")
	reasons := 0
	for _, file := range files {
		for _, l := range readLabelled(t, file) {
			v := judge(l)
			if v.Decision == phases.Allow {
				continue
			}
			reasons++
			for _, why := range faultsOf(v.Reason, l.text()) {
				t.Errorf("%s: %q: %s: %q", filepath.Base(file), l.text(), why, v.Reason)
			}
		}
	}
	if reasons < 1000 {
		t.Errorf("only %d reasons", reasons)
	}
}

// faultsOf says what is wrong with the reason for a command.
func faultsOf(reason, command string) (faults []string) {
	for part := range strings.SplitSeq(reasonParts.ReplaceAllString(reason, " (x)\n"), "\n") {
		said := part
		if at := strings.Index(part, "beforehand: "); at >= 0 { // the command follows
			said = part[:at] + "beforehand (x)"
		}
		if !reasonForm.MatchString(said) && !strings.HasPrefix(said, "and ") {
			faults = append(faults, "it has another form")
		}
		if words := strings.Fields(said); len(words) > 25 && len(words) > len(strings.Fields(command)) {
			faults = append(faults, "it is long")
		}
		if strings.Contains(said, "  ") || strings.Contains(said, "to  ") || strings.Contains(said, "_own") ||
			strings.Contains(said, "UNKNOWN") {
			faults = append(faults, "a name is missing or made up")
		}
		for _, m := range twice.FindAllStringSubmatch(said, -1) {
			if m[1] == m[2] {
				faults = append(faults, "a word stands there twice")
			}
		}
		for _, actor := range []string{"cat", "truncate", ":"} {
			if strings.HasPrefix(said, actor+" would ") && !strings.Contains(bare.Replace(command), actor) {
				faults = append(faults, "it names another program")
			}
		}
	}
	return faults
}
