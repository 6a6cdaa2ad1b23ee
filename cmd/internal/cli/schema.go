package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/schema"
)

// schemaFile is the schema of belay.yaml beside it, and schemaLine how editors find it: the
// comment that the YAML language server reads (VS Code, Neovim, Helix, JetBrains).
const (
	schemaFile = "belay.schema.json"
	schemaLine = "# yaml-language-server: $schema=" + schemaFile + "\n"
)

func (a *App) schemaCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of a file, for editors",
		Long: `schema prints the JSON Schema (draft 2020-12) of one of belay's YAML files. With it an
editor completes names and marks faults while you type. Without NAME it lists them. belay.yaml as
` + "`belay init`" + ` writes it names its schema already. For another file, write the schema
beside it and begin the file with

  # yaml-language-server: $schema=NAME.schema.json

belay's own check is stricter: a schema cannot say, for example, that names differ.`,
		Example: `  belay schema rules > rules.schema.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("schema takes one name", "`belay schema` lists them.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.schemaList(*asJSON)
			}
			text, ok := schema.Of(args[0])
			if !ok {
				var names []string
				for _, f := range schema.Files() {
					names = append(names, f.Name)
				}
				return usageError("there is no schema "+safe(args[0]), "There are "+strings.Join(names, ", ")+".")
			}
			_, err := a.Out.Write(text)
			return err
		},
	}
	asJSON = cmd.Flags().Bool("json", false, "print the list as JSON; a schema is JSON in any case")
	return cmd
}

func (a *App) schemaList(asJSON bool) error {
	type row struct {
		Name string `json:"name"`
		Of   string `json:"of"`
	}
	var rows []row
	t := newTable("NAME", "FILE")
	for _, f := range schema.Files() {
		rows = append(rows, row{f.Name, f.Of})
		t.row(f.Name, f.Of)
	}
	if asJSON {
		return a.printJSON(rows)
	}
	t.print(a.Out, a.palette())
	fmt.Fprintf(a.Err, "`belay schema NAME` prints one.\n")
	return nil
}
