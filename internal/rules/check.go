package rules

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

var (
	ruleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-z0-9][a-z0-9._-]{0,63}\z`) })
	metaKey  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,127}\z`) })
)

// checkHead checks what is not of one rule, before the rules are looked at.
func (f *File) checkHead(rules int) error {
	switch {
	case f.Version != Version:
		return f.doc.Errorf("/version", "must be %s", Version)
	case f.Name != "" && !ruleName().MatchString(f.Name):
		return f.doc.Errorf("/name", "a name is lower-case letters, digits, - . _, at most 64 bytes")
	case len(f.Description) > maxText:
		return f.doc.Errorf("/description", "longer than %d bytes", maxText)
	case f.CannotTell != "" && f.CannotTell != "ask" && f.CannotTell != "block":
		return f.doc.Errorf("/cannot_tell", "must be ask or block")
	case rules == 0:
		return f.doc.Errorf("/rules", "has no rule")
	case rules > MaxRules:
		return f.doc.Errorf(fmt.Sprintf("/rules/%d", MaxRules), "at most %d rules", MaxRules)
	}
	return nil
}

// check returns the faults of the rules that could be decoded: of each rule, as many as do not follow from each other.
func (f *File) check() (faults []error) {
	names, limits, whole := map[string]string{}, 0, true
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.faulty {
			whole = false
			continue
		}
		if len(faults) > maxFaults {
			return faults
		}
		before, taken := names[r.Name]
		switch {
		case !ruleName().MatchString(r.Name):
			faults = append(faults,
				f.doc.Errorf(r.at+"/name", "a name is lower-case letters, digits, - . _, at most 64 bytes"))
		case taken:
			faults = append(faults,
				f.doc.Errorf(r.at+"/name", "line %d has a rule named %s, too", f.doc.Line(before), r.Name))
		default:
			names[r.Name] = r.at + "/name"
		}
		faults = append(faults, f.checkRule(r)...)
		if r.answer == answerLimit {
			if limits++; limits == maxLimits+1 {
				faults = append(faults, f.doc.Errorf(r.at+"/limit", "at most %d rules of a file have a limit", maxLimits))
			}
		}
	}
	if len(faults) > 0 || !whole {
		return faults
	}
	places := map[string]bool{}
	for i := range f.Rules {
		r := &f.Rules[i]
		for _, ptr := range r.textsAt() {
			places[ptr] = true
		}
		if len(places) > maxPlaces {
			return []error{f.doc.Errorf(r.at, "at most %d different places of texts in a file", maxPlaces)}
		}
	}
	for name, values := range f.configs() {
		if len(values) > maxList {
			return []error{f.doc.Errorf("/rules", "ask about more than %d values of the member %s of config", maxList, name)}
		}
	}
	if len(f.configs()) > maxConfigs {
		return []error{f.doc.Errorf("/rules", "ask about more than %d members of config", maxConfigs)}
	}
	return f.checkTogether()
}

func (f *File) checkRule(r *Rule) (faults []error) {
	add := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	found := r.answers()
	switch {
	case len(found) == 0:
		add(f.doc.Errorf(r.at, "has no answer: one of block, ask, annotate, limit, require_lease, require_stage, "+
			"redact, default, fix and scopes, with what it says"))
	case len(found) > 1:
		add(f.doc.Errorf(r.at+"/"+found[1].String(), "a rule has one answer, and %s is another", found[0]))
	default:
		r.answer = found[0]
	}
	if err := f.checkPhases(r); err != nil {
		return append(faults, err) // what it matches and answers depends on them
	}
	if r.CannotTell != "" && r.CannotTell != "ask" && r.CannotTell != "block" {
		add(f.doc.Errorf(r.at+"/cannot_tell", "must be ask or block"))
	}
	if r.When == nil {
		return append(faults, f.doc.Errorf(r.at, "when is missing: {} matches every action of the phase"))
	}
	add(f.checkMatch(r, r.When, r.at+"/when"))
	if r.Unless != nil {
		add(f.checkUnless(r))
	}
	if r.answer != 0 {
		add(f.checkAnswer(r))
	}
	return faults
}

// cannotTell is the answer where it cannot be told whether the rule applies.
func (f *File) cannotTell(r *Rule) string { return cmp.Or(r.CannotTell, f.CannotTell, "ask") }

func (f *File) checkPhases(r *Rule) error {
	if r.Phase == nil {
		r.phases = []phases.Phase{phases.PreTool}
		return nil
	}
	if len(r.Phase) == 0 {
		return f.doc.Errorf(r.at+"/phase", "lists no phase")
	}
	for _, name := range r.Phase {
		p := phases.Phase(name)
		switch {
		case !p.Valid():
			return f.doc.Errorf(r.at+"/phase", "%q is not a phase", name)
		case p == phases.Audit:
			return f.doc.Errorf(r.at+"/phase", "rules cannot be about audit, where nothing is decided")
		case slices.Contains(r.phases, p):
			return f.doc.Errorf(r.at+"/phase", "%s is listed twice", name)
		}
		r.phases = append(r.phases, p)
	}
	order := phases.Phases()
	slices.SortFunc(r.phases, func(a, b phases.Phase) int {
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	})
	return nil
}

// lists returns the members that are lists of names or patterns.
func (m *Match) lists() map[string]Texts {
	return map[string]Texts{"runtime": m.Runtime, "agent": m.Agent, "user": m.User, "tool": m.Tool, "own_tool": m.OwnTool,
		"mcp_server": m.MCPServer, "command": m.Command, "path": m.Path, "host": m.Host, "host_not": m.HostNot,
		"branch": m.Branch, "repository": m.Repository}
}

func (f *File) checkMatch(r *Rule, m *Match, at string) error {
	lists := m.lists()
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if err := f.checkList(at+"/"+name, lists[name]); err != nil {
			return err
		}
	}
	for _, name := range []string{"tool", "own_tool", "mcp_server", "command", "path", "host", "host_not"} {
		if lists[name] == nil {
			continue
		}
		for _, p := range r.phases {
			if p != phases.PreTool && p != phases.PostTool {
				return f.doc.Errorf(at+"/"+name, "never matches in %s, where no tool is called", p)
			}
		}
	}
	for i, t := range m.Tool {
		if err := f.checkTool(itemAt(f, at+"/tool", i), t); err != nil {
			return err
		}
	}
	for i, s := range m.Command {
		if _, err := parseCommand(s); err != nil {
			return f.doc.Errorf(itemAt(f, at+"/command", i), "%q %v", s, err)
		}
	}
	if m.Command != nil && m.Tool != nil && m.OwnTool == nil && !slices.ContainsFunc(m.Tool, mayRun) {
		return f.doc.Errorf(at+"/command", "never matches: none of the tools runs commands (%s)", strings.Join(m.Tool, ", "))
	}
	if m.MCPServer != nil && m.Tool != nil && !slices.ContainsFunc(m.Tool, func(t string) bool {
		return strings.HasPrefix(t, "mcp:") || strings.HasPrefix("mcp:", strings.TrimSuffix(t, "*"))
	}) {
		return f.doc.Errorf(at+"/mcp_server", "never matches: none of the tools is one of an MCP server (%s)",
			strings.Join(m.Tool, ", "))
	}
	for i, p := range m.Path {
		if err := checkPath(p); err != nil {
			return f.doc.Errorf(itemAt(f, at+"/path", i), "%q: %v", p, err)
		}
	}
	for _, name := range []string{"host", "host_not"} {
		for i, h := range lists[name] {
			if strings.ContainsAny(h, "/:@ ") || h != strings.ToLower(h) {
				return f.doc.Errorf(itemAt(f, at+"/"+name, i),
					"%q never matches: a host is a name in lower case, without scheme, port and path; * is any text", h)
			}
		}
	}
	for _, name := range []string{"branch", "repository"} {
		if lists[name] != nil && !r.answer.restricts() {
			return f.doc.Errorf(at+"/"+name,
				"the agent can write it: a rule that goes by it can only restrict, and %s does more",
				r.answer)
		}
	}
	return f.checkValues(r, m, at)
}

// itemAt is the pointer of an entry of a list, or of the text that stands in its place.
func itemAt(f *File, at string, i int) string {
	if one := fmt.Sprintf("%s/%d", at, i); f.doc.Has(one) {
		return one
	}
	return at
}

func (f *File) checkList(at string, list Texts) error {
	if list == nil {
		return nil
	}
	switch {
	case len(list) == 0:
		return f.doc.Errorf(at, "is empty and never matches: leave it out")
	case len(list) > maxList:
		return f.doc.Errorf(fmt.Sprintf("%s/%d", at, maxList), "at most %d entries", maxList)
	}
	for i, s := range list {
		switch {
		case s == "":
			return f.doc.Errorf(itemAt(f, at, i), "is empty and never matches")
		case len(s) > maxText:
			return f.doc.Errorf(itemAt(f, at, i), "longer than %d bytes", maxText)
		case slices.Contains(list[:i], s):
			return f.doc.Errorf(itemAt(f, at, i), "%q is listed twice", s)
		}
	}
	return nil
}

func (f *File) checkTool(at, name string) error {
	if strings.HasPrefix(name, "mcp:") || slices.Contains(phases.KnownTools(), name) {
		return nil
	}
	if prefix, star := strings.CutSuffix(name, "*"); star && !strings.Contains(prefix, "*") {
		if slices.ContainsFunc(phases.KnownTools(), func(t string) bool { return strings.HasPrefix(t, prefix) }) {
			return nil
		}
	}
	for _, runtime := range phases.ToolRuntimes() {
		if known, ok := phases.NormalizeTool(runtime, name); ok && known != name {
			return f.doc.Errorf(at, "%q never matches: rules see that tool of %s as %s", name, runtime, known)
		}
	}
	return f.doc.Errorf(at, "%q is no tool that belay knows (%s); name a tool of your own runtime under own_tool", name,
		strings.Join(phases.KnownTools(), ", "))
}

// mayRun reports whether the tools that a pattern matches may run commands.
func mayRun(pattern string) bool {
	if prefix, star := strings.CutSuffix(pattern, "*"); star && strings.HasPrefix("exec", prefix) {
		return true
	}
	return pattern == "exec" || pattern == "process" || pattern == "cron" || pattern == "nodes" ||
		strings.HasPrefix(pattern, "mcp:")
}

func (f *File) checkValues(r *Rule, m *Match, at string) error {
	if s := m.Size; s != nil {
		switch {
		case !pointer(s.At):
			return f.doc.Errorf(at+"/size/at", "must be a JSON Pointer, such as /args/content")
		case s.Over < 0:
			return f.doc.Errorf(at+"/size/over", "cannot be negative")
		case s.Over >= maxInput:
			return f.doc.Errorf(at+"/size/over", "never holds: a hook sees at most %d bytes", maxInput)
		}
	}
	if t := m.Text; t != nil {
		if len(t.Match) == 0 {
			return f.doc.Errorf(at+"/text", "needs match: RE2 patterns")
		}
		if err := f.checkPatterns(at+"/text/match", t.Match); err != nil {
			return err
		}
		if err := f.checkPointers(at+"/text/at", t.At); err != nil {
			return err
		}
	}
	if t := m.Time; t != nil {
		if _, err := t.parse(); err != nil {
			return f.doc.Errorf(at+"/time", "%v", err)
		}
	}
	if err := f.checkConfig(at+"/config", m.Config); err != nil {
		return err
	}
	if a := m.Annotation; a != nil {
		switch {
		case !metaKey().MatchString(a.Key):
			return f.doc.Errorf(at+"/annotation/key", "must be a key of metadata")
		case a.Key == "caller":
			return f.doc.Errorf(at+"/annotation/key", "caller holds what the runtime sends: no hook writes it")
		case a.Tier != "" && a.Tier != string(phases.Trusted):
			return f.doc.Errorf(at+"/annotation/tier", "must be trusted, or left out")
		case a.Is != nil && len(a.Is) == 0:
			return f.doc.Errorf(at+"/annotation/is", "is empty and never matches: leave it out")
		case len(a.Is) > maxList:
			return f.doc.Errorf(at+"/annotation/is", "at most %d values", maxList)
		}
	}
	return nil
}

func (f *File) checkPatterns(at string, list Texts) error {
	if err := f.checkList(at, list); err != nil {
		return err
	}
	for i, p := range list {
		if _, _, err := patternCost(p); err != nil {
			return f.doc.Errorf(itemAt(f, at, i), "%q: %v", p, err)
		}
	}
	return nil
}

func (f *File) checkPointers(at string, list Texts) error {
	if err := f.checkList(at, list); err != nil {
		return err
	}
	for i, p := range list {
		if !pointer(p) {
			return f.doc.Errorf(itemAt(f, at, i), "must be a JSON Pointer, such as /args/content")
		}
	}
	return nil
}

func pointer(s string) bool {
	if !strings.HasPrefix(s, "/") || len(s) > maxText {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}

// checkUnless refuses what could be used to get round a rule: a condition that one of
// several commands, paths, hosts or texts fulfils says nothing about the others.
func (f *File) checkUnless(r *Rule) error {
	at, m := r.at+"/unless", r.Unless
	for name, is := range map[string]bool{"command": m.Command != nil, "path": m.Path != nil, "host": m.Host != nil,
		"host_not": m.HostNot != nil, "text": m.Text != nil, "size": m.Size != nil} {
		if is {
			return f.doc.Errorf(at+"/"+name, "would exempt an action for one of the things in it, whatever else it holds: "+
				"narrow when instead (hosts: host_not)")
		}
	}
	for name, is := range map[string]bool{"branch": m.Branch != nil, "repository": m.Repository != nil} {
		if is {
			return f.doc.Errorf(at+"/"+name, "the agent can write it: it can restrict under when, and exempts from nothing")
		}
	}
	if m.Config != nil && r.When.Config != nil && canonicalConfig(m.Config) == canonicalConfig(r.When.Config) {
		return f.doc.Errorf(at+"/config", "is what when asks for, so that the rule never applies")
	}
	if m.Annotation != nil && m.Annotation.Tier != string(phases.Trusted) {
		return f.doc.Errorf(at+"/annotation", "exempts only with tier: trusted, so that no other rule can loosen this one")
	}
	if err := f.checkMatch(r, m, at); err != nil {
		return err
	}
	return f.checkPossible(r)
}

// checkPossible refuses a rule that unless exempts from all that when matches.
func (f *File) checkPossible(r *Rule) error {
	when, unless := r.When.lists(), r.Unless.lists()
	any := false
	for name, list := range unless {
		if list == nil {
			continue
		}
		any = true
		if slices.Contains(list, "*") {
			continue
		}
		if when[name] == nil || slices.ContainsFunc(when[name], func(s string) bool { return !slices.Contains(list, s) }) {
			return nil
		}
	}
	if t := r.Unless.Time; t != nil {
		any = true
		if r.When.Time == nil || !t.same(r.When.Time) {
			return nil
		}
	}
	if r.Unless.Annotation != nil || r.Unless.Config != nil {
		return nil
	}
	if !any {
		return f.doc.Errorf(r.at+"/unless", "says nothing: leave it out")
	}
	return f.doc.Errorf(r.at+"/unless", "exempts everything that when matches, so that the rule never applies")
}

func (f *File) checkAnswer(r *Rule) error {
	at := r.at + "/" + r.answer.String()
	legal := func(kind phases.EffectKind) error {
		for _, p := range r.phases {
			if !phases.RulesFor(p).Legal(kind) {
				return f.doc.Errorf(at, "is not possible in %s", p)
			}
		}
		return nil
	}
	otherwise := func(a, reason string) error {
		if err := f.checkReason(r, at+"/reason", reason); err != nil {
			return err
		}
		switch a {
		case "", "block":
			return nil
		case "ask":
			return legal(phases.EffectAsk)
		}
		return f.doc.Errorf(at+"/answer", "must be block or ask")
	}
	switch r.answer {
	case answerBlock, answerAsk:
		if err := f.checkReason(r, at, r.Block+r.Ask); err != nil {
			return err
		}
		if r.answer == answerAsk {
			return legal(phases.EffectAsk)
		}
	case answerAnnotate:
		if len(r.Annotate) == 0 {
			return f.doc.Errorf(at, "names no key")
		}
		for key := range r.Annotate {
			if !metaKey().MatchString(key) || key == "caller" || key == "stage" {
				return f.doc.Errorf(phases.Join(at, key), "is no key that a rule can write")
			}
		}
		return legal(phases.EffectAnnotate)
	case answerLimit:
		l := r.Limit
		if _, err := l.parse(); err != nil {
			return f.doc.Errorf(at, "%v", err)
		}
		return otherwise(l.Answer, l.Reason)
	case answerLease:
		if err := leases.CheckCapability(r.RequireLease.Capability); err != nil {
			return f.doc.Errorf(at+"/capability", "%v", err)
		}
		for _, p := range r.phases {
			if !phases.RulesFor(p).Calls {
				return f.doc.Errorf(at, "is not possible in %s: leases are not checked there", p)
			}
		}
		return otherwise(r.RequireLease.Answer, r.RequireLease.Reason)
	case answerStage:
		if len(r.RequireStage.Stage) == 0 {
			return f.doc.Errorf(at+"/stage", "names no stage")
		}
		if err := f.checkList(at+"/stage", r.RequireStage.Stage); err != nil {
			return err
		}
		return otherwise(r.RequireStage.Answer, r.RequireStage.Reason)
	case answerRedact:
		return f.checkRedact(r, at)
	case answerDefault, answerFix:
		return f.checkRewrites(r, at)
	case answerScopes:
		s := r.Scopes
		if s.FSRead == nil && s.FSWrite == nil && s.Net == nil && s.Tools == nil {
			return f.doc.Errorf(at, "narrows nothing: name fs_read, fs_write, net or tools")
		}
		if err := s.Validate(); err != nil {
			return f.doc.Errorf(at, "%v", err)
		}
		return legal(phases.EffectClamp)
	}
	return nil
}

func (f *File) checkRedact(r *Rule, at string) error {
	if len(r.Redact.Match) == 0 {
		return f.doc.Errorf(at, "needs match: RE2 patterns")
	}
	if err := f.checkPatterns(at+"/match", r.Redact.Match); err != nil {
		return err
	}
	if err := f.checkPointers(at+"/at", r.Redact.At); err != nil {
		return err
	}
	if len(r.Redact.Label) > 64 {
		return f.doc.Errorf(at+"/label", "longer than 64 bytes")
	}
	if r.Redact.With != nil && (r.Redact.Label != "" || len(*r.Redact.With) > maxText) {
		return f.doc.Errorf(at+"/with", "stands in place of label, and has at most %d bytes", maxText)
	}
	for _, p := range r.phases {
		for _, ptr := range r.Redact.where(p) {
			if !rewritable(p, ptr) {
				return f.doc.Errorf(at, "%s cannot be rewritten in %s", ptr, p)
			}
		}
	}
	return nil
}

func (f *File) checkRewrites(r *Rule, at string) error {
	values := r.rewrites()
	if len(values) == 0 {
		return f.doc.Errorf(at, "names no argument: write JSON Pointers, such as /args/timeout: 60")
	}
	pointers := slices.Sorted(maps.Keys(values))
	for i, ptr := range pointers {
		if !pointer(ptr) {
			return f.doc.Errorf(phases.Join(at, ptr), "%q must be a JSON Pointer, such as /args/timeout", ptr)
		}
		for _, p := range r.phases {
			if !rewritable(p, ptr) {
				return f.doc.Errorf(phases.Join(at, ptr), "%s cannot be rewritten in %s", ptr, p)
			}
		}
		if i > 0 && phases.Covers(pointers[i-1], ptr) {
			return f.doc.Errorf(phases.Join(at, ptr), "lies in %s, which the rule sets, too", pointers[i-1])
		}
	}
	return nil
}

func (r *Rule) rewrites() map[string]jsontext.Value {
	if r.answer == answerFix {
		return r.Fix
	}
	return r.Default
}

// rewritable reports whether plain rewrite permits a place that may hold anything.
func rewritable(p phases.Phase, ptr string) bool {
	return slices.ContainsFunc(phases.RulesFor(p).Rewrite, func(rule phases.RewriteRule) bool {
		return !rule.Explicit && !rule.Subset && rule.Pointer != "/headers" && phases.Covers(rule.Pointer, ptr)
	})
}

// checkTogether compares rules that match the same actions.
func (f *File) checkTogether() (faults []error) {
	limits := map[string][]*Rule{}                   // by what they match
	type place struct{ match, kind, pointer string } // that rules set
	set := map[place]*Rule{}
	for i := range f.Rules {
		r := &f.Rules[i]
		switch r.answer {
		case answerLimit:
			key := r.canonical()
			for _, other := range limits[key] { // of maxLimits
				if err := f.limitsContradict(other, r); err != nil {
					faults = append(faults, err)
					break
				}
			}
			limits[key] = append(limits[key], r)
		case answerDefault, answerFix:
			values, match := r.rewrites(), r.canonical()
			for _, ptr := range slices.Sorted(maps.Keys(values)) {
				at := place{match, r.answer.String(), ptr}
				other := set[at]
				if other == nil {
					set[at] = r
				} else if canonicalJSON(other.rewrites()[ptr]) != canonicalJSON(values[ptr]) {
					faults = append(faults, f.doc.Errorf(phases.Join(r.at+"/"+r.answer.String(), ptr),
						"contradicts the rule %s in line %d, which matches the same actions", other.Name, f.doc.Line(other.at)))
					break
				}
			}
		}
		if len(faults) > maxFaults {
			break
		}
	}
	return faults
}

func (f *File) limitsContradict(a, b *Rule) error {
	at := b.at + "/" + b.answer.String()
	line := f.doc.Line(a.at)
	x, _ := a.Limit.parse() // checked before
	y, _ := b.Limit.parse()
	if x.by != y.by {
		return nil
	}
	switch {
	case x.window == y.window:
		return f.doc.Errorf(at, "contradicts the limit of %s in line %d: the same actions, window and subject", a.Name, line)
	case x.window > y.window && x.count <= y.count, y.window > x.window && y.count <= x.count:
		long, short := a, b
		if y.window > x.window {
			long, short = b, a
		}
		return f.doc.Errorf(at,
			"contradicts the limit in line %d: %s lets at most %d pass in %s, so that %d in %s is never reached",
			line, long.Name, *long.Limit.Count, long.Limit.Per, *short.Limit.Count, short.Limit.Per)
	}
	return nil
}

// canonical is the same for rules that match the same actions.
func (r *Rule) canonical() string {
	b, err := json.Marshal([]any{r.phases, r.When, r.Unless}, json.Deterministic(true))
	if err != nil {
		return r.Name
	}
	return string(b)
}

func canonicalJSON(v jsontext.Value) string {
	c := v.Clone()
	if err := c.Canonicalize(); err != nil {
		return string(v)
	}
	return string(c)
}
