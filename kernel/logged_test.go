package kernel_test

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/uuid/v5"
)

// logged is what a kernel has logged for operators. Safe for concurrent use.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func logger() (*slog.Logger, *logged) {
	l := &logged{}
	return slog.New(slog.NewTextHandler(l, nil)), l
}

// newID returns an id as the kernel makes them.
func newID(at time.Time) string {
	id, err := uuid.NewV7AtTime(at)
	if err != nil {
		panic(err)
	}
	return id.String()
}
