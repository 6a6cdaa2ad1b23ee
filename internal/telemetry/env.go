package telemetry

import (
	"errors"
	"fmt"
	"strings"
)

// ErrVariables means that an OTEL_* variable asks for something that is not done here.
var ErrVariables = errors.New("telemetry: the OTEL_* variables cannot be followed")

// Variables of the OpenTelemetry specification that switch telemetry on. What
// tunes it (protocol, headers, certificates, timeouts, samplers, batches) is read
// by the SDK itself.
const (
	envDisabled        = "OTEL_SDK_DISABLED"
	envTraces          = "OTEL_TRACES_EXPORTER"
	envMetrics         = "OTEL_METRICS_EXPORTER"
	envEndpoint        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint  = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envMetricsEndpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
)

// wanted says which signals go out.
type wanted struct{ traces, metrics bool }

// read looks at the variables. The specification would export to localhost when
// nothing is set; here that means off: a hook host opens no unrequested
// connections.
func read(getenv func(string) string, longLived bool) (w wanted, err error) {
	if strings.EqualFold(getenv(envDisabled), "true") {
		return w, nil
	}
	shared := getenv(envEndpoint) != ""
	if w.traces, err = signal(envTraces, getenv(envTraces), shared || getenv(envTracesEndpoint) != "",
		"otlp"); err != nil {
		return wanted{}, err
	}
	kinds := []string{"otlp"}
	if longLived {
		kinds = append(kinds, "prometheus")
	} else if getenv(envMetrics) == "prometheus" {
		// A collector cannot scrape a process that ends at once: only the
		// daemon serves metrics.
		return w, nil
	}
	w.metrics, err = signal(envMetrics, getenv(envMetrics), shared || getenv(envMetricsEndpoint) != "", kinds...)
	if err != nil {
		return wanted{}, err
	}
	return w, nil
}

func signal(name, exporter string, endpoint bool, known ...string) (bool, error) {
	switch exporter {
	case "":
		return endpoint, nil
	case "none":
		return false, nil
	case "console":
		return false, fmt.Errorf("%w: %s=console would write into the answers", ErrVariables, name)
	}
	for _, k := range known {
		if exporter == k {
			return true, nil
		}
	}
	return false, fmt.Errorf("%w: %s must be none or %s", ErrVariables, name, strings.Join(known, " or "))
}
