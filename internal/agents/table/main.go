// Command table writes the tables of docs/AGENTS.md from the results of the clients.
package main

import (
	"fmt"
	"os"

	"github.com/belay-hooks/belay/internal/agents"
)

func main() {
	if err := run("internal/agents/results", "docs/AGENTS.md"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(results, page string) error {
	clients, err := agents.Read(results)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	out, err := agents.Insert(string(b), agents.Tables(clients))
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(out), 0o644)
}
