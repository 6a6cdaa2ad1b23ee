package retention_test

import (
	"os"
	"testing"

	"github.com/belay-hooks/belay/internal/highwater/highwatertest"
)

// TestMain keeps high-water marks out of the home directory.
func TestMain(m *testing.M) { os.Exit(highwatertest.Run(m)) }
