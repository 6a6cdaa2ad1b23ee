package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// choice is what the person has decided in the terminal view, not signed yet.
type choice struct {
	item    approvals.Item // as it was shown
	verdict approvals.Verdict
	reason  string
}

// board is the terminal view of the queue: a list, one item in full, and a form for
// the decision. Everything that it shows has been made safe before. It decides
// nothing: with a choice it ends, and the decision is signed as by the commands.
type board struct {
	load     func() ([]approvals.Item, error)
	describe func(approvals.Item) []string
	paint    palette
	width    int
	height   int
	status   string // what became of the decision before

	items  []approvals.Item
	cursor int
	err    error

	open   *approvals.Item // shown in full
	lines  []string        // nil while it is being looked at
	offset int

	form    *huh.Form
	verdict approvals.Verdict
	reason  string
	sure    bool

	choice *choice
}

type (
	loadedMsg struct {
		items []approvals.Item
		err   error
	}
	describedMsg struct {
		id    string
		lines []string
	}
	tickMsg struct{}
)

const refreshEvery = time.Second

func (b *board) Init() tea.Cmd { return tea.Batch(b.reload, tick()) }

func (b *board) reload() tea.Msg {
	items, err := b.load()
	return loadedMsg{items, err}
}

func tick() tea.Cmd { return tea.Tick(refreshEvery, func(time.Time) tea.Msg { return tickMsg{} }) }

func (b *board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.width, b.height = msg.Width, msg.Height
	case tickMsg:
		if b.open == nil {
			return b, tea.Batch(b.reload, tick())
		}
		return b, tick()
	case loadedMsg:
		b.take(msg)
		return b, nil
	case describedMsg:
		if b.open != nil && b.open.ID == msg.id {
			b.lines, b.offset = msg.lines, 0
		}
		return b, nil
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" {
			return b, tea.Quit
		}
		if b.form == nil {
			return b, b.key(msg.String())
		}
	}
	if b.form != nil {
		return b, b.fill(msg)
	}
	return b, nil
}

// take keeps the cursor on the item that it stood on.
func (b *board) take(msg loadedMsg) {
	at := ""
	if b.cursor < len(b.items) {
		at = b.items[b.cursor].ID
	}
	b.items, b.err = msg.items, msg.err
	for i := range b.items {
		if b.items[i].ID == at {
			b.cursor = i
		}
	}
	b.cursor = max(0, min(b.cursor, len(b.items)-1))
}

func (b *board) key(k string) tea.Cmd {
	if b.open != nil {
		return b.keyOpen(k)
	}
	switch k {
	case "q", "esc":
		return tea.Quit
	case "up", "k":
		b.cursor = max(0, b.cursor-1)
	case "down", "j":
		b.cursor = max(0, min(b.cursor+1, len(b.items)-1))
	case "r":
		return b.reload
	case "enter":
		if b.cursor < len(b.items) {
			it := b.items[b.cursor]
			b.open, b.lines, b.offset = &it, nil, 0
			return func() tea.Msg { return describedMsg{it.ID, b.describe(it)} }
		}
	}
	return nil
}

func (b *board) keyOpen(k string) tea.Cmd {
	page := max(1, b.visibleLines())
	last := max(0, len(b.lines)-page)
	switch k {
	case "q", "esc", "left", "h":
		b.open = nil
		return b.reload
	case "up", "k":
		b.offset = max(0, b.offset-1)
	case "down", "j":
		b.offset = min(last, b.offset+1)
	case "pgup", "b":
		b.offset = max(0, b.offset-page)
	case "pgdown", "space":
		b.offset = min(last, b.offset+page)
	case "a", "d":
		if b.lines == nil || b.open.State != approvals.Pending {
			return nil // nothing is decided that has not been shown
		}
		b.verdict = approvals.Approve
		if k == "d" {
			b.verdict = approvals.Deny
		}
		b.reason, b.sure = "", false
		b.form = b.newForm()
		return b.form.Init()
	}
	return nil
}

func (b *board) newForm() *huh.Form {
	title, yes := "Approve exactly this?", "Approve"
	if b.verdict == approvals.Deny {
		title, yes = "Deny this?", "Deny"
	}
	return huh.NewForm(huh.NewGroup(
		huh.NewInput().Title("Reason (the agent is told)").CharLimit(400).Value(&b.reason),
		huh.NewConfirm().Title(title).Affirmative(yes).Negative("Go back").Value(&b.sure),
	)).WithWidth(max(20, min(b.width, 100))).WithShowHelp(true)
}

// fill hands a message to the form, and ends with a choice when it is complete.
func (b *board) fill(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "esc" {
		b.form = nil
		return nil
	}
	next, cmd := b.form.Update(msg)
	if f, ok := next.(*huh.Form); ok {
		b.form = f
	}
	switch b.form.State {
	case huh.StateCompleted:
		b.form = nil
		if b.sure {
			b.choice = &choice{item: *b.open, verdict: b.verdict, reason: strings.TrimSpace(b.reason)}
			return tea.Quit
		}
		return nil
	case huh.StateAborted:
		b.form = nil
		return nil
	}
	return cmd
}

// visibleLines is how many lines of an item fit.
func (b *board) visibleLines() int {
	used := 3
	if b.form != nil {
		used += strings.Count(b.form.View(), "\n") + 2
	}
	return b.height - used
}

func (b *board) View() tea.View {
	v := tea.NewView(b.screen())
	v.AltScreen = true
	return v
}

func (b *board) screen() string {
	var lines []string
	if b.open != nil {
		lines = b.detail()
	} else {
		lines = b.list()
	}
	for i := range lines {
		if b.width > 0 {
			lines[i] = ansi.Truncate(lines[i], b.width, "…")
		}
	}
	out := strings.Join(lines, "\n")
	if b.form != nil {
		out += "\n\n" + b.form.View()
	}
	return out
}

func (b *board) list() []string {
	colors := b.paint
	lines := []string{colors.bold("Approvals") + colors.faint("   enter: look at it   j/k: move   q: quit")}
	if b.status != "" {
		lines = append(lines, b.status)
	}
	lines = append(lines, "")
	switch {
	case b.err != nil:
		return append(lines, colors.red(oneLine(b.err.Error(), 200)))
	case len(b.items) == 0:
		return append(lines, colors.faint("Nothing waits for a person."))
	}
	fits := max(1, b.height-len(lines)-1)
	from := max(0, min(b.cursor-fits/2, len(b.items)-fits))
	for i := from; i < len(b.items) && i < from+fits; i++ {
		it := &b.items[i]
		mark, text := "  ",
			fmt.Sprintf("%-8s  %-14s  %-24s  %s", oneLine(string(it.Kind), 8), left(it), oneLine(who(it), 24),
				oneLine(what(it), 200))
		if i == b.cursor {
			mark, text = "> ", colors.bold(text)
		}
		lines = append(lines, mark+text)
	}
	return lines
}

func (b *board) detail() []string {
	p := b.paint
	head := p.bold("Approval "+oneLine(b.open.ID, 40)) +
		p.faint("   a: approve   d: deny   j/k, space: scroll   esc: back")
	if b.lines == nil {
		return []string{head, "", p.faint("looking at it…")}
	}
	room := max(1, b.visibleLines())
	end := min(len(b.lines), b.offset+room)
	more := ""
	if end < len(b.lines) {
		more = p.faint(fmt.Sprintf("… %d more lines", len(b.lines)-end))
	}
	return append(append([]string{head, ""}, b.lines[b.offset:end]...), more)
}

// interactive reports whether a person sits at both ends.
func (a *App) interactive() bool {
	in, ok := a.In.(*os.File)
	return ok && a.Terminal && isTerminal(in) && a.Getenv("TERM") != "dumb"
}

// approvalsBoard shows the queue until the person has had enough. Decisions are
// signed and handed in between two views, so that the passphrase is asked for on the
// plain terminal.
func (a *App) approvalsBoard(ctx context.Context) error {
	approver, err := a.openQueue(ctx)
	if err != nil {
		return err
	}
	defer approver.Close()
	status := ""
	for {
		b := &board{paint: a.palette(), status: status, width: 80, height: 24,
			load: func() ([]approvals.Item, error) {
				return approver.Approvals(ctx, client.ApprovalQuery{State: approvals.Pending, Limit: approvals.MaxLimit})
			},
			describe: func(it approvals.Item) []string { return a.describedLines(ctx, it) },
		}
		opts := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(a.In), tea.WithOutput(a.Out)}
		if _, err := tea.NewProgram(b, opts...).Run(); err != nil && ctx.Err() == nil {
			return failureBy(err, "`belay approvals list` and `show` work without a terminal.")
		}
		if b.choice == nil || ctx.Err() != nil {
			return nil
		}
		status = a.decideChoice(ctx, approver, b.choice)
	}
}

// describedLines is an item in full, as `approvals show` prints it.
func (a *App) describedLines(ctx context.Context, it approvals.Item) []string {
	var text strings.Builder
	view := *a
	view.Out = &text
	r, err := view.reviewOf(ctx, it, previewWish{events: previewEvents})
	view.describeReview(&r)
	if err != nil {
		fmt.Fprintf(&text, "\n%s\n", view.palette().red(safe(err.Error())))
	}
	return strings.Split(strings.ReplaceAll(strings.TrimRight(text.String(), "\n"), "\t", "    "), "\n")
}

// decideChoice signs the chosen decision, hands it in, and describes the
// outcome.
func (a *App) decideChoice(ctx context.Context, q approver, choice *choice) string {
	colors := a.palette()
	if choice.verdict == approvals.Approve {
		if _, err := a.reviewOf(ctx, choice.item, previewWish{}); err != nil {
			return colors.red(oneLine(err.Error(), 200))
		}
	}
	d, err := a.signDecision(&choice.item, choice.verdict, decideOptions{reason: choice.reason})
	if err == nil {
		choice.item, err = q.Decide(ctx, choice.item.ID, d)
	}
	if err != nil {
		return colors.red(oneLine(err.Error(), 200))
	}
	return colors.green(oneLine(verdictText(&choice.item), 200))
}
