package memory_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) kernel.Store { return memory.New() })
}
