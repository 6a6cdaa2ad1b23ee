package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// NewHandler returns a handler that gives inner every record with the texts in it
// redacted: message, values, errors and whatever prints itself. Names of attributes
// are the program's own. It is safe for concurrent use if inner and redact are.
func NewHandler(inner slog.Handler, cover func(string) string) slog.Handler {
	return &handler{inner, cover}
}

type handler struct {
	inner slog.Handler
	cover func(string) string
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.inner.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.cover(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.inner.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(list []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(list))
	for i, a := range list {
		out[i] = h.attr(a)
	}
	return &handler{h.inner.WithAttrs(out), h.cover}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.inner.WithGroup(name), h.cover}
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(h.cover(v.String()))
	case slog.KindGroup:
		list := v.Group()
		out := make([]slog.Attr, len(list))
		for i, a := range list {
			out[i] = h.attr(a)
		}
		v = slog.GroupValue(out...)
	case slog.KindAny:
		if v.Any() != nil {
			v = slog.StringValue(h.cover(fmt.Sprint(v.Any())))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
