package redact

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestHandlerRedactsLogs(t *testing.T) {
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	var b bytes.Buffer
	log := slog.New(NewHandler(slog.NewTextHandler(&b, nil), Label))
	log.With(slog.String("a", token)).WithGroup("g").LogAttrs(t.Context(), slog.LevelInfo, "said "+token,
		slog.String("b", token), slog.Any("c", errors.New("no "+token)),
		slog.Any("d", []string{token}), slog.Group("e", slog.String("f", token)), slog.Int("n", 7), slog.Any("nothing", nil))
	broken := errors.New("disk full")
	if err := NewHandler(failing{log.Handler(), broken}, Label).Handle(t.Context(), slog.Record{}); !errors.Is(err,
		broken) {
		t.Errorf("the error of what writes is lost: %v", err)
	}
	if got := b.String(); strings.Contains(got, token[6:]) || strings.Count(got, "[redacted:github-token]") != 6 ||
		!strings.Contains(got, "n=7") || !strings.Contains(got, "nothing=<nil>") {
		t.Error(got)
	}
}

// failing is a handler whose disk is full.
type failing struct {
	slog.Handler
	err error
}

func (f failing) Handle(context.Context, slog.Record) error { return f.err }
