package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// ofUsers stands for each hook of a user's own layer.
const ofUsers = "user"

// Together has hooks whose names begin with prefix be measured as one: in system mode users name hooks of their own,
// and could name others every time. Spans have the names. It is called before anything is measured.
func (t *Telemetry) Together(prefix string) {
	if t != nil && t.meters != nil {
		t.meters.together = prefix
	}
}

// Machine is what WatchMachine measures.
type Machine struct {
	Users   int64            // who are served now
	Refused map[string]int64 // callers so far, by code: of few codes
}

// WatchMachine measures the front of system mode's daemon. Count is called whenever metrics are collected, until
// Shutdown. No user is told apart. Nothing is measured when there are no metrics.
func (t *Telemetry) WatchMachine(count func() Machine) error {
	if t == nil || t.metrics == nil {
		return nil
	}
	m := t.metrics.Meter(scope)
	users, err1 := m.Int64ObservableGauge("belay.system.users", metric.WithUnit("{user}"),
		metric.WithDescription("Users who are served now."))
	refused, err2 := m.Int64ObservableCounter("belay.system.refused", metric.WithUnit("{caller}"),
		metric.WithDescription("Callers that were refused before their question was read, by reason."))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c := count()
		o.ObserveInt64(users, c.Users)
		for code, n := range c.Refused {
			o.ObserveInt64(refused, n, metric.WithAttributes(attribute.String("belay.code", code)))
		}
		return nil
	}, users, refused)
	return err
}
