package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/near"
)

// flagError says which flag is wrong and what it takes, in place of the library's words.
func flagError(cmd *cobra.Command, err error) error {
	hint := "`" + cmd.CommandPath() + " --help` lists the flags."
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name, dashes := unknown.GetSpecifiedName(), "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if meant := near.Of(name, names); meant != "" {
			hint = "Did you mean --" + meant + "? " + hint
		}
		return usageError(fmt.Sprintf("%s has no flag %s%s", cmd.CommandPath(), dashes, safe(name)), hint)
	case errors.As(err, &bare):
		return usageError(fmt.Sprintf("--%s needs %s, and nothing stands behind it", bare.GetFlag().Name,
			valueName(bare.GetFlag())), hint)
	case errors.As(err, &wrong):
		text := fmt.Sprintf("--%s takes %s, and %q is none", wrong.GetFlag().Name, valueName(wrong.GetFlag()),
			safe(wrong.GetValue()))
		if errors.Is(wrong, strconv.ErrRange) {
			text = fmt.Sprintf("--%s: %s is too large, or too small", wrong.GetFlag().Name, safe(wrong.GetValue()))
		}
		return usageError(text, hint)
	}
	return usageError(safe(err.Error()), hint)
}

// valueName is what a flag takes.
func valueName(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int", "int64", "uint", "uint64":
		return "a whole number"
	case "duration":
		return "a duration such as 90s, 5m or 2h"
	}
	return "a value"
}
