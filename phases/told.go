package phases

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Beginnings of log lines with which a hook says more about its answer than its reason does: a reason
// may cite what a caller wrote.
const (
	RulesLog      = "rules: "       // the rules that stop the action, by their names, with ", " between them
	CannotTellLog = "cannot tell: " // why it asks: it cannot tell whether its policy stops the action
)

// ruleName is how a rule may be called.
var ruleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) })

// RulesTold returns the rules that a hook's event names in its logs, each once, in their order. There
// are none in events of hooks that do not tell them.
func RulesTold(logs []string) []string {
	var names []string
	for _, line := range logs {
		list, ok := strings.CutPrefix(line, "info: "+RulesLog)
		if !ok {
			continue
		}
		for name := range strings.SplitSeq(list, ", ") {
			if ruleName().MatchString(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
